package replica

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/evidence"
	"github.com/stoatdb/stoat/replica/internal/rights"
	"github.com/stoatdb/stoat/replica/internal/session"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// A replica that lacks entries which its peers have pruned starts with a checkpoint: a peer offers
// its horizon, and proves by whom it was made. The replica takes the chunks of the state from any
// peer that has the same checkpoint, verifies each, and keeps them aside:
//
//	bucket "staged"            hash of a chunk → its packed form
//	"start"                    uvarint, how many it takes; the proof run of their checkpoint
//
// When it has all of them, it installs them, in one transaction: see install.go.

// start is a checkpoint to start with, which is by a device that may make checkpoints.
type start struct {
	at       entry.Head // of the entry with the checkpoint
	hash     entry.Hash
	act      *entry.Checkpoint
	evidence []*evidence.Run // the first one is of the checkpoint
	proven   []*evidence.Proven
	chunks   int          // of one that has begun: how many are taken
	tree     *rights.Tree // by the proven acts
	trees    []chunk.Tree // as in the act; empty: not given, or not taken
}

// begin verifies an offer, given what checks its proof runs.
func (s *Space) begin(
	o *session.Offer, check func(*evidence.Run) (*evidence.Proven, error),
) (*start, error) {
	st := &start{}
	if len(o.Evidence) == 0 {
		return nil, invalid("a checkpoint without a proof run")
	}
	for _, p := range o.Evidence {
		run, err := evidence.Parse(p)
		if err != nil {
			return nil, invalid("a proof run: %w", err)
		}
		proven, err := check(run)
		if err != nil {
			return nil, err
		}
		st.evidence, st.proven = append(st.evidence, run), append(st.proven, proven)
	}
	made := &st.proven[0].Acts[0]
	if made.Act == nil || made.Act.Checkpoint == nil || made.Hash != o.Checkpoint {
		return nil, invalid("an offer without its checkpoint")
	}
	st.at, st.hash, st.act = made.At, made.Hash, made.Act.Checkpoint
	if err := s.mayHaveMade(st); err != nil {
		return nil, err
	}
	if len(o.Trees) != len(st.act.Chunks) || len(o.Trees) == 0 {
		return nil, invalid("an offer with other subtrees than its checkpoint")
	}
	for i := range st.act.Chunks {
		sub := &st.act.Chunks[i]
		if i > 0 && len(o.Trees[i]) == 0 {
			continue
		}
		if uint64(len(o.Trees[i])) != sub.Leaves || o.Trees[i].Root() != sub.Root {
			return nil, invalid("the chunks of %q are not those of the checkpoint", sub.Collection)
		}
	}
	st.trees = o.Trees
	return st, nil
}

// begun returns the checkpoint of which chunks are staged, with its act only, or nil.
func (t *txn) begun() (*start, error) {
	p, err := t.meta.Get([]byte(keyStart))
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := wire.NewReader(p)
	chunks := r.Uvarint()
	run, err := evidence.Parse(r.Rest())
	if err = cmp.Or(r.Err(), err); err != nil {
		return nil, fmt.Errorf("the checkpoint to start with: %w: %w", err, stoat.ErrCorrupt)
	}
	proven, err := t.space.check(run)
	if err != nil {
		return nil, err
	}
	made := &proven.Acts[0]
	if made.Act == nil || made.Act.Checkpoint == nil {
		return nil, stoat.ErrCorrupt
	}
	return &start{at: made.At, hash: made.Hash, act: made.Act.Checkpoint, chunks: int(chunks)}, nil
}

// staged returns where chunks are kept, which is created with the first.
func (t *txn) staged() (*stoat.Bucket, error) {
	if t.tx.Writable() {
		return t.meta.CreateBucketIfNotExists([]byte(stagedBucket))
	}
	return t.meta.Bucket([]byte(stagedBucket))
}

// keepStaged drops the staged chunks that a checkpoint does not have, if another one was begun.
func (t *txn) keepStaged(st *start) error {
	begun, err := t.begun()
	if err != nil || begun == nil || begun.hash == st.hash {
		return err
	}
	b, err := t.staged()
	if err != nil {
		return err
	}
	has := map[string]bool{}
	for _, tree := range st.trees {
		for n := range tree {
			has[string(tree[n][:])] = true
		}
	}
	for leaf := range b.Keys(stoat.Range{}) {
		if has[string(leaf)] {
			continue
		}
		if err := b.Delete(leaf); err != nil {
			return err
		}
	}
	return t.tx.Err()
}

// unstaged returns the chunks that are not staged yet.
func (t *txn) unstaged(st *start) (all []session.ChunkID, err error) {
	b, err := t.staged()
	if err != nil && !errors.Is(err, stoat.ErrBucketNotFound) {
		return nil, err
	}
	for i, tree := range st.trees {
		for n := st.act.Unchunked(i); n < len(tree); n++ {
			has := false
			if b != nil {
				if has, err = b.Has(tree[n][:]); err != nil {
					return nil, err
				}
			}
			if !has {
				all = append(all, session.ChunkID{Tree: i, N: n})
			}
		}
	}
	return all, nil
}

// Starts implements session.Space.
func (e endpoint) Starts() (starts bool, err error) {
	err = e.view(func(t *txn) error {
		own, err := t.ownNumber()
		if err != nil {
			return err
		}
		starts = true
		for h, err := range t.eachHead() {
			if err != nil {
				return err
			}
			starts = starts && h.number == own && h.next == 1
		}
		if starts {
			return nil
		}
		others, err := t.split()
		if starts = len(others) > 0; err == nil && !starts {
			starts, err = t.maySplit()
		}
		return err
	})
	return starts, err
}

// beginStart begins to start with an offer by a device that was verified. It returns what this
// replica lacks of the state, or why it does not start.
func (e endpoint) beginStart(st *start, from DeviceID) (
	lacks []session.ChunkID, reason, err error,
) {
	e.s.applying.Lock()
	defer e.s.applying.Unlock()
	err = e.s.inUpdate(func(t *txn) error {
		if reason, err = t.mayStart(st, from); reason != nil || err != nil {
			return err
		}
		if err = t.keepStaged(st); err != nil {
			return err
		}
		if lacks, err = t.unstaged(st); err != nil {
			return err
		}
		chunks := 0
		for i, tree := range st.trees {
			chunks += max(len(tree)-st.act.Unchunked(i), 0)
		}
		return t.meta.Put([]byte(keyStart),
			st.evidence[0].Append(binary.AppendUvarint(nil, uint64(chunks))))
	})
	return lacks, reason, err
}

// Stage implements session.Space.
func (e endpoint) Stage(chunks []chunk.Packed) error {
	return e.s.inUpdate(func(t *txn) error { return t.stageChunks(chunks) })
}

// stageChunks stores chunks of a checkpoint that was begun.
func (t *txn) stageChunks(chunks []chunk.Packed) error {
	if begun, err := t.begun(); err != nil || begun == nil {
		return err // another session has ended the start
	}
	b, err := t.staged()
	for i := 0; i < len(chunks) && err == nil; i++ {
		err = b.Put(chunks[i].Leaf[:], chunks[i].Form)
	}
	return err
}

// Install implements session.Space. The seals of the proof runs are not checked again.
func (e endpoint) Install(number uint64, of *session.Notice) error {
	check := e.s.check
	if e.s.starting().is(of) {
		check = e.s.read
	}
	e.s.setStarting(nil)
	o, err := e.assemble(of)
	if err != nil {
		return err
	}
	st, err := e.s.begin(o, check)
	if err != nil {
		return err
	}
	return e.s.installAll(number, st)
}

// installAll installs a start, and merges what has waited for what its checkpoint covers.
func (s *Space) installAll(number uint64, st *start) error {
	err := s.install(number, st)
	if err == nil {
		_, err = s.applyFrom(0, nil)
	}
	return err
}

// errForgotten reports a checkpoint that another session has replaced by a newer one.
var errForgotten = errors.New("another checkpoint was started with meanwhile: sync or import again")

// install makes the state of a checkpoint, whose chunks are staged, that of this replica.
func (s *Space) install(number uint64, st *start) error {
	s.applying.Lock()
	defer s.applying.Unlock()
	var grown *growth
	err := s.inUpdate(func(t *txn) error {
		begun, err := t.begun()
		if err != nil {
			return err
		}
		if takes, err := t.choose(st); err != nil || !takes {
			return err // another session was faster
		}
		if begun == nil || begun.hash != st.hash {
			return errForgotten
		}
		if reason, err := t.mayNotHaveMade(st); err != nil || reason != nil {
			return cmp.Or(err, reason) // a revocation has arrived meanwhile
		}
		t.growth = &growth{}
		grown = t.growth
		in := &installation{t: t, start: st, session: number}
		hz, err := t.horizonOf()
		if err == nil && hz != nil && hz.hash == st.hash {
			return (&filler{in, hz}).run()
		}
		if err == nil {
			err = in.run()
		}
		return err
	})
	if errors.Is(err, ErrMismatch) {
		err = cmp.Or(s.inUpdate((*txn).noteMismatch), err)
	}
	if err == nil {
		s.chronicle.add(grown)
		s.retryLater()
	}
	return err
}

// staging appends the form of a staged chunk to the empty buf.
func (t *txn) staging(leaf chunk.Hash, buf []byte) ([]byte, error) {
	b, err := t.staged()
	if err != nil {
		return nil, err
	}
	p, err := b.Get(leaf[:])
	return append(buf, p...), err
}

// Start is how far a replica is that starts from a checkpoint. It shows nothing of that before it
// has all chunks of the state. A peer that has the same checkpoint gives the rest.
type Start struct {
	Chunks int `json:"chunks"` // of the state, as far as the replica holds it
	Stored int `json:"stored"` // of these, how many are here
}

// startStatus returns how far a start is, or nil. Chunks of an older checkpoint that was begun
// before count, too.
func (t *txn) startStatus() (*Start, error) {
	begun, err := t.begun()
	if begun == nil {
		return nil, err
	}
	st := &Start{Chunks: begun.chunks}
	b, err := t.meta.Bucket([]byte(stagedBucket))
	if errors.Is(err, stoat.ErrBucketNotFound) {
		return st, nil
	}
	if err != nil {
		return nil, err
	}
	for range b.Keys(stoat.Range{}) {
		st.Stored++
	}
	st.Stored = min(st.Stored, st.Chunks)
	return st, t.tx.Err()
}
