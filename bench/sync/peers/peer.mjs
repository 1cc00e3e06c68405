// The loop of a program with one replica: it reads a request a line, and answers each with a line.
// ../command.go lists the commands.

import crypto from 'node:crypto'
import fs from 'node:fs'
import readline from 'node:readline'

// answerAll does what the requests ask for. Commands that the peer has no function for are not
// supported.
export async function answerAll(peer) {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const request = JSON.parse(line)
    let answer = { unsupported: request.do }
    try {
      if (request.do === 'memory') answer = memory()
      else if (peer[request.do]) answer = (await peer[request.do](request)) ?? {}
    } catch (error) {
      answer = { error: String(error?.stack ?? error) }
    }
    process.stdout.write(JSON.stringify(answer) + '\n')
  }
  process.exit(0)
}

// readItems returns the records with numbers in [from, to).
export function readItems(file, from, to) {
  const lines = fs.readFileSync(file, 'utf8').split('\n')
  return lines.slice(from, to).map((line) => JSON.parse(line))
}

// commitAll calls commit with so many records at a time, and returns the nanoseconds of a record.
export async function commitAll({ file, from, to, batch }, commit) {
  const items = readItems(file, from, to)
  const samples = []
  for (let i = 0; i < items.length; i += batch) {
    const some = items.slice(i, i + batch)
    const began = nanoseconds()
    await commit(some)
    samples.push((nanoseconds() - began) / some.length)
  }
  return { samples }
}

// digestOf returns the digest of records, in the order of their numbers.
export function digestOf(items) {
  const hash = crypto.createHash('sha256')
  for (const it of items.sort((a, b) => a.id - b.id)) {
    const { id, owner, status, title, text, count, done } = it
    hash.update(`${id}|${owner}|${status}|${title}|${text}|${count}|${done}\n`)
  }
  return { digest: { records: items.length, sum: hash.digest('hex') } }
}

function memory() {
  const peak = process.resourceUsage().maxRSS * 1024
  return { peak, resident: process.memoryUsage().rss }
}

// nanoseconds returns a time to measure durations with.
export function nanoseconds() {
  return Number(process.hrtime.bigint())
}

// clock returns the microseconds since 1970.
export function clock() {
  return (performance.timeOrigin + performance.now()) * 1000
}
