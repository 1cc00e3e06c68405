package replica

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/session"
)

// errOlder reports a checkpoint that is older than one that is known.
var errOlder = errors.New("the peer's checkpoint is older than one that this replica knows: take " +
	"the newer one, from the replica that has it")

// errCheckpointAhead reports a checkpoint that has to wait, as other entries do.
var errCheckpointAhead = errors.New("the peer's checkpoint is more than five minutes ahead of " +
	"the clock of this device: set the clock, or start with another checkpoint")

// mayStart returns why this replica cannot start with a checkpoint that a device offers, or nil.
func (t *txn) mayStart(st *start, from DeviceID) (reason, err error) {
	hz, err := t.horizonOf()
	if err != nil {
		return nil, err
	}
	if hz == nil || hz.hash != st.hash {
		if reason, err = t.mayTake(st, from); reason != nil || err != nil {
			return reason, err
		}
		if reason, err = t.mayNotHaveMade(st); reason != nil || err != nil {
			return reason, err
		}
	}
	if st.proven[0].Acts[0].Entry.Time.Ahead(t.space.time()) {
		return errCheckpointAhead, nil
	}
	takes, err := t.choose(st)
	if err != nil {
		return nil, err
	}
	if !takes {
		return errOlder, nil
	}
	if older, err := t.isOlder(st.act, hz); err != nil {
		return nil, err
	} else if older {
		return errOlder, nil
	}
	lacks, err := t.lacksCovered(st.act)
	if err == nil && !lacks {
		lacks, err = t.voidsStart(st)
	}
	if err != nil || !lacks {
		return session.ErrNeedless, err
	}
	return nil, nil
}

// isOlder reports whether a checkpoint leaves out something that the horizon covers, which may be
// nil, or that the one covers of which chunks are staged.
func (t *txn) isOlder(act *entry.Checkpoint, hz *horizon) (bool, error) {
	counts := map[entry.Hash]uint64{}
	for _, l := range act.Logs {
		counts[l.Log] = l.Count
	}
	if hz != nil {
		for log, n := range hz.covers {
			h, err := t.head(log)
			if err != nil || counts[h.id] < n {
				return true, err
			}
		}
	}
	begun, err := t.begun()
	if err != nil || begun == nil {
		return false, err
	}
	return slices.ContainsFunc(begun.act.Logs, func(l entry.CoveredLog) bool {
		return counts[l.Log] < l.Count
	}), nil
}

// voidsStart reports whether the entry of a checkpoint by which this replica does not go is behind
// the fork of its log, or another one is in its place: the checkpoint cannot be decided here.
func (t *txn) voidsStart(st *start) (bool, error) {
	hz, err := t.horizonOf()
	if err != nil || hz != nil && hz.hash == st.hash {
		return false, err
	}
	number, known, err := t.logNumber(st.at.Log)
	if err != nil || !known {
		return false, err
	}
	h, err := t.head(number)
	if err != nil || h.voids(st.at.Seq) || st.at.Seq >= h.next {
		return err == nil && h.voids(st.at.Seq), err
	}
	hash, err := t.hashOf(number, st.at.Seq)
	return err == nil && hash != st.hash, unlessPruned(err)
}

// lacksCovered reports whether this replica lacks entries that a checkpoint covers, or content that
// the state there has. What is behind the cut of a log may be another branch than what is covered.
func (t *txn) lacksCovered(act *entry.Checkpoint) (bool, error) {
	if unfilled, err := t.unfilled(); err != nil || unfilled != "" {
		return true, err
	}
	wanted, err := t.wantedGaps()
	if err != nil {
		return false, err
	}
	for i := range act.Logs {
		l := &act.Logs[i]
		number, known, err := t.logNumber(l.Log)
		if err != nil || !known {
			return true, err
		}
		h, err := t.head(number)
		if err != nil || h.next < l.Count || h.voids(l.Count-1) {
			return true, err
		}
		if gap, ok := wanted[h]; ok && gap < l.Count {
			return true, nil
		}
		hash, err := t.hashOf(number, l.Count-1)
		if err = unlessPruned(err); err != nil || hash != l.Hash && hash != (entry.Hash{}) {
			return true, err // the install says that it is another branch
		}
	}
	return false, nil
}

// errInPart is why a replica does not start from a checkpoint that is offered in part.
var errInPart = fmt.Errorf("the peer does not give all collections that this replica holds at "+
	"its checkpoint: bring the replica together with one that does: %w", ErrNotHeld)

// choose leaves those subtrees of an offer that this replica takes: of a checkpoint by which it
// does not go yet, the logs and the collections that it holds; of the horizon, the collections
// whose state is missing. It reports whether there is anything to be taken.
func (t *txn) choose(st *start) (any bool, err error) {
	hz, err := t.horizonOf()
	if err != nil {
		return false, err
	}
	held, err := t.held()
	if err != nil {
		return false, err
	}
	var unfilled map[string]uint32
	fills := hz != nil && hz.hash == st.hash
	if fills {
		if _, mismatch, err := t.checkpointStatus(); err != nil || mismatch {
			return false, err
		}
		if unfilled, err = t.missingAt(hz); err != nil {
			return false, err
		}
	}
	st.trees = slices.Clone(st.trees)
	empty := len(unfilled) // of these, how many have no subtree
	for i := range st.act.Chunks {
		name := st.act.Chunks[i].Collection
		_, lacking := unfilled[name]
		if lacking {
			empty--
		}
		if fills && !lacking || name != "" && !held.has(name) {
			st.trees[i] = nil
		}
		any = any || len(st.trees[i]) > 0
	}
	return any || empty > 0, nil
}

// mayTake returns why this replica cannot start with the subtrees of an offer by a device, or nil.
// The device is zero if nobody knows it. It is believed about what this one may read, except by a
// root, as in needs: acts that the offer does not have may say so.
func (t *txn) mayTake(st *start, from DeviceID) (reason, err error) {
	own, err := t.ownHead()
	if err != nil {
		return nil, err
	}
	held, err := t.held()
	if err != nil {
		return nil, err
	}
	root := st.tree.IsRoot(own.device)
	if !root && from != (DeviceID{}) && st.tree.Now(from, anyRight, "") {
		return nil, nil
	}
	for i := range st.act.Chunks {
		name := st.act.Chunks[i].Collection
		if len(st.trees[i]) == 0 && held.has(name) &&
			(root || st.tree.Now(own.device, entry.RightRead, name)) {
			return fmt.Errorf("collection %q: %w", name, errInPart), nil
		}
	}
	return nil, nil
}
