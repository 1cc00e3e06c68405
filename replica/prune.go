package replica

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/session"
)

// Errors about what checkpoints cover.
var (
	// ErrPruned reports entries that a checkpoint covers, and that this replica has pruned. A
	// replica that lacks them must take them from another one.
	ErrPruned = session.ErrPruned
	// ErrMismatch reports a checkpoint with another root than that of the state that its entries
	// lead to here. Nothing is pruned by it.
	ErrMismatch = errors.New("the checkpoint does not have the root of the state here: nothing was " +
		"pruned; verify this replica, and compare its root with others to see which is wrong")
)

// pruneStep is how many keys one transaction of Prune looks at.
const pruneStep = 1 << 14

// Prune removes what the last checkpoint makes unnecessary: the entries that it covers, except
// those that are about rights, and what is kept of states for them. It verifies the state of this
// replica against the checkpoint first, and removes nothing if they differ, which is ErrMismatch.
//
// History, and what does not count, is gone for what is covered, and replicas that lack some of it
// cannot take it from here any more: that is ErrPruned. A Prune that did not come to its end is
// continued by the next one.
func (s *Space) Prune() error {
	err := s.verifyHorizon()
	if err == nil {
		err = s.pruneLogs()
	}
	if err == nil {
		err = s.pruneTouches()
	}
	if err == nil {
		err = s.pruneStates()
	}
	return wrap(s.name, err)
}

// inUpdate runs fn in a transaction.
func (s *Space) inUpdate(fn func(t *txn) error) error {
	return s.db.Update(func(tx *stoat.Tx) error {
		t, err := s.in(tx)
		if err == nil {
			err = fn(t)
		}
		return err
	})
}

// verifyHorizon compares the state at the checkpoint with the checkpoint's root, unless it was
// done.
func (s *Space) verifyHorizon() error {
	for {
		hz, key, err := s.compareHorizon()
		if key == "" {
			return err
		}
		if noted, failed := s.noteCompared(hz, key); noted || failed != nil {
			return cmp.Or(failed, err)
		}
	}
}

// compareHorizon compares the state at the horizon with the root of its checkpoint. It returns the
// key under which that is to be noted, empty for nothing.
func (s *Space) compareHorizon() (hz *horizon, key string, err error) {
	verified := false
	err = s.db.View(func(tx *stoat.Tx) error {
		t, err := s.in(tx)
		if err != nil {
			return err
		}
		if hz, err = t.horizonOf(); err != nil || hz == nil {
			return err
		}
		if verified, err = t.pruned(hz); err != nil || verified {
			return err
		}
		if err := t.needless(hz); err != nil {
			return err
		}
		return t.compareRoots(hz)
	})
	switch {
	case errors.Is(err, ErrMismatch):
		key = keyMismatch
	case err == nil && hz != nil && !verified:
		key = keyVerified
	}
	return hz, key, err
}

// needless returns nil if no content is missing of what a horizon covers that this replica holds
// and may read: it could not arrive any more.
func (t *txn) needless(hz *horizon) error {
	wanted, err := t.wantedGaps()
	for h, seq := range wanted {
		if seq < hz.covers[h.number] || h.number == hz.at.log && seq < hz.at.seq {
			return fmt.Errorf("content of log %s is missing: bring the space together with a replica "+
				"that has it, and prune then: %w", h.id, ErrNotHeld)
		}
	}
	return err
}

// checkpointStatus returns the number of checkpoints that count, and whether the root of the last
// one is known not to be that of the state.
func (t *txn) checkpointStatus() (count uint64, mismatch bool, err error) {
	hz, err := t.horizonOf()
	if err != nil || hz == nil {
		return 0, false, err
	}
	p, err := t.meta.Get([]byte(keyMismatch))
	if missing(err) {
		return hz.number, false, nil
	}
	return hz.number, string(p) == string(hz.hash[:]), err
}

// pruned reports whether what a horizon covers may be missing: its root was verified.
func (t *txn) pruned(hz *horizon) (bool, error) {
	if hz == nil {
		return false, nil
	}
	p, err := t.meta.Get([]byte(keyVerified))
	if missing(err) {
		return false, nil
	}
	return string(p) == string(hz.hash[:]), err
}

// unpruned returns ErrPruned if entries may be missing.
func (t *txn) unpruned() error {
	pruned, err := t.hasPruned()
	if pruned {
		err = ErrPruned
	}
	return err
}

// hasPruned reports whether entries may be missing that some checkpoint covers.
func (t *txn) hasPruned() (bool, error) {
	_, err := t.meta.Get([]byte(keyVerified))
	if missing(err) {
		return false, nil
	}
	return err == nil, err
}

// compareRoots returns ErrMismatch unless the state at the horizon is that of its checkpoint, as
// far as this replica has its content.
func (t *txn) compareRoots(hz *horizon) error {
	_, err := t.offer(hz) // which others may ask for next
	return err
}

// pruneLogs prunes the entries of all logs, each in a transaction.
func (s *Space) pruneLogs() error {
	var logs []uint32
	err := s.db.View(func(tx *stoat.Tx) error {
		t, err := s.in(tx)
		if err != nil {
			return err
		}
		hz, err := t.horizonOf()
		if err == nil && hz != nil {
			for log := range hz.covers {
				logs = append(logs, log)
			}
		}
		return err
	})
	acts := &keptActs{}
	for _, log := range logs {
		if err != nil {
			return err
		}
		err = s.inUpdate(func(t *txn) error { return t.pruneLog(log, acts) })
	}
	return err
}

// keptActs is the entries that are about rights, by log, as some transaction has read them: there
// may be as many logs as acts.
type keptActs struct {
	version uint64 // of the rights
	seqs    map[uint32][]uint64
}

// of returns the entries of a log that are about rights.
func (k *keptActs) of(t *txn, log uint32) ([]uint64, error) {
	version, err := t.rightsVersion()
	if err != nil {
		return nil, err
	}
	if k.seqs == nil || k.version != version {
		k.version, k.seqs = version, map[uint32][]uint64{}
		err = t.eachAct(func(at spot) error {
			k.seqs[at.log] = append(k.seqs[at.log], at.seq)
			return nil
		})
	}
	return slices.Clone(k.seqs[log]), err
}

// pruneLog removes the entries of a log that the horizon covers. Those that are about rights stay,
// and of the last one its hash and its time.
func (t *txn) pruneLog(log uint32, acts *keptActs) error {
	hz, err := t.horizonOf()
	if err != nil {
		return err
	}
	if verified, err := t.pruned(hz); err != nil || !verified {
		return err
	}
	end := hz.covers[log]
	keep, err := acts.of(t, log)
	if err != nil {
		return err
	}
	if err := t.keepEvidence(log, keep, end); err != nil {
		return err
	}
	if last := end - 1; last > 0 && !slices.Contains(keep, last) {
		if err := t.stub(spot{log, last}); err != nil {
			return err
		}
	}
	keep = append(keep, 0, end-1)
	slices.Sort(keep)
	for i, seq := range keep[:len(keep)-1] {
		gone := stoat.Range{Start: entryKey(nil, "", log, seq+1),
			End: entryKey(nil, "", log, min(keep[i+1], end-1))}
		if seq+1 >= end-1 || seq+1 >= keep[i+1] {
			continue
		}
		if err := t.entries.DeleteRange(gone); err != nil {
			return err
		}
	}
	for _, prefix := range []string{prefixContext, prefixVector, prefixSeal} {
		to := end
		if prefix == prefixSeal {
			to--
		}
		gone := stoat.Range{Start: entryKey(nil, prefix, log, 0), End: entryKey(nil, prefix, log, to)}
		if err := t.meta.DeleteRange(gone); err != nil {
			return err
		}
	}
	return t.pruneVoid(log, end)
}

// stub keeps the hash and the time of an entry, and nothing else.
func (t *txn) stub(at spot) error {
	time, err := t.timeOf(at)
	if err != nil {
		return err
	}
	hash, err := t.hashOf(at.log, at.seq)
	if err != nil {
		return err
	}
	return t.putStub(at, time, hash)
}

// pruneVoid removes what is noted about void entries of a log.
func (t *txn) pruneVoid(log uint32, end uint64) error {
	noted := stoat.Range{Start: entryKey(nil, prefixVoid, log, 0),
		End: entryKey(nil, prefixVoid, log, end)}
	for key, p := range t.meta.Scan(noted) {
		at, err := spotOf(key[len(prefixVoid):])
		if err != nil {
			return err
		}
		v, err := parseVoided(p)
		if err == nil {
			err = t.putVoided(at.log, at.seq, v, voided{})
		}
		if err != nil {
			return err
		}
	}
	return t.tx.Err()
}

// pruneTouches removes covered entries from the touch index, step by step.
func (s *Space) pruneTouches() error {
	return s.inSteps((*txn).touches,
		func(t *txn, hz *horizon, key []byte) error {
			if len(key) < 16 {
				return nil
			}
			at, err := spotOf(key[len(key)-12:])
			if err == nil && at.seq < hz.covers[at.log] {
				return t.deleteTouch(key)
			}
			return err
		})
}

// pruneStates stores all states in their normal form, step by step.
func (s *Space) pruneStates() error {
	var in *txn
	var c *collection
	return s.inSteps(func(t *txn) (*stoat.Bucket, error) { return t.states, nil },
		func(t *txn, _ *horizon, key []byte) (err error) {
			if len(key) < 4 {
				return nil
			}
			number := binary.BigEndian.Uint32(key)
			if in != t || c.number != number {
				if c, err = t.readable(number); err != nil {
					return err
				}
				in = t
			}
			state, err := t.loadStored(c, key[4:])
			if err == nil && state.forgot {
				err = state.save(state.row)
			}
			return err
		})
}

// readable returns a collection with which states can be saved whose records do not change.
func (t *txn) readable(number uint32) (*collection, error) {
	name, err := t.collectionName(number)
	if err != nil {
		return nil, err
	}
	t.space.mu.Lock()
	c := t.space.collections[name]
	t.space.mu.Unlock()
	if c != nil {
		return c, nil
	}
	return t.reader(name, number)
}

// inSteps calls fn with the keys of a bucket, some in each transaction, as long as there is a
// verified horizon.
func (s *Space) inSteps(
	of func(*txn) (*stoat.Bucket, error), fn func(t *txn, hz *horizon, key []byte) error,
) error {
	next := stoat.Range{Limit: pruneStep}
	for more := true; more; {
		err := s.inUpdate(func(t *txn) error {
			hz, err := t.horizonOf()
			if err != nil {
				return err
			}
			verified, err := t.pruned(hz)
			if more = false; err != nil || !verified {
				return err
			}
			bucket, err := of(t)
			if err != nil {
				return err
			}
			for key := range bucket.Keys(next) {
				if err := fn(t, hz, key); err != nil {
					return err
				}
				more = true
				next.Start = append(append(next.Start[:0:0], key...), 0)
			}
			return t.tx.Err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}
