package replica

import (
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/merge"
)

// leaveLate begins a new log if the own one is late, and makes the changes again that do not count
// any more. Records that were deleted meanwhile stay deleted, and a deletion does not remove what
// it has not seen.
func (t *txn) leaveLate(hz *horizon) error {
	if t.space.device == nil {
		return nil
	}
	own, err := t.ownHead()
	if err != nil || own.late == 0 || own.device != t.space.device.ID() {
		return err
	}
	old := *own
	var wanted []*entry.Entry
	for seq := old.late; seq < old.next; seq++ {
		e, err := t.entry(old.number, seq)
		if err != nil {
			return err
		}
		if e.Kind != entry.KindData {
			continue
		}
		again := &entry.Entry{Kind: entry.KindData, Origin: e.Origin}
		if again.Parts, err = t.stillWanted(e.Parts, spot{old.number, seq}, hz); err != nil {
			return err
		}
		if len(again.Parts) == 0 {
			continue
		}
		if again.Origin == nil {
			hash, err := t.hashOf(old.number, seq)
			if err != nil {
				return err
			}
			again.Origin = &entry.Last{Head: entry.Head{Log: old.id, Seq: seq}, Hash: hash}
		}
		wanted = append(wanted, again)
	}
	if err := t.seal(old.next); err != nil { // later entries name these, so others need them
		return err
	}
	if err := t.beginLog(); err != nil {
		return err
	}
	for _, e := range wanted {
		next, err := t.nextOwn()
		if err == nil {
			err = t.place(next, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stillWanted returns the parts of a late entry without the changes that would undo what the
// checkpoint covers.
func (t *txn) stillWanted(parts []entry.Part, at spot, hz *horizon) ([]entry.Part, error) {
	var wanted []entry.Part
	for _, part := range parts {
		changes, err := entry.ParseChanges(part.Data)
		if err != nil {
			return nil, err
		}
		number, err := t.collectionNumber(part.Group)
		if err != nil {
			return nil, err
		}
		kept := changes.Records[:0:0]
		for _, r := range changes.Records {
			ok, err := t.wanted(number, &r, at, hz)
			if err != nil {
				return nil, err
			}
			if ok {
				kept = append(kept, r)
			}
		}
		if changes.Records = kept; len(kept) > 0 {
			changes.DropUnused()
			wanted = append(wanted, entry.Part{Group: part.Group, Data: changes.Append(nil)})
		}
	}
	return wanted, nil
}

// wanted reports whether a change by a late entry is made again.
func (t *txn) wanted(collection uint32, change *entry.Record, at spot, hz *horizon) (bool, error) {
	base, err := t.storedBase(hz.number, collection, change.Key)
	if err != nil {
		return false, err
	}
	touches, err := t.indexed(nil, collection, change.Key)
	if err != nil {
		return false, err
	}
	before, err := t.pastOf(at)
	if err != nil {
		return false, err
	}
	existed, unseen := false, false // what the checkpoint covers: a change, one that was not seen
	for _, s := range touches {
		if !hz.covers.covered(merge.Stamp{Log: s.log, Seq: s.seq, Time: 1}) {
			continue
		}
		time, err := t.timeOf(s)
		if err != nil {
			return false, err
		}
		seen, err := before.has(s, time)
		if err != nil {
			return false, err
		}
		existed, unseen = true, unseen || !seen
	}
	if change.Delete {
		return !unseen, nil
	}
	return !existed || base == nil || len(base.Alive) > 0, nil
}
