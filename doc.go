// Package stoat is an embedded, ordered, transactional key-value database.
//
// A database is a directory, opened by one process at a time with [Open]; [OpenMemory] makes one
// without a disk. It holds keys and values, both byte slices, in byte order of the keys, and
// buckets of more keys and buckets:
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
// Everything happens in a transaction. [DB.View] runs a function with a snapshot of all that is
// committed; any number of them run side by side, they wait for nobody, and nobody waits for them.
// [DB.Update] runs a function that may also write: one at a time, seeing its own writes, committed
// as a whole when the function returns nil. Transactions are serializable; there are no conflicts
// and nothing to retry. When Update returns nil, the commit survives a crash, unless [Options.Sync]
// says otherwise.
//
// # Buckets
//
// The transaction itself is the root bucket. What can be done with a [Tx] as a key space can be
// done with a [Bucket]: both have the same methods for keys, loops, cursors, nested buckets and
// sequences. Scans and cursors show the keys of one bucket, never buckets or what is in them.
//
// # Lifetimes and concurrency
//
// A [DB] is safe for concurrent use. A Tx, its buckets, cursors and loops belong to one goroutine
// at a time. Byte slices that come from a transaction are valid until it ends and must not be
// modified, for they may be the database's own memory; copy what is kept longer. Byte slices passed
// in are copied where needed, and may be reused at once.
//
// # Errors
//
// All errors are found with [errors.Is] among the Err variables. Loops cannot return an error: they
// stop, and [Tx.Err], View, Update and Commit report why. Misuse of a finished or read-only
// transaction is an error and not a panic.
//
// # Layers
//
// Package record stores structs in a database, package feed events, and package tuple makes keys of
// several values.
//
// # What it is not
//
// There is no server and no query language. Two processes cannot write the same database, and
// network file systems are not supported.
package stoat
