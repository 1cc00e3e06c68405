package stoat

import (
	"math"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/superversion"
)

// session is what a transaction works with, and what its handles share: the [Tx], its buckets,
// cursors and loops. One of View serves another after its end, and tells their handles apart by its
// generation. It is no safer for concurrent use than they are.
type session struct {
	// snap is what Scan and Cursor see. In a writable transaction, nil means that it must be taken
	// anew, because something was written since.
	snap *superversion.Superversion
	w    *engine.Writer // nil in a read-only transaction

	db         *DB                  // nil once ended: a stale handle keeps no database alive
	position   Position             // of what the transaction began on
	generation uint64               // the number of transactions that ended in this session
	scratch    []byte               // the internal key in use
	values     superversion.Scratch // those that were decoded one by one
	err        error
	dropped    map[uint64]struct{} // the ids of buckets dropped here
	adopted    map[uint64]*space   // by the id of a bucket moved here, the one that holds it now
	sequence   sequence
	idle       *walk          // for the next loop; nil if there is none
	locals     []local        // what layers keep
	now        time.Time      // by which layers tell what has expired; zero before the first use
	hooks      []func() error // to be called before a commit
	preparing  bool           // they are being called

	writable bool
	managed  bool // View or Update ends it

	root  space // of the transaction
	own   Tx
	reuse *reuse // of a session of View, which serves another one after its end; else nil
}

// reuse is what a session needs to serve one transaction after the other. None of its Tx is handed
// out twice, or one that was kept would be taken for its successor: a View costs 8 bytes, and an
// allocation for so many.
type reuse struct {
	spare []Tx  // that were never handed out
	over  space // of no generation: what a Tx has in place of the root after its end
	first [8]Tx // the first to be handed out
}

// spareHandles is how many Tx of a reused session are made at a time.
const spareHandles = 128

// newSession returns a session for begin to open.
func newSession() *session { return new(session).rooted() }

// rooted completes a session that is zero.
func (s *session) rooted() *session {
	s.root.session = s
	s.root.setPrefix()
	return s
}

// newReused returns a session for one View after the other, in a single allocation.
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

// begin opens s, which is new or ended, in db: on w, or on snap if w is nil.
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

// handle returns a Tx that was never handed out.
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

// end makes the transaction a finished one and lets go of all that it holds.
func (s *session) end() {
	s.generation++
	s.db, s.snap, s.w, s.sequence = nil, nil, nil, sequence{}
	s.dropped, s.adopted = nil, nil
	s.preparing, s.now = false, time.Time{}
	clear(s.locals)
	clear(s.hooks)
	s.locals, s.hooks = s.locals[:0], s.hooks[:0]
	s.values.Reset()
	if s.idle != nil {
		s.idle.values.Reset()
	}
}

// fail records the error of a loop.
func (s *session) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// get returns the value of an internal key.
func (s *session) get(key []byte) (value []byte, ok bool, err error) {
	if s.w != nil {
		return s.w.Get(key, &s.values)
	}
	return s.snap.Get(key, &s.values)
}

// has reports whether there is such an internal key.
func (s *session) has(key []byte) (bool, error) {
	if s.w != nil {
		return s.w.Has(key)
	}
	_, ok, err := s.snap.Until(key)
	return ok, err
}

// put stores an internal key for ever.
func (s *session) put(key, value []byte) error { return s.putUntil(key, value, 0) }

// putUntil stores an internal key until a moment in milliseconds since 1970.
func (s *session) putUntil(key, value []byte, until uint64) error {
	s.snap = nil
	return s.wrote(s.w.Put(key, value, until))
}

// delete removes an internal key.
func (s *session) delete(key []byte) error {
	s.snap = nil
	return s.wrote(s.w.Delete(key))
}

// wrote keeps the error of a write, so that the transaction cannot be committed: what memory could
// not hold was not written to disk, either.
func (s *session) wrote(err error) error {
	if err != nil {
		s.fail(err)
	}
	return err
}

// passed makes use of what a cursor has found absent, so that the next need not pass it again.
func (s *session) passed(c *superversion.Cursor) {
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
