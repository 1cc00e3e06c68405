package record

import (
	"bytes"
	"errors"
	"slices"

	"github.com/stoatdb/stoat"
)

// errStop ends a run early.
var errStop = errors.New("no more records are wanted")

// run is a query in a transaction.
type run[T any] struct {
	q     *Query[T]
	s     *session
	path  path
	item  item[T]
	each  func(*item[T]) error // takes a record of the result; it ends the run with errStop
	needs needs                // what each wants of the records
	skip  int                  // records to leave out
	left  int                  // records until the end; negative: no limit
	// writes says that each may write while records are walked.
	writes bool
}

// run calls each for every record of the result, of which it needs to see no more than it says.
func (q Query[T]) run(tx *stoat.Tx, needs needs, each func(*item[T]) error) error {
	path, err := q.plan()
	if err != nil {
		return err
	}
	s, err := q.c.session(tx)
	if err != nil {
		return err
	}
	if err := q.c.hide(s, &path, q.loop && tx.Writable()); err != nil {
		return q.c.wrap(err)
	}
	r := &run[T]{q: &q, s: s, path: path, item: item[T]{c: q.c}, each: each, needs: needs,
		skip: q.offset, left: q.limit}
	if q.limit == 0 {
		r.left = -1
	}
	if r.path.sorted {
		r.writes = q.loop && tx.Writable()
		err = r.walk(needs.records() || len(r.path.rest)+len(q.filters) > 0, r.pass)
	} else {
		err = r.sort()
	}
	if errors.Is(err, errStop) {
		return nil
	}
	if err == nil {
		err = tx.Err()
	}
	return q.c.wrap(err)
}

// pass passes a record on that is in its place.
func (r *run[T]) pass(i *item[T]) error {
	if r.skip > 0 {
		r.skip--
		return nil
	}
	if err := r.each(i); err != nil {
		return err
	}
	if r.left--; r.left == 0 {
		return errStop
	}
	return nil
}

// walk calls fn for every record that fulfils the query, in the order of the path. If whole is
// false, it does not read records.
func (r *run[T]) walk(whole bool, fn func(*item[T]) error) error {
	if len(r.path.ranges) > 1 && r.writes && !r.q.stays {
		return r.walkFound(whole, fn)
	}
	for n := range r.path.ranges {
		keys := r.keys(n)
		var err error
		switch {
		case r.path.index != nil:
			err = r.walkIndex(keys, whole, fn)
		case r.path.exact:
			err = r.get(keys.Start, whole, fn)
		case whole:
			err = r.walkRecords(keys, fn)
		default:
			err = r.walkKeys(keys, fn)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// keys returns the nth range of the path, in the order of the query.
func (r *run[T]) keys(n int) stoat.Range {
	if r.q.reverse {
		n = len(r.path.ranges) - 1 - n
	}
	return stoat.Range{Start: r.path.ranges[n].low, End: r.path.ranges[n].high,
		Reverse: r.q.reverse}
}

// found is a record that one of several ranges has.
type found struct{ key, value []byte } // the value is nil if it is not needed or not read yet

// walkFound is walk over several ranges for a body that may write: it finds out what is in all of
// them before it calls fn, so that the body cannot move a record into or out of a later one.
func (r *run[T]) walkFound(whole bool, fn func(*item[T]) error) error {
	var all []found
	for n := range r.path.ranges {
		var err error
		if all, err = r.appendFound(all, r.keys(n), whole); err != nil {
			return err
		}
	}
	for _, f := range all {
		var err error
		if r.path.index != nil {
			err = r.takeOwner(f.key, whole, fn)
		} else {
			err = r.take(f.key, f.value, fn)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// appendFound appends what is in a range. The slices are valid until the transaction ends.
func (r *run[T]) appendFound(all []found, keys stoat.Range, whole bool) ([]found, error) {
	switch {
	case r.path.index != nil && r.path.exact:
		key, err := r.s.owner(r.path.index, keys.Start)
		if err == nil && key != nil {
			all = append(all, found{key, nil})
		}
		return all, err
	case r.path.index != nil:
		for key, err := range r.s.entriesIn(r.path.index, keys) {
			if err != nil {
				return all, err
			}
			all = append(all, found{key, nil})
		}
	case r.path.exact:
		value, err := r.s.find(keys.Start)
		if err == nil && value != nil {
			all = append(all, found{keys.Start, value})
		}
		return all, err
	case whole:
		for key, value := range r.s.data.Scan(keys) {
			all = append(all, found{key, value})
		}
	default:
		for key := range r.s.data.Keys(keys) {
			all = append(all, found{key, nil})
		}
	}
	return all, r.s.tx.Err()
}

// get takes the record with a key, if there is one.
func (r *run[T]) get(key []byte, whole bool, fn func(*item[T]) error) error {
	value, err := r.s.find(key)
	if err != nil || value == nil {
		return err
	}
	return r.take(key, value, fn)
}

func (r *run[T]) walkRecords(keys stoat.Range, fn func(*item[T]) error) error {
	checks := len(r.path.rest)+len(r.q.filters) > 0
	for key, value := range r.scan(keys) {
		var err error
		if checks {
			err = r.take(key, value, fn)
		} else {
			r.item.set(key, value)
			err = fn(&r.item)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *run[T]) walkKeys(keys stoat.Range, fn func(*item[T]) error) error {
	for key := range r.s.data.Keys(keys) {
		if err := r.take(key, nil, fn); err != nil {
			return err
		}
	}
	return nil
}

func (r *run[T]) walkIndex(keys stoat.Range, whole bool, fn func(*item[T]) error) error {
	if r.path.exact {
		key, err := r.s.owner(r.path.index, keys.Start)
		if err != nil || key == nil {
			return err
		}
		return r.takeOwner(key, whole, fn)
	}
	for key, err := range r.s.entriesIn(r.path.index, keys) {
		if err == nil {
			err = r.takeOwner(key, whole, fn)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// takeOwner takes the record that an entry of an index belongs to.
func (r *run[T]) takeOwner(key []byte, whole bool, fn func(*item[T]) error) error {
	if !whole {
		if r.writes {
			if ok, err := r.s.data.Has(key); !ok || err != nil {
				return err
			}
		}
		return r.take(key, nil, fn)
	}
	value, err := r.s.owned(r.path.index, key)
	if err != nil || value == nil {
		return err
	}
	return r.take(key, value, fn)
}

// take passes a record on if it fulfils what the path does not guarantee.
func (r *run[T]) take(key, value []byte, fn func(*item[T]) error) error {
	i := &r.item
	i.set(key, value)
	if ok, err := i.fulfils(r.path.rest); !ok || err != nil {
		return err
	}
	for _, filter := range r.q.filters {
		record, err := i.record()
		if err != nil || !filter(record) {
			return err
		}
	}
	return fn(i)
}

// placed is a record that waits for its place in the order.
type placed struct {
	order      []byte // the elements to sort by, and then the key
	keyBytes   int
	value      []byte
	descending bool
}

// comparePlaced compares the places of two records.
func comparePlaced(a, b placed) int {
	if a.descending {
		return bytes.Compare(b.order, a.order)
	}
	return bytes.Compare(a.order, b.order)
}

// sort brings the records into order, in memory, and passes them on. With a limit it keeps at most
// about twice as many as are wanted. Of records that are larger in all than sortedBytes it keeps
// the places only, and reads them again.
func (r *run[T]) sort() error {
	top := r.q.top()
	var kept []placed
	full := false // the one at top-1, and what is after it, is not before any of those left out
	var spare []byte
	size, again := 0, false
	err := r.walk(true, func(i *item[T]) error {
		p, err := r.place(spare[:0], i)
		if err != nil {
			return err
		}
		if full && comparePlaced(p, kept[top-1]) > 0 {
			spare = p.order
			return nil
		}
		spare = nil
		if size += len(p.value); size > sortedBytes && !again {
			again = true
			for i := range kept {
				kept[i].value = nil
			}
		}
		if again {
			p.value = nil
		}
		kept = append(kept, p)
		if len(kept)-top >= max(top, sortedMin) {
			slices.SortFunc(kept, comparePlaced)
			clear(kept[top:])
			kept, full, size = kept[:top], true, 0
			for i := range kept {
				size += len(kept[i].value)
			}
		}
		return nil
	})
	if err == nil {
		err = r.s.tx.Err()
	}
	if err != nil {
		return err
	}
	slices.SortFunc(kept, comparePlaced)
	for _, p := range kept {
		key := p.order[len(p.order)-p.keyBytes:]
		if again {
			if p.value, err = r.s.find(key); err != nil {
				return err
			}
			if p.value == nil {
				continue // it was deleted since
			}
		}
		r.item.set(key, p.value)
		if err := r.pass(&r.item); err != nil {
			return err
		}
	}
	return nil
}

// sortedBytes is how many bytes of records a sort keeps in memory.
const sortedBytes = 16 << 20

// sortedMin is how many records more than are wanted a sort keeps at least, so that it seldom has
// to find out which those are.
const sortedMin = 64

// place returns a record with its place, which it appends to order.
func (r *run[T]) place(order []byte, i *item[T]) (placed, error) {
	var err error
	for _, c := range r.q.order {
		if order, err = i.append(order, c); err != nil {
			return placed{}, err
		}
	}
	return placed{append(order, i.key...), len(i.key), i.value, r.q.reverse}, nil
}
