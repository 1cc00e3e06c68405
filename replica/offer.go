package replica

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/evidence"
	"github.com/stoatdb/stoat/replica/internal/session"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// offer is the checkpoint from which others can start: the horizon of this replica, and where the
// chunks of its state begin. It is immutable, and kept in memory until there is another one.
type offer struct {
	horizon *horizon
	act     *entry.Checkpoint
	trees   []offeredTree     // as in the act; without leaves if the state is not here
	missing map[string]uint32 // the collections of which it is not
	logs    []chunk.Record    // of the subtree of logs
}

// offeredTree is the state of a collection, or of the logs.
type offeredTree struct {
	number uint32
	firsts [][]byte   // the first keys of the chunks; nil for a salt
	leaves chunk.Tree // of the salt, if there is one, and of the chunks
}

// knownOffer returns what was last offered by a horizon, or nil.
func (s *Space) knownOffer(hz *horizon) *offer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.offered; o != nil && o.horizon.hash == hz.hash && o.horizon.at == hz.at {
		return o
	}
	return nil
}

// offer returns what this replica can offer by its horizon. The error is ErrMismatch if its state
// is not that of the checkpoint.
func (t *txn) offer(hz *horizon) (*offer, error) {
	s := t.space
	known := s.knownOffer(hz)
	missing, err := t.missingAt(hz)
	if err == nil {
		err = t.addUnsalted(missing, hz)
	}
	if err != nil {
		return nil, err
	}
	if known != nil && maps.Equal(known.missing, missing) {
		return known, nil
	}
	o, err := t.newOffer(hz, missing)
	if err == nil {
		s.mu.Lock()
		s.offered = o
		s.mu.Unlock()
	}
	return o, err
}

// offerOf is offer for who looks at one subtree of it alone. What of others is missing may have
// changed.
func (t *txn) offerOf(hz *horizon, tree int) (*offer, error) {
	o := t.space.knownOffer(hz)
	if o == nil || tree >= len(o.trees) {
		return t.offer(hz)
	}
	name := o.act.Chunks[tree].Collection
	if is, err := t.missesAt(hz, name, o.act); err != nil || is != o.misses(name) {
		return t.offer(hz)
	}
	return o, nil
}

// misses reports whether the state of a collection was not here.
func (o *offer) misses(collection string) bool {
	_, is := o.missing[collection]
	return is
}

// missesAt reports whether the state of a collection at the horizon, or its salt, is not here.
func (t *txn) missesAt(hz *horizon, collection string, act *entry.Checkpoint) (bool, error) {
	lacks, err := t.lacks()
	number, lacking := lacks[collection]
	if err != nil || !lacking {
		return false, err
	}
	if is, err := t.isMissingAt(number, hz); err != nil || is {
		return is, err
	}
	return t.isUnsalted(number, hz, act)
}

// newOffer computes what can be offered by a horizon, without the collections that are missing.
func (t *txn) newOffer(hz *horizon, missing map[string]uint32) (*offer, error) {
	c, err := t.candidate(hz.at)
	if err != nil {
		return nil, err
	}
	salts, err := t.saltsOf(c)
	if err != nil {
		return nil, err
	}
	o := &offer{horizon: hz, act: c.act, missing: missing}
	if o.logs, err = t.logRecords(hz); err != nil {
		return nil, err
	}
	for i := range o.logs { // what a transaction reads may lie in a table, which goes away
		r := &o.logs[i]
		r.Key, r.State = bytes.Clone(r.Key), bytes.Clone(r.State)
	}
	last := ""
	each := func(name string, first, _ []byte, leaf chunk.Hash) error {
		if len(o.trees) == 0 || name != last {
			o.trees, last = append(o.trees, offeredTree{}), name
		}
		tree := &o.trees[len(o.trees)-1]
		tree.firsts = append(tree.firsts, bytes.Clone(first))
		tree.leaves = append(tree.leaves, leaf)
		return nil
	}
	subtrees, err := t.subtreesAt(hz, salts, missing, each)
	if err != nil {
		return nil, err
	}
	return o, o.compare(t, subtrees)
}

// compare compares the state that is here with that of the checkpoint. What is missing here has no
// leaves.
func (o *offer) compare(t *txn, subtrees []chunk.Subtree) (err error) {
	here, n := o.trees, 0 // of subtrees, how many are compared
	o.trees = make([]offeredTree, len(o.act.Chunks))
	for i := range o.act.Chunks {
		switch {
		case o.misses(o.act.Chunks[i].Collection):
		case n == len(subtrees) || subtrees[n] != o.act.Chunks[i]:
			return ErrMismatch
		default:
			o.trees[i] = here[n]
			n++
		}
	}
	if n < len(subtrees) {
		return ErrMismatch
	}
	for i := range o.trees {
		if name := o.act.Chunks[i].Collection; name != "" && len(o.trees[i].leaves) > 0 {
			if o.trees[i].number, err = t.collectionNumber(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// chunk returns a chunk of what is offered.
func (t *txn) chunk(o *offer, tree, n int) (content []byte, err error) {
	of := &o.trees[tree]
	within := stoat.Range{Start: of.firsts[n]}
	if n+1 < len(of.firsts) {
		within.End = of.firsts[n+1]
	}
	add := func(key, state []byte) error {
		content = wire.AppendBytes(wire.AppendBytes(content, key), state)
		return nil
	}
	if name := o.act.Chunks[tree].Collection; name != "" {
		err = t.eachBase(name, of.number, o.horizon, within, add)
	} else {
		i, _ := slices.BinarySearchFunc(o.logs, within.Start, chunk.Record.Compare)
		for ; i < len(o.logs) && (within.End == nil || o.logs[i].Compare(within.End) < 0); i++ {
			_ = add(o.logs[i].Key, o.logs[i].State)
		}
	}
	if err == nil && chunk.Leaf(content) != of.leaves[n] {
		err = fmt.Errorf("chunk %d of %q has changed: %w", n, o.act.Chunks[tree].Collection,
			stoat.ErrCorrupt)
	}
	return content, err
}

// offering returns what the replica can offer now, or nil: there is no checkpoint, or it is not
// here with its seal, or its state is another one here.
func (t *txn) offering() (*offer, error) { return t.offeringBy(t.offer) }

// offeringBy is offering, given what returns the offer of the horizon.
func (t *txn) offeringBy(by func(*horizon) (*offer, error)) (*offer, error) {
	hz, err := t.horizonOf()
	if err != nil || hz == nil {
		return nil, err
	}
	author, err := t.head(hz.at.log)
	if err != nil || hz.at.seq >= min(author.sealed, author.next) {
		return nil, err
	}
	if _, mismatch, err := t.checkpointStatus(); err != nil || mismatch {
		return nil, err
	}
	o, err := by(hz)
	if errors.Is(err, ErrMismatch) {
		return nil, nil
	}
	return o, err
}

// errUnoffered is why a replica offers nothing.
var errUnoffered = errors.New("the entry of the checkpoint by which the peer goes has not come: " +
	"bring the peer together with the replica from which it has started, or take the " +
	"checkpoint from that one")

// unoffered returns errUnoffered if the entry of the checkpoint is not here with its seal.
func (t *txn) unoffered() (reason, err error) {
	hz, err := t.horizonOf()
	if err != nil || hz == nil {
		return nil, err
	}
	author, err := t.head(hz.at.log)
	if err == nil && hz.at.seq >= min(author.sealed, author.next) {
		reason = errUnoffered
	}
	return reason, err
}

// offeringTo is offering to a reader. Gives is for each subtree whether it is given: the reader
// asks for the collection, and may read it. The reason is why nothing is offered.
func (t *txn) offeringTo(to *session.Reader) (o *offer, gives []bool, reason, err error) {
	if reason, err = t.mayRead(to.Device); reason != nil || err != nil {
		return nil, nil, reason, err
	}
	v, err := t.rights()
	if err == nil {
		o, err = t.offering()
	}
	if err != nil || o == nil {
		if err == nil {
			reason, err = t.unoffered()
		}
		return nil, nil, reason, err
	}
	gives = make([]bool, len(o.trees))
	for i := range o.act.Chunks {
		gives[i] = o.gives(i, to, v)
		if name := o.act.Chunks[i].Collection; gives[i] && len(o.trees[i].leaves) == 0 {
			return nil, nil, fmt.Errorf("collection %q at the checkpoint: %w", name, ErrNotHeld), nil
		}
	}
	return o, gives, nil, nil
}

// gives reports whether a subtree is given to a reader.
func (o *offer) gives(tree int, to *session.Reader, v *rightsView) bool {
	name := o.act.Chunks[tree].Collection
	return name == "" || to.Asks(name) && v.tree.Now(to.Device, entry.RightRead, name)
}

// encodedOffer is an offer as it is sent to those who are given the same subtrees. It is immutable.
type encodedOffer struct {
	offer   *offer
	gives   []bool
	offered *session.Offered
}

// Offered implements session.Space.
func (e endpoint) Offered(to *session.Reader) (offered *session.Offered, reason, err error) {
	err = e.view(func(t *txn) error {
		o, gives, why, err := t.offeringTo(to)
		if reason = why; err != nil || o == nil {
			return err
		}
		e.s.mu.Lock()
		known := e.s.encoded
		e.s.mu.Unlock()
		if known != nil && known.offer == o && slices.Equal(known.gives, gives) {
			offered = known.offered
			return nil
		}
		given, err := t.give(o)
		if err != nil {
			return err
		}
		for i := range gives {
			if !gives[i] {
				given.Trees[i] = nil
			}
		}
		if encoded := given.Append(nil); len(encoded) <= e.s.offerMax {
			offered = session.Cut(given.Checkpoint, encoded)
		}
		if offered == nil {
			reason = errOfferSize
			return nil
		}
		e.s.mu.Lock()
		e.s.encoded = &encodedOffer{o, gives, offered}
		e.s.mu.Unlock()
		return nil
	})
	return offered, reason, err
}

// give returns an offer as it is sent, with proof runs of the acts that the checkpoint has seen. It
// may not cover some of them, such as the grant by which it was made.
func (t *txn) give(o *offer) (*session.Offer, error) {
	author, err := t.head(o.horizon.at.log)
	if err != nil {
		return nil, err
	}
	seen, err := t.seenBy(o.horizon.at, o.horizon)
	if err != nil {
		return nil, err
	}
	run, err := t.evidenceOf(author, o.horizon.at.seq)
	if err != nil {
		return nil, err
	}
	given := &session.Offer{Checkpoint: o.horizon.hash, Evidence: [][]byte{run.Append(nil)}}
	for i := range o.trees {
		given.Trees = append(given.Trees, o.trees[i].leaves)
	}
	return given, t.eachProof(seen, func(p []byte) error {
		given.Evidence = append(given.Evidence, p)
		return nil
	})
}

// eachProof calls fn with proof runs that have, together, the acts about rights before an end of
// each log.
func (t *txn) eachProof(ends vector, fn func(p []byte) error) error {
	proven := map[spot]bool{}
	add := func(at spot, run *evidence.Run) error {
		for i := range run.Entries {
			proven[spot{at.log, at.seq + uint64(i)}] = true
		}
		return fn(run.Append(nil))
	}
	err := t.eachEvidence(stoat.Prefix([]byte(prefixEvidence)), add)
	if err != nil {
		return err
	}
	return t.eachAct(func(at spot) error { // those that are not pruned yet
		if at.seq >= ends[at.log] || proven[at] {
			return nil
		}
		h, err := t.head(at.log)
		if err != nil {
			return err
		}
		run, err := t.evidenceOf(h, at.seq)
		if err != nil {
			return err
		}
		return add(at, run)
	})
}

// Chunk implements session.Space. It looks at the subtree of the chunk alone: there may be as many
// subtrees as chunks.
func (e endpoint) Chunk(
	to *session.Reader, checkpoint entry.Hash, id session.ChunkID,
) (content []byte, err error) {
	err = e.view(func(t *txn) error {
		if reason, err := t.mayRead(to.Device); reason != nil || err != nil {
			return err
		}
		v, err := t.rights()
		if err != nil {
			return err
		}
		o, err := t.offeringBy(func(hz *horizon) (*offer, error) { return t.offerOf(hz, id.Tree) })
		if err != nil || o == nil || o.horizon.hash != checkpoint || id.Tree >= len(o.trees) ||
			!o.gives(id.Tree, to, v) || id.N >= len(o.trees[id.Tree].leaves) ||
			id.N < o.act.Unchunked(id.Tree) {
			return err
		}
		content, err = t.chunk(o, id.Tree, id.N)
		return err
	})
	return content, err
}
