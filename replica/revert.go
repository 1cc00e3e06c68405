package replica

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/merge"
)

// Filter selects entries. Fields with zero values select all; an entry is selected if all fields
// select it.
type Filter struct {
	Collection string
	Key        record.Key // of one record of the collection
	Log        LogID
	Device     DeviceID  // the author
	From, To   time.Time // from one time to before another one, by the clocks of the authors
}

// Reverted is what [Space.Revert] did.
type Reverted struct {
	Records int // that changed
	Entries int // that were made for that
	Stayed  int // maxima and minima that would be others without the selected entries
}

// Revert takes back what the selected entries did: every record that they touched shows what it
// would show without them, with everything else that was ever done to it. Nothing is erased. The
// changes are new entries of this replica, several if there are many, which [Space.History] shows
// and which can be reverted in turn. What was added to a sum is taken back each time that Revert is
// called. A maximum and a minimum stay: the greatest of all values that were ever written counts,
// so no entry can make it less. Let no device write what it must not: see [Scope.Fields].
//
// After an error, nothing is taken back: if some of it was already, the transaction cannot commit.
func (s *Space) Revert(tx *stoat.Tx, f Filter) (Reverted, error) {
	key, err := f.check()
	if err != nil {
		return Reverted{}, wrap(s.name, err)
	}
	if err := s.confine(tx); err != nil {
		return Reverted{}, err
	}
	t, err := s.in(tx)
	if err != nil {
		return Reverted{}, wrap(s.name, err)
	}
	r := &reversal{t: t, filter: f, key: key}
	if err := t.allOrNone(r.run); err != nil {
		return Reverted{}, wrap(s.name, err)
	}
	return r.done, nil
}

// check returns an error if the filter selects nothing in particular, and the bytes of the key.
func (f *Filter) check() (key []byte, err error) {
	switch {
	case f.Key != nil && f.Collection == "":
		return nil, errors.New("the filter has a key without a collection: name the collection")
	case f.Key != nil:
		if key, err = encodeKey(f.Key); err == nil && len(key) == 0 {
			err = errors.New("the key of the filter is empty: it would revert the whole collection")
		}
		return key, err
	case f.Collection == "" && f.Log == LogID{} && f.Device == DeviceID{} && f.From.IsZero() &&
		f.To.IsZero():
		return nil, errors.New("the filter is empty: it would revert everything")
	}
	return nil, nil
}

// reversal is one call of Revert.
type reversal struct {
	t      *txn
	filter Filter
	key    []byte // of the filter, or nil
	done   Reverted
	failed error // of a lookup
}

// run reverts in two passes: it marks the records that the selected entries touch, and computes
// each of them with and without these entries.
func (r *reversal) run() error {
	t := r.t
	err := t.wholeSpace()
	if name := r.filter.Collection; name != "" {
		if err = t.whole(name); err == nil {
			_, err = t.number(prefixCollection + name)
		}
		if missing(err) {
			err = fmt.Errorf("collection %q: %w", name, t.unknown())
		}
	}
	if err == nil {
		err = t.indexTails()
	}
	if err != nil {
		return err
	}
	marks := stoat.Prefix([]byte(prefixRevert))
	if err = r.mark(); err == nil {
		err = r.revertMarked(marks)
	}
	return cmp.Or(err, t.meta.DeleteRange(marks))
}

// mark marks the records that the selected entries touch.
func (r *reversal) mark() error {
	for h, err := range r.t.eachHead() {
		if err == nil && r.selectsLog(h) {
			err = r.markLog(h)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// revertMarked makes entries for the records that are marked.
func (r *reversal) revertMarked(marks stoat.Range) error {
	t := r.t
	names, err := t.collectionNames()
	if err != nil {
		return err
	}
	var is, was *fold
	for key := range t.meta.Keys(marks) {
		key = key[len(prefixRevert):]
		number := binary.BigEndian.Uint32(key)
		if is == nil || is.c.number != number || is.full() {
			if err := r.revert(is, was); err != nil {
				return err
			}
			c, err := t.reader(names[number], number)
			if err != nil {
				return err
			}
			is, was = &fold{t: t, c: c}, &fold{t: t, c: c, counts: r.keeps}
		}
		touches, err := t.indexed(number, key[4:])
		if err == nil {
			err = errors.Join(is.add(key[4:], touches), was.add(key[4:], touches))
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(t.tx.Err(), r.revert(is, was))
}

// selectsLog reports whether the filter selects entries of a log.
func (r *reversal) selectsLog(h *head) bool {
	f := &r.filter
	return (f.Log == LogID{} || f.Log == LogID(h.id)) &&
		(f.Device == DeviceID{} || f.Device == h.device)
}

// keeps reports whether the filter does not select an entry of the collection.
func (r *reversal) keeps(at merge.Stamp) bool {
	h, err := r.t.head(at.Log)
	if err != nil {
		r.failed = err
		return true
	}
	f, time := &r.filter, at.Time.Time()
	return !r.selectsLog(h) || time.Before(f.From) || !f.To.IsZero() && !time.Before(f.To)
}

// markLog marks the records that the selected entries of a log touch.
func (r *reversal) markLog(h *head) error {
	t, f := r.t, &r.filter
	var failed error
	first := func(from time.Time) uint64 {
		return uint64(sort.Search(int(h.last()+1), func(seq int) bool {
			at, err := t.timeOf(spot{h.number, uint64(seq)})
			failed = errors.Join(failed, err)
			return !at.Time().Before(from)
		}))
	}
	seq, to := first(f.From), h.last()+1 // what is void need not be taken back
	if !f.To.IsZero() {
		to = first(f.To)
	}
	for ; seq < to && failed == nil; seq++ {
		e, changes, err := t.changesOf(h.number, seq)
		if err != nil {
			return err
		}
		for i, c := range changes {
			if f.Collection != "" && f.Collection != e.Parts[i].Group {
				continue
			}
			if r.key != nil {
				one := c.Record(r.key)
				if one == nil {
					continue
				}
				c = &entry.Changes{Records: []entry.Record{*one}}
			}
			failed = errors.Join(failed, t.markUnder(prefixRevert, e.Parts[i].Group, c))
		}
	}
	return failed
}

// revert makes the entries that turn what the records of one fold show into what those of another
// one show.
func (r *reversal) revert(is, was *fold) error {
	if is == nil {
		return nil
	}
	b := &changesBuilder{}
	var states []*merge.Record
	err := is.each(func(_ *collection, _ []byte, record *merge.Record) error {
		states = append(states, record)
		return nil
	})
	if err != nil {
		return err
	}
	err = was.each(func(c *collection, key []byte, record *merge.Record) error {
		r.done.Stayed += states[0].Lasting(record)
		change := states[0].Difference(record, b.number)
		states = states[1:]
		if change == nil {
			return nil
		}
		r.done.Records++
		change.Key = key
		if b.add(change); b.size < revertBytes {
			return nil
		}
		return r.issue(c, b)
	})
	if err == nil {
		err = r.issue(is.c, b)
	}
	return errors.Join(err, r.failed)
}

// revertBytes is the size of changes, about, after which an entry ends.
const revertBytes = 256 << 10

// issue makes an entry of changes, if there are any.
func (r *reversal) issue(c *collection, b *changesBuilder) error {
	if len(b.changes.Records) == 0 {
		return nil
	}
	r.done.Entries++
	changes := b.finish()
	var err error
	if changes.Salt, err = r.t.salt(); err != nil {
		return err
	}
	part := entry.Part{Group: c.name, Data: changes.Append(nil)}
	return r.t.makeEntry(&entry.Entry{Kind: entry.KindData, Parts: []entry.Part{part}})
}

// changesBuilder collects changes whose fields are numbered as they come.
type changesBuilder struct {
	changes entry.Changes
	numbers map[string]int
	size    int // about
}

// number returns the number of a field.
func (b *changesBuilder) number(name string) int {
	n, ok := b.numbers[name]
	if !ok {
		if b.numbers == nil {
			b.numbers = map[string]int{}
		}
		n = len(b.changes.Fields)
		b.numbers[name] = n
		b.changes.Fields = append(b.changes.Fields, name)
		b.size += len(name) + 1
	}
	return n
}

// add adds a record, with a greater key than those before it.
func (b *changesBuilder) add(record *entry.Record) {
	b.changes.Records = append(b.changes.Records, *record)
	b.size += len(record.Key) + 4
	for i := range record.Ops {
		op := &record.Ops[i]
		b.size += len(op.Value) + 8
		for _, items := range [][]entry.Item{op.Removed, op.Added} {
			for j := range items {
				b.size += len(items[j].Key) + len(items[j].Value)
			}
		}
	}
}

// finish returns the changes with their fields in order, and empties the builder.
func (b *changesBuilder) finish() *entry.Changes {
	c := b.changes
	c.Fields = slices.Sorted(slices.Values(c.Fields))
	numbers := make([]int, len(c.Fields))
	for i, name := range c.Fields {
		numbers[b.numbers[name]] = i
	}
	for i := range c.Records {
		ops := c.Records[i].Ops
		for j := range ops {
			ops[j].Field = numbers[ops[j].Field]
		}
		slices.SortFunc(ops, func(a, b entry.Op) int { return a.Field - b.Field })
	}
	*b = changesBuilder{}
	return &c
}
