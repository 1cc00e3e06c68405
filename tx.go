package stoat

import (
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/superversion"
)

// Tx is a transaction: a snapshot of the database and, if writable, the writes made on top of it,
// which nobody else sees before they are committed. Transactions are serializable. As a key space a
// Tx is the root bucket. It is not safe for concurrent use.
//
// Byte slices returned by Get, Scan, Keys, Buckets and Cursor are valid until the transaction ends,
// and must not be modified. Slices passed in are copied if they are kept.
//
// Using a finished transaction, its buckets or its cursors returns [ErrTxClosed], and writing in a
// read-only one [ErrReadOnly].
type Tx struct {
	space // the root bucket

	// snap is what Scan and Cursor see. In a writable transaction, nil means that it must be taken
	// anew, because something was written since.
	snap *superversion.Superversion
	w    *engine.Writer // nil in a read-only transaction

	db         *DB                  // nil once ended: a stale handle keeps no database alive
	position   Position             // of what the transaction began on
	generation uint64               // the number of transactions that ended in this Tx
	scratch    []byte               // the internal key in use
	values     superversion.Scratch // those that were decoded one by one
	err        error
	dropped    map[uint64]struct{} // the ids of buckets dropped here
	sequence   sequence
	idle       *walk          // for the next loop; nil if there is none
	locals     []local        // what layers keep
	hooks      []func() error // to be called before a commit
	preparing  bool           // they are being called

	writable bool
	managed  bool // View or Update ends it
	reused   bool // it serves another View after its end
}

// newTx returns a transaction, for begin to open.
func newTx() *Tx {
	tx := new(Tx)
	tx.space = space{tx: tx, id: keyspace.RootID}
	tx.setPrefix()
	return tx
}

// begin opens tx, which is new or finished, in db: on w, or on snap if w is nil.
func (tx *Tx) begin(db *DB, snap *superversion.Superversion, w *engine.Writer) {
	tx.db, tx.snap, tx.w, tx.writable = db, snap, w, w != nil
	tx.err = nil
	tx.born = tx.generation
	if w != nil {
		tx.position = db.positionOf(w.Base())
	} else {
		tx.position = db.positionOf(snap.Commit)
	}
}

// end makes tx a finished transaction and lets go of all that it holds.
func (tx *Tx) end() {
	tx.generation++
	tx.db, tx.snap, tx.w, tx.dropped, tx.sequence = nil, nil, nil, nil, sequence{}
	tx.preparing = false
	clear(tx.locals)
	clear(tx.hooks)
	tx.locals, tx.hooks = tx.locals[:0], tx.hooks[:0]
	tx.values.Reset()
	if tx.idle != nil {
		tx.idle.values.Reset()
	}
}

// Commit ends the transaction and makes its writes visible to every later one and, under
// [SyncAlways], durable. After an error nothing of it is visible, and the transaction has ended all
// the same; it was rolled back if the error is [Tx.Err]. In a read-only transaction, Commit does
// what Rollback does and returns [Tx.Err].
func (tx *Tx) Commit() error {
	switch {
	case tx.ended():
	case tx.managed:
		return errManaged
	case tx.preparing:
		return errPreparing
	}
	return tx.commit()
}

// prepare makes the last writes.
func (tx *Tx) prepare() error {
	tx.preparing = true
	if err := tx.runHooks(); err != nil {
		return err
	}
	if tx.ended() {
		return ErrTxClosed
	}
	if tx.err != nil {
		return tx.err
	}
	return tx.storeSequence()
}

func (tx *Tx) commit() error {
	if tx.ended() {
		return ErrTxClosed
	}
	if tx.err != nil || !tx.writable {
		tx.rollback()
		return tx.err
	}
	if err := tx.prepare(); err != nil {
		tx.rollback()
		return err
	}
	w := tx.w
	tx.end()
	return w.Commit()
}

// Rollback ends the transaction and discards its writes. It does nothing in a finished transaction,
// so that it can be deferred, and always returns nil.
func (tx *Tx) Rollback() error {
	tx.rollback()
	return nil
}

func (tx *Tx) rollback() {
	if tx.ended() {
		return
	}
	w := tx.w
	tx.end()
	if w != nil {
		w.Rollback()
	}
}

// Writable reports whether the transaction can write, or could before it ended.
func (tx *Tx) Writable() bool { return tx.writable }

// Err returns the first error met by a loop over Scan, Keys or Buckets, which can only stop early.
// View, Update and Commit return it too, so that a loop that stopped early is never mistaken for
// one that came to its end.
func (tx *Tx) Err() error { return tx.err }

// fail records the error of a loop.
func (tx *Tx) fail(err error) {
	if tx.err == nil {
		tx.err = err
	}
}

// get returns the value of an internal key.
func (tx *Tx) get(key []byte) (value []byte, ok bool, err error) {
	if tx.w != nil {
		return tx.w.Get(key, &tx.values)
	}
	return tx.snap.Get(key, &tx.values)
}

// has reports whether there is such an internal key.
func (tx *Tx) has(key []byte) (bool, error) {
	if tx.w != nil {
		return tx.w.Has(key)
	}
	_, ok, err := tx.snap.Until(key)
	return ok, err
}

// put stores an internal key for ever.
func (tx *Tx) put(key, value []byte) error { return tx.putUntil(key, value, 0) }

// putUntil stores an internal key until a moment in milliseconds since 1970.
func (tx *Tx) putUntil(key, value []byte, until uint64) error {
	tx.snap = nil
	return tx.wrote(tx.w.Put(key, value, until))
}

// delete removes an internal key.
func (tx *Tx) delete(key []byte) error {
	tx.snap = nil
	return tx.wrote(tx.w.Delete(key))
}

// wrote keeps the error of a write, so that the transaction cannot be committed: what memory could
// not hold was not written to disk, either.
func (tx *Tx) wrote(err error) error {
	if err != nil {
		tx.fail(err)
	}
	return err
}

// snapshot returns what the transaction sees now, frozen.
func (tx *Tx) snapshot() *superversion.Superversion {
	if tx.snap == nil {
		tx.snap = tx.w.Snapshot()
	}
	return tx.snap
}
