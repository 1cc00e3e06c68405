package replica

import (
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/merge"
)

// Revision is what one entry did to a record.
type Revision struct {
	EntryID
	Device  DeviceID  // the author of the entry
	Time    time.Time // by the clock of its author
	Deleted bool
	Fields  []FieldChange // none: the record was only created, or deleted
	Void    string        // why it does not count; empty if it does
}

// History returns an iterator over what was done to a record, from the first change on, in the
// order of time. It shows what does not count, too, and not what was pruned. An error ends the
// loop. The cost depends on the number and the size of the entries that touched the record.
func (s *Space) History(
	tx *stoat.Tx, collection string, key record.Key,
) iter.Seq2[*Revision, error] {
	return func(yield func(*Revision, error) bool) {
		t, err := s.in(tx)
		if err == nil {
			v := &Snapshot{t: t}
			err = v.history(collection, key, func(r *Revision) bool { return yield(r, nil) })
			err = v.wrap(collection, err)
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// history calls yield with the revisions of a record until it returns false.
func (v *Snapshot) history(
	collection string, key record.Key, yield func(*Revision) bool,
) error {
	encoded, err := encodeKey(key)
	if err != nil {
		return err
	}
	c, err := v.collection(collection)
	if err != nil {
		return err
	}
	touches, err := v.t.touching(c, encoded)
	if err == nil {
		touches, err = v.t.unprunable(touches)
	}
	if err != nil {
		return err
	}
	stamps, err := v.t.byTime(touches)
	if err != nil {
		return err
	}
	for _, at := range stamps {
		r, err := v.t.revision(collection, encoded, at)
		if err != nil {
			return err
		}
		if !yield(r) {
			return nil
		}
	}
	return nil
}

// unprunable returns the entries that stay when a Prune ends that has begun. If that was by an
// earlier checkpoint than the last one, it returns all that are left.
func (t *txn) unprunable(touches []spot) ([]spot, error) {
	hz, err := t.horizonOf()
	if err != nil || hz == nil {
		return touches, err
	}
	all, err := t.pruned(hz)
	if err != nil {
		return nil, err
	}
	some, err := t.hasPruned()
	return slices.DeleteFunc(touches, func(at spot) bool {
		return hz.includes(at) && (all || some && !t.isLeft(at))
	}), err
}

// isLeft reports whether an entry that touches a record was not pruned. A stub is no data entry.
func (t *txn) isLeft(at spot) bool {
	e, err := t.entry(at.log, at.seq)
	return !errors.Is(err, ErrPruned) && (err != nil || e.Kind == entry.KindData)
}

// revision returns what an entry did to a record, which it touches.
func (t *txn) revision(collection string, key []byte, at merge.Stamp) (*Revision, error) {
	h, err := t.head(at.Log)
	if err != nil {
		return nil, err
	}
	e, changes, err := t.changesOf(at.Log, at.Seq)
	if err != nil {
		return nil, err
	}
	void, reason, err := t.void(h, at.Seq, e)
	if err != nil {
		return nil, err
	}
	r := &Revision{EntryID: EntryID{LogID(h.id), at.Seq}, Device: h.device, Time: at.Time.Time()}
	for i, c := range changes {
		if e.Parts[i].Group != collection {
			continue
		}
		if void.has(i) {
			r.Void = reason.Error()
		}
		change := c.Record(key)
		r.Deleted = change.Delete
		for j := range change.Ops {
			f, err := fieldChange(c.Fields[change.Ops[j].Field], &change.Ops[j])
			if err != nil {
				return nil, err
			}
			r.Fields = append(r.Fields, f)
		}
	}
	return r, nil
}
