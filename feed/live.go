package feed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/stoatdb/stoat"
)

const (
	pageEntries = 256     // that a live loop holds in memory
	pageBytes   = 1 << 20 // of their stored values, after which it stops reading
)

// Live returns an iterator over the existing entries of the query, and then over those appended
// later, once they are visible and, with [stoat.SyncAlways], durable. Each entry comes once, in
// order; entries redacted or removed before the loop gets to them are skipped. Newest limits the
// entries at the start, not those that follow. The loop ends with an error, such as that of ctx,
// unless its body, the limit or an upper bound ends it.
//
// It runs in the caller's goroutine, delays no writer, and holds at most 256 entries and little
// more than 1 MiB, or a single larger entry. No transaction is open between its steps: the body may
// use the database, and the caller owns the values.
func (q Query[T]) Live(ctx context.Context, db *stoat.DB) iter.Seq2[Entry[T], error] {
	return func(yield func(Entry[T], error) bool) {
		l := live[T]{query: q, ctx: ctx, db: db, yield: yield, left: q.limit}
		var err error
		if q.reverse {
			err = fmt.Errorf("feed %q: a live loop continues with appended entries: remove Reverse",
				q.feed.name)
		} else {
			err = q.feed.follow(ctx, db, l.step)
		}
		if !errors.Is(err, errStop) {
			yield(Entry[T]{}, err)
		}
	}
}

// follow calls step once and then whenever entries have been appended, until it returns an error. A
// step must handle all existing entries, and return the position of the snapshot in which it found
// no more, and the number of the next entry.
func (f *Feed[T]) follow(
	ctx context.Context, db *stoat.DB, step func() (stoat.Position, uint64, error),
) error {
	path := [][]byte{[]byte(f.name), []byte(entriesBucket)}
	for {
		at, next, err := step()
		if err != nil {
			return err
		}
		for c, err := range db.WatchBucket(ctx, path, stoat.Range{Start: entryKey(next)}, at) {
			if errors.Is(err, stoat.ErrLagged) {
				break // the next step reads what the loop missed
			}
			if err != nil {
				return fmt.Errorf("feed %q: %w", f.name, err)
			}
			if !c.Last || c.Position <= at {
				continue
			}
			if at, _, err = step(); err != nil {
				return err
			}
		}
	}
}

// live is one pass of a live loop.
type live[T any] struct {
	query Query[T] // of the entries not yielded yet
	ctx   context.Context
	db    *stoat.DB
	yield func(Entry[T], error) bool
	left  int // entries still to yield, if the query has a limit
	page  []Entry[T]
}

// step yields all existing entries.
func (l *live[T]) step() (at stoat.Position, next uint64, err error) {
	for {
		if err := l.ctx.Err(); err != nil {
			return 0, 0, err
		}
		more := false
		err := l.db.View(func(tx *stoat.Tx) (err error) {
			at = tx.Position()
			next, more, err = l.read(tx)
			return err
		})
		if err != nil {
			return 0, 0, err
		}
		for _, e := range l.page {
			if err := l.tell(e); err != nil {
				return 0, 0, err
			}
		}
		l.query.low = max(l.query.low, next)
		if l.query.low >= l.query.high {
			return 0, 0, errStop
		}
		if !more {
			return at, next, nil
		}
	}
}

// read fills the page with the next entries. It returns the number of the entry to continue with,
// and whether there may be more.
func (l *live[T]) read(tx *stoat.Tx) (next uint64, more bool, err error) {
	clear(l.page)
	l.page = l.page[:0]
	q, s, err := l.query.in(tx)
	if err != nil {
		return 0, false, err
	}
	l.query = q
	f := q.feed
	next = s.next
	size := 0
	unlimited := q.Limit(0)
	err = unlimited.each(s, func(seq uint64, e stored) (bool, error) {
		size += len(e.value)
		if f.raw {
			e.value = bytes.Clone(e.value)
		}
		var entry Entry[T]
		if err := f.decode(s, seq, e, &entry); err != nil {
			return false, err
		}
		l.page = append(l.page, entry)
		if len(l.page) == pageEntries || size >= pageBytes {
			next, more = seq+1, true
			return false, nil
		}
		return true, nil
	})
	return next, more, err
}

// tell yields an entry.
func (l *live[T]) tell(e Entry[T]) error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	if !l.yield(e, nil) {
		return errStop
	}
	if l.left--; l.query.limit > 0 && l.left == 0 {
		return errStop
	}
	return nil
}
