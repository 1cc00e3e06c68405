package replica

import (
	"errors"
	"fmt"
	"math"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/rights"
)

// mayHaveMade returns an error unless the device that made a checkpoint had the right to, by the
// grants that are proven. A revocation may have been left out: see mayNotHaveMade.
func (s *Space) mayHaveMade(st *start) error {
	s.mu.Lock()
	about := s.about
	s.mu.Unlock()
	if about == nil {
		return errUndescribed
	}
	st.tree = treeOf(about, st.facts())
	switch {
	case st.authorised(st.tree):
		return nil
	case st.tree.Quorum() > 1:
		return st.unagreed()
	}
	return invalid("the checkpoint of log %s, entry %d, is by a device without the right to make it",
		st.at.Log, st.at.Seq)
}

// errQuorum is why a space with a quorum needs all entries.
var errQuorum = errors.New("the peer's offer does not prove that enough roots agree")

// unagreed returns the errQuorum that says what is missing. Votes are not enough: a vote is an
// entry that has seen the checkpoint, and does not say that its state is right.
func (st *start) unagreed() error {
	why := errors.New("it has no grant of Checkpoint")
	for g := range st.tree.To(st.proven[0].Device) {
		if g.Act.Grant.Right&entry.RightCheckpoint != 0 && g.Why() != nil {
			why = fmt.Errorf("of its grant of Checkpoint, %w", g.Why())
		}
	}
	return fmt.Errorf("%w to a checkpoint by the device %s: %w; take all entries from a replica that "+
		"has not pruned them, or start with a checkpoint by a device to which %d roots have granted "+
		"Checkpoint", errQuorum, DeviceID(st.proven[0].Device), why, st.tree.Quorum())
}

// treeOf returns the rights by acts.
func treeOf(about *entry.Space, facts []*rights.Fact) *rights.Tree {
	tree := rights.New(about)
	for _, f := range facts {
		_, _ = tree.Add(f, actsAlone{}) // one that does not hold has no effect
	}
	return tree
}

// authorised reports whether the author of a checkpoint has the right to make it, without the votes
// of others: where roots have to agree, a root needs a grant as any other device does.
func (st *start) authorised(tree *rights.Tree) bool {
	device := st.proven[0].Device
	return tree.Quorum() == 1 && tree.IsRoot(device) ||
		tree.Granted(device, st.at, entry.RightCheckpoint, actsAlone{})
}

// mayNotHaveMade returns why a checkpoint is by a device without the right to make it, by the acts
// that are known here besides the proven ones, or nil: the device may leave out its revocation.
func (t *txn) mayNotHaveMade(st *start) (reason, err error) {
	v, err := t.rights()
	if err != nil {
		return nil, err
	}
	all := st.facts()
	proven := map[entry.Head]bool{}
	for _, f := range all {
		proven[f.At] = true
	}
	err = t.eachAct(func(at spot) error {
		f, err := t.factAt(at)
		if err == nil && !proven[f.At] && v.tree.Why(f, v) == nil {
			all = append(all, f)
		}
		return err
	})
	if err == nil {
		err = v.err
	}
	if err != nil {
		return nil, err
	}
	sortFacts(all)
	t.space.mu.Lock()
	about := t.space.about
	t.space.mu.Unlock()
	if st.authorised(treeOf(about, all)) {
		return nil, nil
	}
	return fmt.Errorf("the device %s has made the peer's checkpoint after its right to do so was "+
		"revoked: take a checkpoint of another device, or all entries, from another replica",
		DeviceID(st.proven[0].Device)), nil
}

// facts returns the proven acts by time.
func (st *start) facts() []*rights.Fact {
	var all []*rights.Fact
	for _, p := range st.proven {
		for i := range p.Acts {
			if a := &p.Acts[i]; a.Act != nil {
				all = append(all, &rights.Fact{At: a.At, Hash: a.Hash, Time: a.Entry.Time,
					Device: p.Device, Act: a.Act})
			}
		}
	}
	sortFacts(all)
	return all
}

// actsAlone answers what a rights.Tree asks for somebody who knows acts and nothing else.
type actsAlone struct{}

func (actsAlone) First(entry.Hash, entry.Head) (seq uint64, ok bool) { return 0, true }
func (actsAlone) Cut(entry.Hash) uint64                              { return math.MaxUint64 }
func (actsAlone) Hash(entry.Head) (hash entry.Hash, ok bool)         { return hash, false }
