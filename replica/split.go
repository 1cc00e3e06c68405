package replica

import (
	"bytes"
	"maps"
	"slices"

	"github.com/stoatdb/stoat/replica/internal/entry"
)

// Two checkpoints that follow the same one can both be decided if no device has a say in both, or
// if a device cheats with its votes. A replica goes by the one that it has learned of first, and
// does not leave it. It notices the other one by the next checkpoint that follows that.

// wasDecided reports whether this replica has gone by a checkpoint. A zero hash stands for none.
func (t *txn) wasDecided(hash entry.Hash) (bool, error) {
	if hash == (entry.Hash{}) {
		return true, nil
	}
	return t.meta.Has(append([]byte(prefixDecided), hash[:]...))
}

// split returns the devices that go by other checkpoints than this replica.
func (t *txn) split() ([]DeviceID, error) {
	all, err := t.candidates()
	if err != nil || len(all) == 0 {
		return nil, err
	}
	hz, err := t.horizonOf()
	if err != nil || hz == nil {
		return nil, err
	}
	v, err := t.rights()
	if err != nil {
		return nil, err
	}
	byHash := map[entry.Hash]*candidate{}
	for _, c := range all {
		byHash[c.hash] = c
	}
	devices := map[DeviceID]bool{}
	for _, c := range all {
		decided, err := t.wasDecided(c.act.Before)
		if err != nil {
			return nil, err
		}
		before := byHash[c.act.Before]
		for before != nil && before.act.Before != hz.hash {
			before = byHash[before.act.Before]
		}
		at := entry.Head{Log: c.author.id, Seq: c.at.seq}
		if !decided && before == nil && !c.author.voids(c.at.seq) &&
			v.tree.Holds(c.author.device, at, entry.RightCheckpoint, v) {
			devices[c.author.device] = true
		}
	}
	return slices.SortedFunc(maps.Keys(devices), func(a, b DeviceID) int {
		return bytes.Compare(a[:], b[:])
	}), v.err
}
