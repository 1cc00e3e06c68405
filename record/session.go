package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/stoatdb/stoat"
)

// session is a collection in a transaction: its buckets and working memory.
type session struct {
	tx      *stoat.Tx
	data    *stoat.Bucket   // the collection's own bucket, with the records
	meta    *stoat.Bucket   // with the definition, the schemas and the count
	indexes []*stoat.Bucket // by the index's number; nil before the first use
	shared  *shared         // with other sessions of the collection
	own     shared          // holds shared in a read-only transaction
	evolved int             // shared.evolved when the buckets were opened
	err     error           // why the session cannot be used

	key, value    []byte // buffers for the current record
	before, after []byte // buffers for the values of an index
	entry         []byte // buffer for an entry of an index

	changes []indexChange // memory: see indexChanges; nil while it is used
}

// sessionKey is the key under which a transaction keeps a session.
type sessionKey struct{ c *collection }

// session returns the collection's session in a transaction.
func (c *collection) session(tx *stoat.Tx) (*session, error) {
	s := stoat.Local(tx, sessionKey{c}, func() *session {
		s := &session{tx: tx, evolved: -1}
		if s.shared = &s.own; tx.Writable() {
			s.shared = sharedIn(tx, c.name)
		}
		return s
	})
	if s.evolved != s.shared.evolved {
		s.evolved = s.shared.evolved
		s.indexes, s.err = nil, nil
		s.err = c.wrap(c.refs.open(s, c.name, c.edition))
	}
	return s, s.err
}

// bucketRefs remembers the buckets of a collection.
type bucketRefs struct{ last atomic.Pointer[lastBuckets] }

// lastBuckets are buckets of a collection, and where its definition was the expected edition. It is
// immutable.
type lastBuckets struct {
	data, meta stoat.Ref
	position   stoat.Position // 0: nowhere
}

// isCurrent reports whether the definition is known to be the expected edition.
func (l *lastBuckets) isCurrent(tx *stoat.Tx) bool {
	return l != nil && l.position == tx.Position() && !tx.Writable()
}

// open sets the buckets of a session and checks that the definition is the expected edition.
func (n *bucketRefs) open(s *session, name string, edition uint64) error {
	last := n.last.Load()
	if last != nil {
		if s.data = s.tx.Refer(last.data); s.data != nil {
			s.meta = s.tx.Refer(last.meta)
		}
	}
	known := s.data != nil && s.meta != nil
	if known && last.isCurrent(s.tx) {
		return nil
	}
	if !known {
		if err := s.lookUp(name); err != nil {
			return err
		}
	}
	if err := s.check(edition); err != nil {
		return err
	}
	var position stoat.Position // what a writable transaction sees may never be committed
	if !s.tx.Writable() {
		position = s.tx.Position()
	}
	if !known || position != 0 {
		n.last.Store(&lastBuckets{s.data.Ref(), s.meta.Ref(), position})
	}
	return nil
}

// writer is writable for writes of records; it also sweeps some expired ones.
func (c *collection) writer(tx *stoat.Tx) (*session, error) {
	s, err := c.writable(tx)
	if err == nil {
		err = c.wrap(c.sweepSome(s))
	}
	return s, err
}

// writable returns the collection's session in a writable transaction.
func (c *collection) writable(tx *stoat.Tx) (*session, error) {
	s, err := c.session(tx)
	if err == nil && c.untyped {
		return s, c.wrap(fmt.Errorf("records cannot be written without their type: %w",
			stoat.ErrReadOnly))
	}
	if err == nil && !tx.Writable() {
		err = c.wrap(fmt.Errorf("write in an Update: %w", stoat.ErrReadOnly))
	}
	return s, err
}

// lookUp looks up the buckets.
func (s *session) lookUp(name string) error {
	var err error
	s.data, err = s.tx.Bucket([]byte(name))
	if errors.Is(err, stoat.ErrBucketNotFound) {
		return fmt.Errorf("it is not in this transaction's database: open it there (%w)", err)
	}
	if err != nil {
		return err
	}
	s.meta, err = s.data.Bucket([]byte("meta"))
	if errors.Is(err, stoat.ErrBucketNotFound) {
		return ErrOutdated
	}
	return err
}

// check checks that the definition is the expected edition.
func (s *session) check(edition uint64) error {
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

// shared is the state that all sessions of collections with the same name have in common.
type shared struct {
	evolved int // how often the transaction changed the definition
	counter *counter
	writes  int // of records that may expire, for sweepSome
}

// sharedKey is the key under which a transaction keeps the shared state.
type sharedKey struct{ name string }

// sharedIn returns the shared state of the collections with a name in a writable transaction.
func sharedIn(tx *stoat.Tx, name string) *shared {
	return stoat.Local(tx, sharedKey{name}, func() *shared { return &shared{} })
}

// counter is the number of records as the transaction sees it.
type counter struct {
	meta    *stoat.Bucket
	records uint64
	changed bool // the commit will store it
}

// count returns the counter of the collection, which it reads on first use.
func (s *session) count() (*counter, error) {
	if s.shared.counter != nil {
		return s.shared.counter, nil
	}
	p, err := s.meta.Get([]byte(countKey))
	if err != nil {
		return nil, fmt.Errorf("read the count: %w", err)
	}
	if len(p) != 8 {
		return nil, fmt.Errorf("the count has %d bytes instead of 8: %w", len(p), stoat.ErrCorrupt)
	}
	s.shared.counter = &counter{meta: s.meta, records: binary.LittleEndian.Uint64(p)}
	return s.shared.counter, nil
}

// change must be called with each change of the count; it makes the commit store it.
func (n *counter) change(tx *stoat.Tx) error {
	if n.changed {
		return nil
	}
	err := tx.BeforeCommit(func() error {
		n.changed = false // a later hook may change it again
		err := n.meta.Put([]byte(countKey), binary.LittleEndian.AppendUint64(nil, n.records))
		if errors.Is(err, stoat.ErrBucketNotFound) {
			return nil // the collection was deleted afterwards
		}
		return err
	})
	n.changed = err == nil
	return err
}

// refuseCommit returns err, the error of a write that was only partly done, and makes the commit of
// the transaction fail with it.
func refuseCommit(tx *stoat.Tx, err error) error {
	if err != nil { // if the function cannot be registered, the transaction cannot commit either
		_ = tx.BeforeCommit(func() error {
			return fmt.Errorf("roll back, because a write was only partly done: %w", err)
		})
	}
	return err
}
