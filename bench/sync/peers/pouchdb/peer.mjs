// PouchDB as a peer of the suite sync: a document for each record, in LevelDB. A server is PouchDB
// behind express-pouchdb, which speaks CouchDB's protocol.

import fs from 'node:fs'
import path from 'node:path'
import express from 'express'
import expressPouchDB from 'express-pouchdb'
import leveldown from 'leveldown'
import Core from 'pouchdb-core'
import http from 'pouchdb-adapter-http'
import leveldb from 'pouchdb-adapter-leveldb'
import mapreduce from 'pouchdb-mapreduce'
import replication from 'pouchdb-replication'
import { answerAll, clock, commitAll, digestOf, nanoseconds } from '../peer.mjs'

const Plugged = Core.plugin(leveldb).plugin(http).plugin(mapreduce).plugin(replication)

// Synced is LevelDB that syncs every write.
class Synced extends leveldown {
  _put(key, value, options, callback) {
    super._put(key, value, { ...options, sync: true }, callback)
  }
  _batch(operations, options, callback) {
    super._batch(operations, { ...options, sync: true }, callback)
  }
}

const NAME = 'items'
let PouchDB, db, server, following
const waiting = new Map() // by id: what waits for a change of the document
const idle = []

const idOf = (id) => String(id).padStart(12, '0')
const docOf = (item) => ({ _id: idOf(item.id), ...item })

async function put(id, count) {
  const doc = await db.get(idOf(id))
  await db.put({ ...doc, count })
}

const peer = {
  async open({ dir, sync, id }) {
    const began = nanoseconds()
    const prefix = path.join(dir, 'pouch') + path.sep
    fs.mkdirSync(prefix, { recursive: true })
    const store = Object.assign((name) => new (sync ? Synced : leveldown)(name), leveldown)
    PouchDB = Plugged.defaults({ prefix, db: store })
    db = new PouchDB(NAME)
    if (id >= 0) await db.get(idOf(id))
    else await db.info()
    return { nanoseconds: nanoseconds() - began }
  },

  commit: (request) =>
    commitAll(request, async (items) => {
      if (items.length === 1) return db.put(docOf(items[0]))
      for (const result of await db.bulkDocs(items.map(docOf))) if (result.error) throw result
    }),

  async settle() {
    await db.compact()
  },

  async serve() {
    const app = express()
    app.use('/', expressPouchDB(PouchDB, { mode: 'minimumForPouchDB', inMemoryConfig: true }))
    server = await new Promise((resolve) => {
      const s = app.listen(0, '127.0.0.1', () => resolve(s))
    })
    return { address: `127.0.0.1:${server.address().port}`, invitation: NAME }
  },

  async sync({ address, records }) {
    const began = nanoseconds()
    await PouchDB.replicate(`http://${address}/${NAME}`, db, { batch_size: 1000 })
    const took = nanoseconds() - began
    const { doc_count: n } = await db.info()
    if (n !== records) throw new Error(`${n} documents instead of ${records}`)
    return { nanoseconds: took }
  },

  async follow({ address }) {
    following = PouchDB.replicate(`http://${address}/${NAME}`, db, { live: true })
    db.changes({ live: true, since: 'now', include_docs: true }).on('change', ({ doc }) => {
      waiting.get(doc._id)?.(doc)
    })
    await new Promise((resolve, reject) => following.on('paused', resolve).on('error', reject))
  },

  async await({ id, count }) {
    const key = idOf(id)
    await new Promise((resolve) => {
      const look = (doc) => doc.count === count && resolve()
      waiting.set(key, look)
      db.get(key).then(look)
    })
    waiting.delete(key)
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

  async digest() {
    const { rows } = await db.allDocs({ include_docs: true })
    return digestOf(rows.map((row) => row.doc))
  },

  async close() {
    following?.cancel()
    server?.closeAllConnections()
    server?.close()
    await db.close()
  },
}

await answerAll(peer)
