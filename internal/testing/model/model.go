// Package model is the reference database: the same data model as Stoat's, written to be obviously
// right instead of fast. Tests run the same history against both and compare.
//
// A [DB] holds one committed tree of buckets. A [Bucket] is a sorted slice of entries, a sorted
// slice of child buckets, and a sequence. Beginning a transaction clones the whole tree, committing
// puts the clone in its place; a committed tree is never changed again, so it is its own snapshot.
// Keys and values are strings, which nothing can change behind the model's back. An entry that
// expires stays in its trees, and whoever reads looks at the [Clock]: from one moment on it is
// absent in all of them.
//
// Nothing else here is safe for concurrent use. The package knows no files, no errors and no
// limits: what it cannot do it answers with false or nil.
package model

// DB is a database in its last committed state.
type DB struct {
	committed *Bucket
}

// New returns an empty database whose entries expire by the clock; it may be nil if none do.
func New(clock *Clock) *DB { return &DB{committed: &Bucket{clock: clock}} }

// Root returns the root bucket of the last committed state. It must not be changed, and it never
// changes: it is a snapshot.
func (db *DB) Root() *Bucket { return db.committed }

// Begin starts a write transaction. The model does not keep two of them apart: the one that commits
// last wins.
func (db *DB) Begin() *Tx { return &Tx{db: db, root: db.committed.Clone()} }

// Tx is a write transaction: a private copy of everything.
type Tx struct {
	db   *DB
	root *Bucket
}

// Root returns the root bucket as the transaction sees it, for reading and writing.
func (tx *Tx) Root() *Bucket { return tx.root }

// Commit makes the transaction's copy the committed state. The transaction must not be used again;
// one that is not committed is rolled back by forgetting it.
func (tx *Tx) Commit() { tx.db.committed = tx.root }
