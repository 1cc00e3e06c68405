// Package remote keeps databases in object storage: one writer, whose folder is only a cache, and
// nothing to run besides the store.
//
//	store, err := folderstore.Open("/mnt/backup/shop") // or s3.Open, for a bucket
//	db, err := remote.Open(ctx, store, "/var/lib/shop", nil)
//	err = db.Put(key, value) // on the local disk now, in the store within a second
//
// [Open] opens a database that ships itself to a store. Whatever is committed is on the local disk
// first, as in any database, and in the store a moment later ([Async]), or before the commit
// returns ([Wait]). Where the folder is gone, or on another machine, Open makes it again of what is
// in the store. [Restore] makes a copy, also of the past, and [Clone] one that copies no files.
// [OpenReader] follows the database anywhere, and [Reader.TakeOver] becomes its writer.
//
// There is one writer at a time, and the newest one wins: Open takes the role from whoever had it.
// That one cannot ship anything any more, whatever it still does, and its transactions fail with
// [ErrFenced]. What it had committed but not shipped stays in its folder only.
//
// Stores are in packages of their own; package objstore says what they must do. A store keeps what
// it takes to restore the commits of some days ([Options.Retention]) and those that are pinned
// ([Pin]); the writer deletes all else.
package remote
