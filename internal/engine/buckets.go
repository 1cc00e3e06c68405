package engine

import "github.com/stoatdb/stoat/internal/keyspace"

// BucketsChanged returns the number of the last commit that may have created, dropped or moved a
// bucket, or 0 if none has since the database was opened: states of this commit and of later ones
// have the same buckets. While a transaction changes buckets, it is the number that its commit will
// have; if it is rolled back, the next commit has it.
func (e *Engine) BucketsChanged() uint64 { return e.buckets.Load() }

// noteBucket records that the transaction changes the key, which may be that of a bucket. It does
// so before readers can see the change.
func (w *Writer) noteBucket(key []byte) {
	if len(key) > 0 && key[0] == byte(keyspace.SpaceCatalog) {
		w.engine.buckets.Store(w.begun + 1)
	}
}
