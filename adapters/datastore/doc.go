// Package datastore keeps a datastore of IPFS (github.com/ipfs/go-datastore) in a Stoat database.
//
// A [Store] is the root bucket of a database: each key is stored as its text, "/" and all, so the
// children of a key are a range, and queries by prefix and in the order of keys read nothing else.
// It has every feature of the interface: batches, transactions, entries that expire, the space on
// disk, garbage collection, and checks of the data.
//
// A Store is safe for concurrent use. Every write is a transaction, as durable as the database's
// commits are. A query reads one state of the database, whatever is written meanwhile.
package datastore
