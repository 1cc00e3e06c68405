// A small database as an external engine of the benchmark, to show the protocol of EXTERNAL.md.
//
//   go run . -suite ssb -external node-log="node external/example/engine.mjs"
//
// The database is one file, a log of transactions, and an index in memory. A transaction is its
// length (u32), the first 8 bytes of the SHA-256 of what follows, and its pairs: length of the key
// (u32), length of the value (u32), key, value. What a crash has left unfinished at the end of the
// log is cut off when it is opened. All numbers are little-endian.

import crypto from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'

const HEAD = 12

class Store {
  constructor(dir, sync) {
    this.sync = sync
    this.fd = fs.openSync(path.join(dir, 'log'), fs.constants.O_RDWR | fs.constants.O_CREAT)
    this.index = new Map() // key, as a string of its bytes => place and size of the value
    this.keys = [] // in order, unless unsorted
    this.unsorted = false
    this.end = 0
    const log = fs.readFileSync(this.fd)
    for (let body; (body = transaction(log, this.end)) !== null; ) {
      this.end += HEAD
      this.learn(body)
    }
    if (this.end < log.length) fs.ftruncateSync(this.fd, this.end)
    if (sync && log.length === 0) syncFolder(dir) // which may have a new file
  }

  // append stores pairs of a key and a value in one transaction.
  append(pairs) {
    const parts = []
    for (const [key, value] of pairs) {
      const lengths = Buffer.allocUnsafe(8)
      lengths.writeUInt32LE(key.length, 0)
      lengths.writeUInt32LE(value.length, 4)
      parts.push(lengths, key, value)
    }
    const body = Buffer.concat(parts)
    const head = Buffer.allocUnsafe(HEAD)
    head.writeUInt32LE(body.length, 0)
    checksum(body).copy(head, 4)
    writeAll(this.fd, Buffer.concat([head, body]), this.end)
    if (this.sync) fs.fdatasyncSync(this.fd)
    this.end += HEAD
    this.learn(body)
  }

  // learn adds the pairs of a transaction, whose body begins at the end, to the index.
  learn(body) {
    for (let i = 0; i < body.length; ) {
      const keySize = body.readUInt32LE(i)
      const size = body.readUInt32LE(i + 4)
      const key = body.toString('latin1', i + 8, i + 8 + keySize)
      i += 8 + keySize
      if (!this.index.has(key)) {
        if (this.keys.length > 0 && key < this.keys.at(-1)) this.unsorted = true
        this.keys.push(key)
      }
      this.index.set(key, { at: this.end + i, size })
      i += size
    }
    this.end += body.length
  }

  // get reads the value of a key, which there must be.
  get(key) {
    const place = this.index.get(key)
    if (place === undefined) throw new Error(`no key ${Buffer.from(key, 'latin1').toString('hex')}`)
    const value = Buffer.allocUnsafe(place.size)
    if (fs.readSync(this.fd, value, 0, place.size, place.at) < place.size) {
      throw new Error('the log is shorter than its index')
    }
    return value
  }

  // from yields up to n keys in order, from a key on.
  *from(start, n) {
    if (this.unsorted) this.keys.sort() // compares strings of bytes as bytes
    this.unsorted = false
    let low = 0
    let high = this.keys.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.keys[middle] < start) low = middle + 1
      else high = middle
    }
    for (; low < this.keys.length && n > 0; low++, n--) yield this.keys[low]
  }

  close() {
    fs.fdatasyncSync(this.fd)
    fs.closeSync(this.fd)
  }
}

// transaction returns the body of the transaction at a place in the log, null if it is not whole.
function transaction(log, at) {
  if (at + HEAD > log.length) return null
  const body = log.subarray(at + HEAD, at + HEAD + log.readUInt32LE(at))
  if (body.length < log.readUInt32LE(at)) return null
  return checksum(body).equals(log.subarray(at + 4, at + HEAD)) ? body : null
}

function checksum(body) {
  return crypto.createHash('sha256').update(body).digest().subarray(0, 8)
}

function writeAll(fd, buffer, at) {
  for (let done = 0; done < buffer.length; ) {
    done += fs.writeSync(fd, buffer, done, buffer.length - done, at + done)
  }
}

function syncFolder(dir) {
  const fd = fs.openSync(dir)
  fs.fsyncSync(fd)
  fs.closeSync(fd)
}

// From here on: the steps of the benchmark.

const job = JSON.parse(fs.readFileSync(0, 'utf8'))
let store = null
let next = 0 // the next sequence number to be used

function keyOf(sequence) {
  const key = Buffer.alloc(8)
  if (job.order === 'le') key.writeBigUInt64LE(BigInt(sequence))
  else key.writeBigUInt64BE(BigInt(sequence))
  return key
}

function numbers(file) {
  const bytes = fs.readFileSync(file)
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readUInt32LE(4 * i))
}

// values yields the values in a file without reading all of it at once.
function* values(file) {
  const fd = fs.openSync(file)
  const length = Buffer.alloc(4)
  while (fs.readSync(fd, length) === 4) {
    const value = Buffer.allocUnsafe(length.readUInt32LE())
    fs.readSync(fd, value)
    yield value
  }
  fs.closeSync(fd)
}

// timed returns the nanoseconds that do takes.
function timed(operation) {
  const start = process.hrtime.bigint()
  operation()
  return Number(process.hrtime.bigint() - start)
}

// read times batches of reads: one of them reads the keys that choose returns for its numbers.
function read(step, perSample, choose) {
  const all = numbers(step.numbers)
  const samples = []
  let bytes = 0
  for (let i = 0; i < all.length; i += perSample) {
    const batch = all.slice(i, i + perSample).map((n) => keyOf(n).toString('latin1'))
    samples.push(timed(() => {
      for (const key of choose(batch)) bytes += store.get(key).length
    }))
  }
  return { samples, bytes }
}

const steps = {
  open() {
    store = new Store(job.dir, job.sync)
    next = store.index.size
    return {}
  },
  append(step) {
    const samples = []
    const source = values(step.values)
    for (let left = step.count; left > 0; left -= step.batch) {
      const pairs = []
      while (pairs.length < Math.min(step.batch, left)) {
        pairs.push([keyOf(next++), source.next().value])
      }
      const time = timed(() => store.append(pairs))
      if (pairs.length === step.batch) samples.push(time)
    }
    return { samples }
  },
  get: (step) => read(step, step.batch, (keys) => keys),
  iterate: (step) => read(step, 1, ([start]) => store.from(start, step.batch)),
  idle(step) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, step.millis ?? 0)
    return {}
  },
  close() {
    store.close()
    return {}
  },
  opens(step) {
    const samples = []
    for (let i = 0; i < step.count; i++) {
      samples.push(timed(() => steps.open()))
      store.close()
    }
    return { samples }
  },
  digest() {
    const hash = crypto.createHash('sha256')
    const length = Buffer.alloc(4)
    const add = (bytes) => {
      length.writeUInt32LE(bytes.length)
      hash.update(length).update(bytes)
    }
    for (const key of store.from('', Infinity)) {
      add(Buffer.from(key, 'latin1'))
      add(store.get(key))
    }
    return { count: store.index.size, sha256: hash.digest('hex') }
  },
}

function print(answer) {
  fs.writeSync(1, JSON.stringify(answer) + '\n')
}

if (job.protocol !== 1 || job.suite !== 'ssb') {
  print({ unsupported: `suite ${job.suite} of protocol ${job.protocol}` })
} else {
  job.steps.forEach((step, i) => {
    const run = steps[step.do]
    print({ step: i, ...(run ? run(step) : { unsupported: `no step ${step.do}` }) })
  })
}
