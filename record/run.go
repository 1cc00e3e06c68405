package record

import (
	"bytes"
	"errors"
	"iter"
	"math"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/tuple"
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
	whole bool                 // each wants the stored record, not only its key
	skip  int                  // records to leave out
	left  int                  // records until the end; negative: no limit
}

// run calls each for every record of the result. If whole is false, it wants only the keys.
func (q Query[T]) run(tx *stoat.Tx, whole bool, each func(*item[T]) error) error {
	if q.err != nil {
		return q.err
	}
	s, err := q.c.session(tx)
	if err != nil {
		return err
	}
	r := &run[T]{q: &q, s: s, path: q.c.shape.choose(q.where, q.order), item: item[T]{c: q.c},
		each: each, whole: whole, skip: q.offset, left: q.limit}
	if q.limit == 0 {
		r.left = -1
	}
	if r.path.sorted {
		err = r.walk(whole || len(r.path.rest)+len(q.filters) > 0, r.pass)
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
	for n := range r.path.ranges {
		at := n
		if r.q.reverse {
			at = len(r.path.ranges) - 1 - n
		}
		keys := stoat.Range{Start: r.path.ranges[at].low, End: r.path.ranges[at].high,
			Reverse: r.q.reverse}
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
	for key, value := range r.s.data.Scan(keys) {
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
		bucket, err := r.s.index(r.path.index)
		if err != nil {
			return err
		}
		key, err := bucket.Get(keys.Start)
		if errors.Is(err, stoat.ErrNotFound) {
			return nil
		}
		if err != nil {
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
// about twice as many as are wanted.
func (r *run[T]) sort() error {
	top := math.MaxInt
	if r.left > 0 {
		top = r.left + r.skip
	}
	var kept []placed
	full := false // the one at top-1, and what is after it, is not before any of those left out
	var spare []byte
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
		kept = append(kept, p)
		if len(kept)-top >= max(top, sortedMin) {
			slices.SortFunc(kept, comparePlaced)
			clear(kept[top:])
			kept, full = kept[:top], true
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
		r.item.set(p.order[len(p.order)-p.keyBytes:], p.value)
		if err := r.pass(&r.item); err != nil {
			return err
		}
	}
	return nil
}

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

// All returns a loop over the records. After an error it ends.
func (q Query[T]) All(tx *stoat.Tx) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		loop(yield, func(each func(*T) error) error {
			return q.run(tx, true, func(i *item[T]) error {
				record, err := i.record()
				if err != nil {
					return err
				}
				return each(record)
			})
		})
	}
}

// loop runs fn with a function that yields, and yields the error of fn.
func loop[V any](yield func(V, error) bool, fn func(each func(V) error) error) {
	stopped := false
	err := fn(func(v V) error {
		if !yield(v, nil) {
			stopped = true
			return errStop
		}
		return nil
	})
	if err != nil && !stopped {
		var none V
		yield(none, err)
	}
}

// First returns the first record; the error is [stoat.ErrNotFound] if there is none.
func (q Query[T]) First(tx *stoat.Tx) (*T, error) {
	q.limit = 1
	for r, err := range q.All(tx) {
		return r, err
	}
	return nil, q.c.wrap(stoat.ErrNotFound)
}

// Keys returns a loop over the primary keys. It reads no records where an index decides alone.
func (q Query[T]) Keys(tx *stoat.Tx) iter.Seq2[tuple.Tuple, error] {
	return func(yield func(tuple.Tuple, error) bool) {
		loop(yield, func(each func(tuple.Tuple) error) error {
			return q.run(tx, false, func(i *item[T]) error {
				key, err := tuple.Decode(i.key)
				if err != nil {
					return err
				}
				return each(key)
			})
		})
	}
}

// Rows returns a loop over the fields that [Query.Fields] has chosen, or all, without decoding the
// records.
func (q Query[T]) Rows(tx *stoat.Tx) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		loop(yield, func(each func(Row) error) error {
			return q.run(tx, true, func(i *item[T]) error {
				row, err := i.row(q.fields)
				if err != nil {
					return err
				}
				return each(row)
			})
		})
	}
}
