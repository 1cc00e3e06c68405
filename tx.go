package stoat

// Tx is a transaction: a snapshot of the database and, if writable, the writes made on top of it,
// which nobody else sees until they are committed. Transactions are serializable. As a key space, a
// Tx is the root bucket. It is not safe for concurrent use.
//
// Byte slices returned by Get, Scan, Keys, Buckets and Cursor are valid until the transaction ends,
// and must not be modified. Slices passed in are copied if they are kept.
//
// Using a finished transaction, its buckets or its cursors returns [ErrTxClosed], and writing in a
// read-only one returns [ErrReadOnly]. A Tx must not be copied.
type Tx struct {
	_      noCopy
	*space // the root bucket; after a View has ended, a closed space
}

// noCopy makes "go vet" report copies of the struct it is a field of.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// Commit ends the transaction and makes its writes visible to every later one and, with
// [SyncAlways], durable. The transaction ends even if Commit fails, and then none of its writes are
// visible. If [Tx.Err] is not nil, Commit rolls back and returns it. In a read-only transaction,
// Commit is Rollback that returns [Tx.Err].
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

// prepare runs the BeforeCommit functions and makes the last writes. It returns an error if the
// transaction cannot be committed.
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

func (tx *Tx) finish() error {
	w := tx.session.w
	tx.end()
	return w.Commit()
}

// end marks tx finished for good, whatever its session is reused for.
func (tx *Tx) end() {
	s := tx.session
	s.end()
	if s.reuse != nil {
		tx.space = &s.reuse.over
	}
}

// Rollback ends the transaction and discards its writes. In a finished transaction it does nothing,
// so it can be deferred. It always returns nil.
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

// Writable reports whether the transaction can write or, if it has ended, could write.
func (tx *Tx) Writable() bool { return tx.session.writable }

// Err returns the first error met by a loop over Scan, Keys or Buckets; such a loop can only stop
// early. View, Update and Commit return it too, so a loop that stopped early is never mistaken for
// one that finished. After a View has ended, Err returns [ErrTxClosed].
func (tx *Tx) Err() error {
	if tx.reused() {
		return ErrTxClosed
	}
	return tx.session.err
}

// reused reports whether the transaction has ended and its session may serve another one.
func (tx *Tx) reused() bool { return tx.session.reuse != nil && tx.ended() }
