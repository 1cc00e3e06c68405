package replica

import (
	"bytes"
	"maps"
	"slices"

	"github.com/stoatdb/stoat/replica/internal/entry"
)

// Replicas can go by different checkpoints. Two that follow the same one can both be decided if no
// device has a say in both, or if those that have forked their logs. And a replica that learns of a
// fork before a checkpoint is decided may not go by one that others have decided: what the forked
// log says does not count here. A replica does not leave a checkpoint by which it goes. It notices
// the other one by the next checkpoint that follows that, or because what it covers is void here.

// wasDecided reports whether this replica has gone by a checkpoint. A zero hash stands for none.
func (t *txn) wasDecided(hash entry.Hash) (bool, error) {
	if hash == (entry.Hash{}) {
		return true, nil
	}
	return t.meta.Has(append([]byte(prefixDecided), hash[:]...))
}

// noteDecided notes that this replica goes by what follows a checkpoint.
func (t *txn) noteDecided(hash entry.Hash) error {
	return t.meta.Put(append([]byte(prefixDecided), hash[:]...), nil)
}

// maySplit reports whether a log of a device with the right to make checkpoints is cut: what others
// go by may be behind that.
func (t *txn) maySplit() (may bool, err error) {
	v, err := t.rights()
	if err != nil {
		return false, err
	}
	for h, err := range t.eachHead() {
		if err != nil {
			return false, err
		}
		may = may || h.cut > 0 && (v.tree.IsRoot(h.device) || v.holds(h.device))
	}
	return may, v.err
}

// split returns the devices that go by other checkpoints than this replica: those whose checkpoint
// follows one that is not decided here, though all is here that it has seen, and those whose
// checkpoint all others agree to and is not valid here, because it covers entries behind a fork.
func (t *txn) split() ([]DeviceID, error) {
	all, err := t.candidates()
	if err != nil || len(all) == 0 {
		return nil, err
	}
	hz, err := t.horizonOf()
	if err != nil {
		return nil, err
	}
	v, err := t.rights()
	if err != nil {
		return nil, err
	}
	e := &election{t: t, all: all, before: hz}
	devices := map[DeviceID]bool{}
	for _, c := range all {
		at := entry.Head{Log: c.author.id, Seq: c.at.seq}
		if c.author.voids(c.at.seq) ||
			!v.tree.Holds(c.author.device, at, entry.RightCheckpoint, v) {
			continue
		}
		decided, err := t.wasDecided(c.act.Before)
		if err == nil && decided {
			if decided, err = e.coversVoid(c); err == nil {
				decided = !decided
			}
		}
		if err != nil {
			return nil, err
		}
		if !decided {
			devices[c.author.device] = true
		}
	}
	return slices.SortedFunc(maps.Keys(devices), func(a, b DeviceID) int {
		return bytes.Compare(a[:], b[:])
	}), v.err
}

// coversVoid reports whether a checkpoint that follows the horizon, and that nobody has voted
// against, covers entries that are void here because their log has forked.
func (e *election) coversVoid(c *candidate) (bool, error) {
	if e.before == nil && c.act.Before != (entry.Hash{}) ||
		e.before != nil && c.act.Before != e.before.hash || c.open() {
		return false, nil
	}
	void := false
	for _, l := range c.act.Logs {
		number, known, err := e.t.logNumber(l.Log)
		if err != nil || !known {
			return false, err
		}
		h, err := e.t.head(number)
		if err != nil {
			return false, err
		}
		void = void || h.voids(l.Count-1)
	}
	if !void {
		return false, nil
	}
	refused, err := e.refused(c, spot{})
	return !refused, err
}
