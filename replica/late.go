package replica

import (
	"errors"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/merge"
)

// leaveLate begins a new log if the own one is late, and makes the changes again that do not count
// any more. Records that were deleted meanwhile stay deleted, and a deletion does not remove what
// it has not seen. Changed says of records, see changedKey, whether the checkpoint covers changes
// of them that are not here.
func (t *txn) leaveLate(changed map[string]bool) error {
	hz, err := t.horizonOf()
	if err != nil || hz == nil || t.space.device == nil {
		return err
	}
	own, err := t.ownHead()
	if err != nil || own.late == 0 || own.device != t.space.device.ID() {
		return err
	}
	old := *own
	var wanted []*entry.Entry
	for seq := old.late; seq < old.next; seq++ {
		o, err := t.orphan(&old, seq)
		if err != nil {
			return err
		}
		if o.entry.Kind != entry.KindData {
			continue
		}
		again := &entry.Entry{Kind: entry.KindData, Origin: &o.origin}
		if again.Parts, err = t.stillWanted(o, spot{old.number, seq}, hz, changed); err != nil {
			return err
		}
		if len(again.Parts) > 0 {
			wanted = append(wanted, again)
		}
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
// checkpoint covers, and without parts that count elsewhere.
func (t *txn) stillWanted(
	o *orphan, at spot, hz *horizon, changed map[string]bool,
) ([]entry.Part, error) {
	var wanted []entry.Part
	for i := range o.entry.Parts {
		part := &o.entry.Parts[i]
		done, err := t.countsElsewhere(&o.origin, part)
		if err != nil {
			return nil, err
		}
		if done || part.Withheld != nil {
			continue
		}
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
			if ok && !(r.Delete && changed[changedKey(number, r.Key)]) {
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

// countsElsewhere reports whether a part counts in an origin that the horizon covers, or in any
// repeat. A repeat of what the device has seen repeated would count besides it, once the next
// checkpoint covers only one of them.
func (t *txn) countsElsewhere(origin *entry.Last, part *entry.Part) (bool, error) {
	done, err := t.settledElsewhere(origin, part)
	if err == nil && !done {
		done, err = t.repeated(origin, part)
	}
	return done, err
}

// wanted reports whether a change by a late entry is made again.
func (t *txn) wanted(collection uint32, change *entry.Record, at spot, hz *horizon) (bool, error) {
	if unfilled, err := t.isUnfilled(collection); err != nil || unfilled {
		return !change.Delete, err // nobody here knows what the checkpoint covers
	}
	c, err := t.readable(collection)
	if err != nil {
		return false, err
	}
	base, _, err := t.base(c, change.Key)
	if err != nil {
		return false, err
	}
	touches, err := t.indexed(collection, change.Key)
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
		counted, err := t.counted(s, c.name)
		if err != nil {
			return false, err
		}
		if !counted {
			continue
		}
		existed = true
		time, err := t.timeOf(s)
		if errors.Is(err, ErrPruned) {
			continue // the caller has found out what was not seen: see compareDeleted
		}
		if err != nil {
			return false, err
		}
		seen, err := before.has(s, time)
		if err != nil {
			return false, err
		}
		unseen = unseen || !seen
	}
	if change.Delete {
		return !unseen, nil
	}
	return !existed || len(base.Alive) > 0, nil
}

// counted reports whether an entry counts about a collection, as far as that is known: what was
// pruned does.
func (t *txn) counted(at spot, collection string) (bool, error) {
	v, err := t.voided(at.log, at.seq)
	if err != nil || v.parts() == 0 {
		return err == nil, err
	}
	e, err := t.entry(at.log, at.seq)
	if err != nil {
		return true, unlessPruned(err)
	}
	for i := range e.Parts {
		if e.Parts[i].Group == collection && !v.parts().has(i) {
			return true, nil
		}
	}
	return false, nil
}

// forgetVoid removes from the touch index what does not count of the entries that the checkpoint
// covers, as long as they are here: wanted would take it for changes.
func (in *installation) forgetVoid() error {
	t := in.t
	return t.eachVoid(func(at spot, v *voided) (bool, error) {
		if at.seq >= in.next.covers[at.log] {
			return true, nil
		}
		e, changes, err := t.changesOf(at.log, at.seq)
		if err != nil {
			return true, unlessPruned(err)
		}
		for i := range changes {
			if !v.parts().has(i) {
				changes[i] = &entry.Changes{}
			}
		}
		return true, t.unindex(at.log, at.seq, e.Parts, changes)
	})
}
