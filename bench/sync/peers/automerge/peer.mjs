// Automerge-repo as a peer of the suite sync: a document for each record, in files, over a
// WebSocket. A server announces all its documents to whoever connects.

import fs from 'node:fs'
import path from 'node:path'
import { decodeHeads, Repo } from '@automerge/automerge-repo'
import {
  WebSocketClientAdapter,
  WebSocketServerAdapter,
} from '@automerge/automerge-repo-network-websocket'
import { NodeFSStorageAdapter } from '@automerge/automerge-repo-storage-nodefs'
import { WebSocketServer } from 'ws'
import { answerAll, clock, commitAll, digestOf, nanoseconds } from '../peer.mjs'

// Storage is the storage in files that tells what it writes to the disk, if it is to.
class Storage extends NodeFSStorageAdapter {
  constructor(dir, sync) {
    super(dir)
    this.dir = dir
    this.sync = sync
  }
  async save(key, data) {
    await super.save(key, data)
    if (!this.sync) return
    const [first, ...rest] = key
    const file = path.join(this.dir, first.slice(0, 2), first.slice(2), ...rest)
    const f = await fs.promises.open(file, 'r+')
    await f.datasync()
    await f.close()
  }
}

let repo, index, server, adapter
const handles = new Map() // by the record's number

const keep = (handle) => handles.set(handle.doc().id, handle)

// loaded has all stored documents in memory.
async function loaded() {
  for (const [id, url] of urls()) if (!handles.has(id)) handles.set(id, await repo.find(url))
}

const urls = () => (fs.existsSync(index) ? JSON.parse(fs.readFileSync(index, 'utf8')) : [])

// connected connects to a server and waits until so many documents are the same on both sides.
async function connected(address, documents) {
  adapter = new WebSocketClientAdapter(`ws://${address}`)
  const equal = new Set()
  let learn
  await new Promise((resolve, reject) => {
    learn = ({ documentId, syncState: { theirHeads } }) => {
      if (!theirHeads) return
      repo.find(documentId).then((handle) => {
        keep(handle)
        if (String(decodeHeads(handle.heads())) === String(theirHeads)) equal.add(documentId)
        else equal.delete(documentId)
        if (equal.size === documents) resolve()
      }, reject)
    }
    repo.synchronizer.on('sync-state', learn)
    repo.networkSubsystem.addNetworkAdapter(adapter)
  })
  repo.synchronizer.off('sync-state', learn)
  await repo.flush()
}

function disconnect() {
  if (adapter) repo.networkSubsystem.removeNetworkAdapter(adapter)
  adapter = undefined
}

async function put(id, count) {
  const handle = handles.get(id)
  handle.change((item) => {
    item.count = count
  })
  await repo.flush([handle.documentId])
}

const peer = {
  async open({ dir, sync, id }) {
    const began = nanoseconds()
    index = path.join(dir, 'urls.json')
    repo = new Repo({ storage: new Storage(path.join(dir, 'automerge'), sync) })
    if (id >= 0) await repo.find(new Map(urls()).get(id))
    return { nanoseconds: nanoseconds() - began }
  },

  commit: (request) =>
    commitAll(request, async (items) => {
      const created = items.map((item) => repo.create(item))
      created.forEach(keep)
      await repo.flush(created.map((handle) => handle.documentId))
    }),

  async serve() {
    await loaded()
    server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
    await new Promise((resolve) => server.once('listening', resolve))
    repo.networkSubsystem.addNetworkAdapter(new WebSocketServerAdapter(server))
    return { address: `127.0.0.1:${server.address().port}`, invitation: 'none' }
  },

  async sync({ address, records }) {
    const began = nanoseconds()
    await connected(address, records)
    const took = nanoseconds() - began
    disconnect()
    return { nanoseconds: took }
  },

  async follow({ address }) {
    await connected(address, handles.size)
  },

  async await({ id, count }) {
    const handle = handles.get(id)
    await new Promise((resolve) => {
      const look = () => {
        if (handle.doc().count !== count) return
        handle.off('change', look)
        resolve()
      }
      handle.on('change', look)
      look()
    })
    await repo.flush([handle.documentId])
    return { at: clock() }
  },

  async put({ id, count }) {
    const at = clock()
    await put(id, count)
    return { at, durable: clock() }
  },

  async change({ from, to, count }) {
    for (let id = from; id < to; id++) await put(id, count)
  },

  digest: () => digestOf([...handles.values()].map((handle) => handle.doc())),

  async close() {
    const all = new Map([...urls(), ...[...handles].map(([id, handle]) => [id, handle.url])])
    fs.writeFileSync(index, JSON.stringify([...all]))
    disconnect()
    await repo.flush()
    server?.close()
    for (const client of server?.clients ?? []) client.terminate()
  },
}

await answerAll(peer)
