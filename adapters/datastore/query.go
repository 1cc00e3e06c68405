package datastore

import (
	"bytes"
	"context"
	"iter"
	"math"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/ipfs/go-datastore/query"

	"github.com/stoatdb/stoat"
)

// query returns the results of q. They are taken one by one, each under mu. The first is taken
// here: a loop sees what was there when it began, so it must begin before the caller writes.
func (s *space) query(
	ctx context.Context, q query.Query, mu sync.Locker,
) (query.Results, error) {
	p := planOf(q)
	next, stop := iter.Pull2(func(yield func(query.Entry, error) bool) {
		err := s.read(ctx, func(tx *stoat.Tx) error { return p.scan(ctx, tx, yield) })
		if err != nil {
			yield(query.Entry{}, err)
		}
	})
	l := &loop{mu: mu, next: next, stop: stop}
	first, more := l.take()
	if first.Error != nil {
		_ = l.close()
		return nil, first.Error
	}
	if more {
		l.first = &first
	}
	found := query.ResultsFromIterator(q, query.Iterator{Next: l.take, Close: l.close})
	found = query.NaiveQueryApply(p.rest, found)
	if q.KeysOnly && p.values {
		return withoutValues(found), nil
	}
	return found, nil
}

// loop takes results out of a scan. The scan touches its transaction whenever it goes on, be it to
// the next entry or to its end, so both are done under mu: the results may be taken, and a limit
// may end them, by a goroutine of package query.
type loop struct {
	mu    sync.Locker
	next  func() (query.Entry, error, bool)
	stop  func()
	first *query.Result // taken from the scan already, or nil
}

func (l *loop) take() (r query.Result, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first != nil {
		r, l.first = *l.first, nil
		return r, true
	}
	r.Entry, r.Error, ok = l.next()
	return r, ok
}

func (l *loop) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.first = nil
	l.stop()
	return nil
}

// withoutValues returns results whose values were only needed to sort them.
func withoutValues(all query.Results) query.Results {
	return query.ResultsFromIterator(all.Query(), query.Iterator{
		Next: func() (query.Result, bool) {
			r, ok := all.NextSync()
			r.Value = nil
			return r, ok
		},
		Close: all.Close,
	})
}

// plan is how to run a query: what the scan of a range does, and what is left to do with its
// entries.
type plan struct {
	span    stoat.Range
	filters []query.Filter
	values  bool // entries have values
	reads   bool // values are read, be it for their size or for filters
	expires bool // entries have expiry times
	rest    query.Query
}

func planOf(q query.Query) *plan {
	p := &plan{
		filters: q.Filters,
		values:  !q.KeysOnly,
		reads:   !q.KeysOnly || q.ReturnsSizes || slices.ContainsFunc(q.Filters, looksAtValues),
		expires: q.ReturnExpirations,
		rest:    query.Query{Orders: q.Orders, Offset: q.Offset, Limit: q.Limit},
	}
	prefix := path.Clean("/" + q.Prefix)
	if prefix != "/" {
		prefix += "/" // the children only
	}
	p.span = stoat.Prefix([]byte(prefix)) // other keys are not of the store
	if len(q.Orders) > 0 {
		switch q.Orders[0].(type) {
		case query.OrderByKey, *query.OrderByKey:
			p.rest.Orders = nil
		case query.OrderByKeyDescending, *query.OrderByKeyDescending:
			p.rest.Orders, p.span.Reverse = nil, true
		default: // sorts the entries, perhaps by their values
			p.values, p.reads = true, true
		}
	}
	inOrder := len(p.rest.Orders) == 0
	if inOrder && len(q.Filters) == 0 && q.Limit > 0 && q.Offset < math.MaxInt-q.Limit {
		p.span.Limit = max(q.Offset, 0) + q.Limit
	}
	return p
}

// looksAtValues reports whether a filter may need more of an entry than its key.
func looksAtValues(f query.Filter) bool {
	switch f.(type) {
	case query.FilterKeyCompare, *query.FilterKeyCompare,
		query.FilterKeyPrefix, *query.FilterKeyPrefix:
		return false
	}
	return true
}

// scan yields copies of the entries of the range that pass the filters.
func (p *plan) scan(
	ctx context.Context, tx *stoat.Tx, yield func(query.Entry, error) bool,
) error {
	pairs, expires, failed := p.source(tx)
	for key, value := range pairs {
		if err := ctx.Err(); err != nil {
			return err
		}
		e := query.Entry{
			Key: string(key), Value: value, Size: len(value), Expiration: expires(),
		}
		if !p.reads {
			e.Size = -1
		}
		if slices.ContainsFunc(p.filters, func(f query.Filter) bool { return !f.Filter(e) }) {
			continue
		}
		e.Value = nil
		if p.values {
			e.Value = bytes.Clone(value)
		}
		if !yield(e, nil) {
			return nil
		}
	}
	return failed()
}

// source returns the keys of the range, with their values if they are read; when the present key
// expires, if that is asked for; and the error that ended the keys, once they have ended.
func (p *plan) source(tx *stoat.Tx) (
	pairs iter.Seq2[[]byte, []byte], expires func() time.Time, failed func() error,
) {
	if p.expires {
		c := tx.Cursor()
		return p.walk(c), c.Expires, c.Err
	}
	expires = func() time.Time { return time.Time{} }
	if p.reads {
		return tx.Scan(p.span), expires, tx.Err
	}
	return func(yield func(key, value []byte) bool) {
		for key := range tx.Keys(p.span) {
			if !yield(key, nil) {
				return
			}
		}
	}, expires, tx.Err
}

// walk returns the entries of the range that c passes. It leaves the limit of the range to the
// caller: a cursor reads nothing ahead.
func (p *plan) walk(c *stoat.Cursor) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		step := c.Next
		key, value := c.Seek(p.span.Start)
		if p.span.Reverse {
			step = c.Prev
			c.Seek(p.span.End)
			key, value = step()
		}
		for bytes.HasPrefix(key, p.span.Start) { // which is the prefix of all keys in the range
			if !yield(key, value) {
				return
			}
			key, value = step()
		}
	}
}
