package record

import (
	"context"
	"errors"

	"github.com/stoatdb/stoat"
)

// errStop ends the execution of a query, or a loop, early.
var errStop = errors.New("no more records are wanted")

// exec is the execution of a query in a transaction: it walks the ranges of the plan, checks each
// record, and passes those of the result to each, in order.
type exec struct {
	q     *query
	s     *session
	plan  plan
	item  item
	each  func(*item) error // receives the records of the result; returns errStop to end
	needs needs             // what each reads of the records
	skip  int               // records still to skip
	left  int               // records still to pass; negative: no limit
	// writes says that each may write while the ranges are being walked.
	writes bool
}

// exec calls each for every record of the result, which has at least what needs asks for.
func (q query) exec(tx *stoat.Tx, needs needs, each func(*item) error) error {
	plan, err := q.plan()
	if err != nil {
		return err
	}
	s, err := q.c.session(tx)
	if err != nil {
		return err
	}
	if err := q.hideExpired(s, &plan); err != nil {
		return q.c.wrap(err)
	}
	e := &exec{q: &q, s: s, plan: plan, item: item{c: q.c}, each: each, needs: needs,
		skip: q.offset, left: q.limit}
	if q.limit == 0 {
		e.left = -1
	}
	if e.plan.sorted {
		e.writes = q.writes(tx)
		err = e.walk(needs.records() || len(e.plan.rest)+len(q.filters) > 0, e.pass)
	} else {
		err = e.sort()
	}
	if errors.Is(err, errStop) {
		return nil
	}
	if err == nil {
		err = tx.Err()
	}
	return q.c.wrap(err)
}

// writes reports whether the query runs for the body of a loop that may write.
func (q *query) writes(tx *stoat.Tx) bool { return q.loop && tx.Writable() }

// pass passes on the next record of the result, after the offset and up to the limit.
func (e *exec) pass(i *item) error {
	if e.skip > 0 {
		e.skip--
		return nil
	}
	if err := e.each(i); err != nil {
		return err
	}
	if e.left--; e.left == 0 {
		return errStop
	}
	return nil
}

// walk calls fn for every record that the query matches, in the order of the plan. If whole is
// false, it reads only keys.
func (e *exec) walk(whole bool, fn func(*item) error) error {
	if len(e.plan.ranges) > 1 && e.writes && !e.q.stays {
		return e.walkCollected(whole, fn)
	}
	take := untilDone(e.q.ctx, func(key, value []byte) error {
		return e.take(key, value, whole, fn)
	})
	for n := range e.plan.ranges {
		if err := e.walkRange(n, whole, take); err != nil {
			return err
		}
	}
	return nil
}

// contextEvery is how many records a query finds between two looks at its context.
const contextEvery = 64

// untilDone returns fn, with the error of a context in the place of a call when that is done. A nil
// context never is.
func untilDone(ctx context.Context, fn func(key, value []byte) error) func(_, _ []byte) error {
	if ctx == nil {
		return fn
	}
	found := 0
	return func(key, value []byte) error {
		if found%contextEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		found++
		return fn(key, value)
	}
}

// walkCollected is walk over several ranges for a body that may write: it finds the records in all
// ranges before it calls fn, so that the body cannot move a record into or out of a later range.
func (e *exec) walkCollected(whole bool, fn func(*item) error) error {
	var all []pair
	collect := untilDone(e.q.ctx, func(key, value []byte) error {
		all = append(all, pair{key, value})
		return nil
	})
	for n := range e.plan.ranges {
		if err := e.walkRange(n, whole, collect); err != nil {
			return err
		}
	}
	if err := e.s.tx.Err(); err != nil {
		return err
	}
	take := untilDone(e.q.ctx, func(key, value []byte) error {
		return e.take(key, value, whole, fn)
	})
	for _, p := range all {
		if err := take(p.key, p.value); err != nil {
			return err
		}
	}
	return nil
}

// walkRange calls fn for the records in the nth range of the plan, in the order of the query.
// Values are nil if they are not needed, or if the plan uses an index. The slices are valid until
// the transaction ends.
func (e *exec) walkRange(n int, whole bool, fn func(key, value []byte) error) error {
	if e.q.reverse {
		n = len(e.plan.ranges) - 1 - n
	}
	index, r := e.plan.index, e.plan.ranges[n]
	keys := stoat.Range{Start: r.low, End: r.high, Reverse: e.q.reverse}
	switch {
	case index != nil && e.plan.exact:
		key, err := e.s.owner(index, keys.Start)
		if err != nil || key == nil {
			return err
		}
		return fn(key, nil)
	case index != nil:
		for key, err := range e.s.entriesIn(index, keys) {
			if err == nil {
				err = fn(key, nil)
			}
			if err != nil {
				return err
			}
		}
	case e.plan.exact:
		value, err := e.s.find(keys.Start)
		if err != nil || value == nil {
			return err
		}
		return fn(keys.Start, value)
	case whole:
		for key, value := range e.scan(keys) {
			if err := fn(key, value); err != nil {
				return err
			}
		}
	default:
		for key := range e.s.data.Keys(keys) {
			if err := fn(key, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// take passes a record on if it still exists and satisfies the rest of the conditions and the
// filters. If the plan uses an index, take reads the record first if it is needed.
func (e *exec) take(key, value []byte, whole bool, fn func(*item) error) error {
	var err error
	switch {
	case e.plan.index == nil:
	case whole:
		if value, err = e.s.owned(e.plan.index, key); err != nil || value == nil {
			return err
		}
	case e.writes:
		if ok, err := e.s.data.Has(key); !ok || err != nil {
			return err
		}
	}
	i := &e.item
	i.set(key, value)
	if ok, err := i.matchesAll(e.plan.rest); !ok || err != nil {
		return err
	}
	for _, filter := range e.q.filters {
		if ok, err := filter(i); !ok || err != nil {
			return err
		}
	}
	return fn(i)
}
