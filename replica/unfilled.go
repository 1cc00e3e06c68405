package replica

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"

	"github.com/stoatdb/stoat"
)

// A collection is unfilled if its state at the checkpoint is not here: this replica has started
// without it, or lacks content of entries that were pruned. Then no entries can complete it, but
// the subtree of the collection at the checkpoint can: see filler. What is stored as its states
// means nothing, and its gaps are behind the horizon.

// unfilledMark is the value of the key "withheld" u32 of a collection that is unfilled.
const unfilledMark = 1

// isUnfilled reports whether the state of a collection at the checkpoint is missing.
func (t *txn) isUnfilled(collection uint32) (bool, error) {
	p, err := t.meta.Get(keyed(nil, prefixWithheld, collection))
	if missing(err) {
		return false, nil
	}
	return len(p) > 0 && p[0] == unfilledMark, err
}

// setUnfilled notes that the state of a collection at the checkpoint is missing.
func (t *txn) setUnfilled(name string, number uint32) error {
	if err := t.setLacking(name, number, true); err != nil {
		return err
	}
	return t.meta.Put(keyed(nil, prefixWithheld, number), []byte{unfilledMark})
}

// passHorizon moves the gaps behind a horizon. The collections that have gaps before it are
// unfilled from now on: what it covers cannot arrive any more.
func (t *txn) passHorizon(covers vector) error {
	lacks, err := t.lacks()
	if err != nil {
		return err
	}
	passed := map[uint32]map[string]uint32{} // by log
	for name, number := range lacks {
		err := t.eachGap(number, func(h *head, seq uint64) error {
			if seq >= covers[h.number] {
				return nil
			}
			if passed[h.number] == nil {
				passed[h.number] = map[string]uint32{}
			}
			passed[h.number][name] = number
			return nil
		})
		if err != nil {
			return err
		}
	}
	for log, collections := range passed {
		h, err := t.head(log)
		if err == nil {
			err = t.narrow(h, collections, covers[log])
		}
		if err != nil {
			return err
		}
		for name, number := range collections {
			if err := t.setUnfilled(name, number); err != nil {
				return err
			}
		}
	}
	return nil
}

// missingAt returns the collections whose state at the horizon is not here, with their numbers.
func (t *txn) missingAt(hz *horizon) (map[string]uint32, error) {
	lacks, err := t.lacks()
	if err != nil {
		return nil, err
	}
	all := map[string]uint32{}
	for name, number := range lacks {
		is, err := t.isMissingAt(number, hz)
		if err != nil {
			return nil, err
		}
		if is {
			all[name] = number
		}
	}
	return all, nil
}

// isMissingAt reports whether the state of a collection at the horizon is not here.
func (t *txn) isMissingAt(number uint32, hz *horizon) (is bool, err error) {
	if is, err = t.isUnfilled(number); err != nil || is {
		return is, err
	}
	err = t.eachGap(number, func(h *head, seq uint64) error {
		is = is || seq < hz.covers[h.number]
		return nil
	})
	return is, err
}

// Unfilled implements session.Space.
func (e endpoint) Unfilled() (named string, err error) {
	err = e.view(func(t *txn) error {
		named, err = t.unfilled()
		return err
	})
	return named, err
}

// unfilled names the horizon and the unfilled collections that this replica wants, or is "".
func (t *txn) unfilled() (string, error) {
	hz, err := t.horizonOf()
	if err != nil || hz == nil {
		return "", err
	}
	lacks, err := t.lacks()
	if err != nil {
		return "", err
	}
	named := sha256.New()
	named.Write(hz.hash[:])
	some := false
	for _, name := range slices.Sorted(maps.Keys(lacks)) {
		is, err := t.isUnfilled(lacks[name])
		if err == nil && is {
			is, err = t.wants(name)
		}
		if err != nil {
			return "", err
		}
		if is {
			some = true
			named.Write(append([]byte(name), 0))
		}
	}
	if !some {
		return "", nil
	}
	return hex.EncodeToString(named.Sum(nil)), nil
}

// noteMismatch notes that the state here is not that of the horizon.
func (t *txn) noteMismatch() error {
	hz, err := t.horizonOf()
	if err == nil && hz != nil {
		err = t.meta.Put([]byte(keyMismatch), hz.hash[:])
	}
	return err
}

// noteVerified notes that the state here is that of the horizon, so that what it covers may be
// removed.
func (t *txn) noteVerified(hz *horizon) error {
	return errors.Join(t.meta.DeleteRange(stoat.Prefix([]byte(prefixHorizons))),
		t.meta.Put([]byte(keyVerified), hz.hash[:]), t.passHorizon(hz.covers))
}

// noteCompared notes what comparing a horizon has shown, unless there is another one by now.
func (s *Space) noteCompared(hz *horizon, key string) (noted bool, err error) {
	err = s.inUpdate(func(t *txn) error {
		now, err := t.horizonOf()
		if err != nil || now == nil || now.hash != hz.hash {
			return err
		}
		noted = true
		if key == keyVerified {
			return t.noteVerified(hz)
		}
		return t.meta.Put([]byte(key), hz.hash[:])
	})
	return noted, err
}
