package stoat

// Tx is a transaction: a snapshot of the database and, if writable, the writes made on top of it,
// which nobody else sees before they are committed. Transactions are serializable. As a key space a
// Tx is the root bucket. It is not safe for concurrent use.
//
// Byte slices returned by Get, Scan, Keys, Buckets and Cursor are valid until the transaction ends,
// and must not be modified. Slices passed in are copied if they are kept.
//
// Using a finished transaction, its buckets or its cursors returns [ErrTxClosed], and writing in a
// read-only one [ErrReadOnly]. A Tx must not be copied.
type Tx struct {
	_      noCopy
	*space // the root bucket of the session, or after the end of a View, what is over
}

// noCopy has "go vet" find copies of what it is a field of.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// Commit ends the transaction and makes its writes visible to every later one and, under
// [SyncAlways], durable. After an error nothing of it is visible, and the transaction has ended all
// the same; it was rolled back if the error is [Tx.Err]. In a read-only transaction, Commit does
// what Rollback does and returns [Tx.Err].
func (tx *Tx) Commit() error {
	switch {
	case tx.ended():
	case tx.session.managed:
		return errManaged
	case tx.session.preparing:
		return errPreparing
	}
	return tx.commit()
}

// prepare makes the last writes. It returns why the transaction cannot be committed, if it cannot.
func (tx *Tx) prepare() error {
	if tx.ended() {
		return ErrTxClosed
	}
	s := tx.session
	if s.err != nil {
		return s.err
	}
	s.preparing = true
	if err := s.runHooks(); err != nil {
		return err
	}
	if tx.ended() {
		return ErrTxClosed
	}
	if s.err != nil {
		return s.err
	}
	return s.storeSequence()
}

func (tx *Tx) commit() error {
	if tx.ended() {
		return ErrTxClosed
	}
	if s := tx.session; !s.writable {
		tx.rollback()
		return s.err
	}
	if err := tx.prepare(); err != nil {
		tx.rollback()
		return err
	}
	return tx.finish()
}

// finish commits what is prepared.
func (tx *Tx) finish() error {
	w := tx.session.w
	tx.end()
	return w.Commit()
}

// end makes tx a finished transaction for good, whatever its session does then.
func (tx *Tx) end() {
	s := tx.session
	s.end()
	if s.reuse != nil {
		tx.space = &s.reuse.over
	}
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
	w := tx.session.w
	tx.end()
	if w != nil {
		w.Rollback()
	}
}

// Writable reports whether the transaction can write, or could before it ended.
func (tx *Tx) Writable() bool { return tx.session.writable }

// Err returns the first error met by a loop over Scan, Keys or Buckets, which can only stop early.
// View, Update and Commit return it too, so that a loop that stopped early is never mistaken for
// one that came to its end. After the end of a View, it is [ErrTxClosed].
func (tx *Tx) Err() error {
	if tx.reused() {
		return ErrTxClosed
	}
	return tx.session.err
}

// reused reports whether the transaction is over and its session may serve another one.
func (tx *Tx) reused() bool { return tx.session.reuse != nil && tx.ended() }
