package replica

import (
	"maps"
	"slices"
)

// lost is entries that others may have seen only through those of a log that a cut makes void. What
// happened before what differs in pairs with one of them alone, or with a void entry. So the
// records that they touch are replayed, and not all that was written since: a device can send ever
// lower proofs, and what each of them replays is disjoint.
type lost struct {
	log    uint32 // that is cut
	before vector // of the last entry that counted
	after  vector // of the last one that counts
}

// lostAt returns what is lost when a log is cut at an entry, which has counted. Call it before.
func (t *txn) lostAt(h *head, cut uint64) (l *lost, err error) {
	l = &lost{log: h.number}
	if l.before, err = t.vectorOf(spot{h.number, h.last()}); err != nil {
		return nil, err
	}
	l.after, err = t.vectorOf(spot{h.number, cut - 1})
	return l, err
}

// has reports whether an entry is lost, or void. If it is not known what is lost, any may be.
func (l *lost) has(at spot) bool {
	return l == nil || l.after[at.log] <= at.seq && at.seq < l.before[at.log]
}

// replay replays what is lost. The log itself is replayed by who cuts it.
func (l *lost) replay(t *txn) error {
	for _, log := range slices.Sorted(maps.Keys(l.before)) {
		if log == l.log || l.after[log] >= l.before[log] {
			continue
		}
		if err := t.replayEntries(log, l.after[log], l.before[log]); err != nil {
			return err
		}
	}
	return nil
}
