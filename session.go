package stoat

import (
	"math"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/superversion"
)

// session is the state of a transaction, shared by its handles: the [Tx], its buckets, cursors and
// scans. After a View has ended, its session serves another one; the generation tells their handles
// apart. It is not safe for concurrent use either.
type session struct {
	// snap is what Scan and Cursor see. In a writable transaction, nil means that it must be taken
	// again, because something has been written since.
	snap *superversion.Superversion
	w    *engine.Writer // nil in a read-only transaction

	db         *DB      // nil once ended: a stale handle keeps no database alive
	position   Position // the state that the transaction began on
	generation uint64   // the number of transactions that have ended in this session
	scratch    []byte   // buffer for the current internal key
	lookups    superversion.Lookups
	err        error
	dropped    map[uint64]struct{} // the ids of buckets dropped in this transaction
	adopted    map[uint64]*space   // the current parent of each bucket moved in this transaction
	sequence   sequence
	idle       *walk          // for the next loop, or nil
	locals     []local        // values kept for layers
	now        time.Time      // by which layers expire; zero before the first use
	hooks      []func() error // to be called before a commit
	preparing  bool           // the hooks are running, or one panicked

	place    uint32 // see engine.Engine.Snapshot
	writable bool
	managed  bool // View or Update ends the transaction

	root  space // the root bucket of the transaction
	own   Tx
	reuse *reuse // set in the session of a View, which is reused
}

// reuse is what a session needs to serve one transaction after another. It hands out each Tx only
// once: a Tx that was kept must not be mistaken for its successor. So a View costs 8 bytes, in one
// allocation for many Views.
type reuse struct {
	spare []Tx  // not handed out yet
	over  space // belongs to no generation; replaces the root of a Tx that has ended
	first [8]Tx // the first to be handed out
}

// spareHandles is how many Tx of a reused session are allocated at a time.
const spareHandles = 128

func newSession() *session { return new(session).rooted() }

// rooted initializes a zero session.
func (s *session) rooted() *session {
	s.root.session = s
	s.root.setPrefix()
	return s
}

// newReused returns a session that serves one View after another, in a single allocation.
func newReused() *session {
	both := new(struct {
		session session
		reuse   reuse
	})
	s := both.session.rooted()
	s.managed, s.reuse = true, &both.reuse
	s.reuse.over = s.root
	s.reuse.over.born = math.MaxUint64
	s.reuse.spare = s.reuse.first[:]
	return s
}

// begin starts a transaction of db in s, which is new or ended: on w, or on snap if w is nil.
func (s *session) begin(db *DB, snap *superversion.Superversion, w *engine.Writer) *Tx {
	s.db, s.snap, s.w, s.writable = db, snap, w, w != nil
	s.err = nil
	if w != nil {
		s.position = db.positionOf(w.Base())
	} else {
		s.position = db.positionOf(snap.Commit)
	}
	s.root.born = s.generation
	tx := s.handle()
	tx.space = &s.root
	return tx
}

// handle returns a Tx that has never been handed out.
func (s *session) handle() *Tx {
	if s.reuse == nil {
		return &s.own
	}
	if len(s.reuse.spare) == 0 {
		s.reuse.spare = make([]Tx, spareHandles)
	}
	tx := &s.reuse.spare[0]
	s.reuse.spare = s.reuse.spare[1:]
	return tx
}

// end marks the transaction finished and releases everything it holds.
func (s *session) end() {
	if s.w == nil {
		s.db.engine.Release(s.place)
	}
	s.generation++
	s.db, s.snap, s.w, s.sequence = nil, nil, nil, sequence{}
	s.dropped, s.adopted = nil, nil
	s.preparing, s.now = false, time.Time{}
	clear(s.locals)
	clear(s.hooks)
	s.locals, s.hooks = s.locals[:0], s.hooks[:0]
	s.lookups.Reset()
	if s.idle != nil {
		s.idle.values.Reset()
	}
}

func (s *session) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// get returns the value of an internal key.
func (s *session) get(key []byte) (value []byte, ok bool, err error) {
	if s.w != nil {
		return s.w.Get(key, &s.lookups)
	}
	return s.snap.Get(key, &s.lookups)
}

// has reports whether there is such an internal key.
func (s *session) has(key []byte) (bool, error) {
	if s.w != nil {
		return s.w.Has(key, &s.lookups)
	}
	return s.snap.Has(key, &s.lookups)
}

// size returns the length of the value of an internal key.
func (s *session) size(key []byte) (size int, ok bool, err error) {
	if s.w != nil {
		return s.w.Size(key, &s.lookups)
	}
	return s.snap.Size(key, &s.lookups)
}

// put stores an internal key that does not expire.
func (s *session) put(key, value []byte) error { return s.putUntil(key, value, 0) }

// putUntil stores an internal key that expires at a time in milliseconds since 1970, or never if
// that is 0.
func (s *session) putUntil(key, value []byte, until uint64) error {
	s.snap = nil
	return s.wrote(s.w.Put(key, value, until))
}

func (s *session) delete(key []byte) error {
	s.snap = nil
	return s.wrote(s.w.Delete(key))
}

// wrote records the error of a write, so that the transaction cannot be committed: a write that
// failed in memory would be missing on disk too.
func (s *session) wrote(err error) error {
	if err != nil {
		s.fail(err)
	}
	return err
}

// passed reports the absent keys that a cursor passed over, so that the next one need not.
func (s *session) passed(c *superversion.Cursor) {
	if c.Skipped() {
		s.report(c)
	}
}

// report is passed for a cursor that has skipped entries; apart, so that the other is inlined.
func (s *session) report(c *superversion.Cursor) {
	span, entries := c.Absent()
	switch {
	case entries == 0:
	case s.w == nil:
		s.db.engine.Passed(span, entries)
	case s.snap == c.Snapshot() && s.w.Passed(span, entries): // nothing was written since
		s.snap = nil
	}
}

// snapshot returns what the transaction sees now, frozen.
func (s *session) snapshot() *superversion.Superversion {
	if s.snap == nil {
		s.snap = s.w.Snapshot()
	}
	return s.snap
}
