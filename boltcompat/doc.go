// Package boltcompat has the API of go.etcd.io/bbolt and keeps the data in Stoat. A program that
// uses bbolt changes one import and runs:
//
//	import bolt "github.com/stoatdb/stoat/boltcompat"
//
// A database is a directory at the path where bbolt has a file. A program that finds a file of
// bbolt there gets an error that says how to import it. What [Tx.WriteTo] and [Tx.CopyFile] write
// is one file, and [Open] turns such a file into a database.
//
// Transactions, buckets, cursors and errors behave as those of bbolt, down to what a cursor does at
// the ends of a bucket; the errors are bbolt's own values. What concerns pages is there, so that
// programs compile, and does nothing or returns zero. docs/boltcompat.md lists the differences.
//
// bbolt's methods that read return no error. If Stoat cannot read what it must, they panic, and
// [DB.View] and [DB.Update] return the error instead; after [DB.Begin] the panic goes on, as with
// bbolt when it meets a damaged page.
//
// A [DB] is safe for concurrent use; a [Tx], its buckets and cursors belong to one goroutine at a
// time. The package reaches the data through package stoat only, so a database can be opened with
// either, one after the other. It does not read or write files of bbolt.
package boltcompat
