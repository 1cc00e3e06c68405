// Package stoat is an embedded, ordered, transactional key-value database.
//
// A database is a directory that one process at a time opens with [Open]; [OpenMemory] creates one
// that lives in memory. It holds keys and values, both byte slices, sorted by key, and buckets,
// which hold more keys and buckets:
//
//	db, err := stoat.Open("my.db", nil)
//	if err != nil {
//		return err
//	}
//	defer db.Close()
//
//	err = db.Update(func(tx *stoat.Tx) error {
//		return tx.Put([]byte("stoat"), []byte("Mustela erminea"))
//	})
//	err = db.View(func(tx *stoat.Tx) error {
//		for key, value := range tx.Scan(stoat.Prefix([]byte("st"))) {
//			fmt.Printf("%s: %s\n", key, value)
//		}
//		return nil
//	})
//
// # Transactions
//
// All reads and writes happen in transactions. [DB.View] runs a function on a snapshot of
// everything committed; any number of views run concurrently, and neither block nor are blocked by
// anything else. [DB.Update] runs a function that may also write. Updates run one at a time, see
// their own writes, and commit as a whole when the function returns nil. Transactions are
// serializable, so there are no conflicts and nothing to retry. Once Update returns nil, the commit
// survives a crash, unless [Options.Sync] says otherwise.
//
// # Buckets
//
// The transaction itself is the root bucket: [Tx] and [Bucket] share the same methods for keys,
// scans, cursors, nested buckets and sequences. Scans and cursors show the keys of one bucket,
// never its nested buckets or their contents.
//
// # Lifetimes and concurrency
//
// A [DB] is safe for concurrent use. A Tx, its buckets, cursors and scans belong to one goroutine
// at a time. Byte slices returned by a transaction are valid until it ends and must not be
// modified, because they may be the database's own memory; copy what you keep longer. Byte slices
// passed in are copied where needed and may be reused immediately.
//
// # Errors
//
// Every error matches, with [errors.Is], one of the Err variables where one applies. Range loops
// cannot return an error: they stop, and [Tx.Err], View, Update and Commit report why. Misusing a
// finished or read-only transaction is an error, not a panic.
//
// # Layers
//
// Package record stores structs, package feed stores event logs, and package tuple encodes keys of
// several values.
//
// # Non-goals
//
// Stoat has no server and no query language. Only one process can write to a database, and network
// file systems are not supported.
package stoat
