package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/stoatdb/stoat"
)

// session is a collection in a transaction: its buckets, and memory to work in.
type session struct {
	tx      *stoat.Tx
	data    *stoat.Bucket   // with the buckets meta and of indexes in it
	meta    *stoat.Bucket   // with what is not of one record
	indexes []*stoat.Bucket // by number; nil before the first use
	shared  *shared
	own     shared // what shared is in a read-only transaction
	evolved int    // what shared had when the buckets were opened
	err     error  // why there is no session

	key, value    []byte // the one in use
	before, after []byte // the values of an index
}

// sessionOf is under what a transaction keeps a session.
type sessionOf[T any] struct{ c *Collection[T] }

// session returns the collection's session in a transaction.
func (c *Collection[T]) session(tx *stoat.Tx) (*session, error) {
	s := stoat.Local(tx, sessionOf[T]{c}, func() *session {
		s := &session{tx: tx, evolved: -1}
		if s.shared = &s.own; tx.Writable() {
			s.shared = sharedIn(tx, c.name)
		}
		return s
	})
	if s.evolved != s.shared.evolved {
		s.evolved = s.shared.evolved
		s.indexes, s.err = nil, nil
		if s.data, s.meta = c.seen.again(tx); s.data == nil {
			s.err = c.wrap(s.open(c.name, c.edition))
			c.seen.remember(s)
		}
	}
	return s, s.err
}

// seen is where a collection's buckets were found last, and its definition unchanged.
type seen struct{ refs atomic.Pointer[[2]stoat.Ref] }

// again returns the buckets of data and meta if they need not be looked up.
func (n *seen) again(tx *stoat.Tx) (data, meta *stoat.Bucket) {
	refs := n.refs.Load()
	if refs == nil {
		return nil, nil
	}
	if data = tx.Refer(refs[0]); data != nil {
		meta = tx.Refer(refs[1])
	}
	return data, meta
}

// remember keeps where the buckets of a session are.
func (n *seen) remember(s *session) {
	if s.err == nil && !s.tx.Writable() {
		n.refs.Store(&[2]stoat.Ref{s.data.Ref(), s.meta.Ref()})
	}
}

// writer is writable for a write of records, at which it sweeps some that have expired.
func (c *Collection[T]) writer(tx *stoat.Tx) (*session, error) {
	s, err := c.writable(tx)
	if err == nil {
		err = c.wrap(c.keepUp(s))
	}
	return s, err
}

// writable returns the collection's session in a transaction that can write.
func (c *Collection[T]) writable(tx *stoat.Tx) (*session, error) {
	s, err := c.session(tx)
	if err == nil && !tx.Writable() {
		err = c.wrap(fmt.Errorf("write in an Update: %w", stoat.ErrReadOnly))
	}
	return s, err
}

// open finds the buckets.
func (s *session) open(name string, edition uint64) error {
	var err error
	s.data, err = s.tx.Bucket([]byte(name))
	if errors.Is(err, stoat.ErrBucketNotFound) {
		return fmt.Errorf("it is not in the database of this transaction: open it there (%w)", err)
	}
	if err != nil {
		return err
	}
	s.meta, err = s.data.Bucket([]byte("meta"))
	if errors.Is(err, stoat.ErrBucketNotFound) {
		return ErrOutdated
	}
	if err != nil {
		return err
	}
	stored, err := s.meta.Sequence()
	if err == nil && stored != edition {
		err = ErrOutdated
	}
	return err
}

// index returns the bucket of an index.
func (s *session) index(x *index) (*stoat.Bucket, error) {
	if missing := x.number + 1 - len(s.indexes); missing > 0 {
		s.indexes = append(s.indexes, make([]*stoat.Bucket, missing)...)
	}
	if b := s.indexes[x.number]; b != nil {
		return b, nil
	}
	b, err := s.data.Bucket(x.bucket())
	if err != nil {
		return nil, err
	}
	s.indexes[x.number] = b
	return b, nil
}

// shared is what all sessions of the collections with a name have in common.
type shared struct {
	evolved int // how often the transaction has changed the definition
	counter *counter
	writes  int // of records that may expire
}

// sharedOf is under what a transaction keeps what is shared.
type sharedOf struct{ name string }

// sharedIn returns what the collections with the name share in a transaction that can write.
func sharedIn(tx *stoat.Tx, name string) *shared {
	return stoat.Local(tx, sharedOf{name}, func() *shared { return &shared{} })
}

// counter is the number of records, as the transaction sees it.
type counter struct {
	meta    *stoat.Bucket
	records uint64
	changed bool // and so it will be stored
}

// count returns the counter of the collection.
func (s *session) count() (*counter, error) {
	if s.shared.counter != nil {
		return s.shared.counter, nil
	}
	p, err := s.meta.Get([]byte(countKey))
	if err != nil {
		return nil, fmt.Errorf("read the count: %w", err)
	}
	if len(p) != 8 {
		return nil, fmt.Errorf("a count of %d bytes: %w", len(p), stoat.ErrCorrupt)
	}
	s.shared.counter = &counter{meta: s.meta, records: binary.LittleEndian.Uint64(p)}
	return s.shared.counter, nil
}

// change prepares a change of the count, which the commit will store.
func (n *counter) change(tx *stoat.Tx) error {
	if n.changed {
		return nil
	}
	err := tx.BeforeCommit(func() error {
		n.changed = false // a hook behind this one may change it again
		err := n.meta.Put([]byte(countKey), binary.LittleEndian.AppendUint64(nil, n.records))
		if errors.Is(err, stoat.ErrBucketNotFound) {
			return nil // the collection was deleted later
		}
		return err
	})
	n.changed = err == nil
	return err
}

// refuseCommit makes the commit of a transaction return the error, which is that of a write that
// was half done, and returns it.
func refuseCommit(tx *stoat.Tx, err error) error {
	if err != nil { // and if no function can be registered, there can be no commit either
		_ = tx.BeforeCommit(func() error {
			return fmt.Errorf("roll back, as a write was half done: %w", err)
		})
	}
	return err
}
