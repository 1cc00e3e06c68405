// Package model is the reference database: Stoat's data model, written to be obviously right, not
// fast. Tests run the same history on both and compare.
//
// A [DB] holds one committed tree of buckets. A [Bucket] is a sorted slice of entries, a sorted
// slice of nested buckets, and a sequence. A transaction clones the whole tree, and its commit
// replaces the committed one, which never changes and thus is its own snapshot. Keys and values are
// strings, so nothing can change them. An entry that expires stays in its trees; reads compare it
// with the [Clock].
//
// Only the clock is safe for concurrent use. The package has no files, errors or limits: what it
// cannot do, it answers with false or nil.
package model

// DB is a database in its last committed state.
type DB struct {
	committed *Bucket
}

// New returns an empty database whose entries expire by the clock, which may be nil if none do.
func New(clock *Clock) *DB { return &DB{committed: &Bucket{clock: clock}} }

// Root returns the root bucket of the last committed state: a snapshot, which never changes and
// must not be changed.
func (db *DB) Root() *Bucket { return db.committed }

// Begin starts a write transaction. The model does not serialise them: the last commit wins.
func (db *DB) Begin() *Tx { return &Tx{db: db, root: db.committed.Clone()} }

// Tx is a write transaction: a private copy of everything.
type Tx struct {
	db   *DB
	root *Bucket
}

// Root returns the root bucket of the transaction, for reading and writing.
func (tx *Tx) Root() *Bucket { return tx.root }

// Commit makes the transaction's copy the committed state and ends the transaction. There is no
// rollback: just drop the transaction.
func (tx *Tx) Commit() { tx.db.committed = tx.root }
