package layers

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// channel is an open feed, whatever its type.
type channel interface {
	add(tx *stoat.Tx, m mood) (uint64, error)
	get(tx *stoat.Tx, seq uint64) (mood, error)
	// read returns the entries of a query.
	read(tx *stoat.Tx, c choice) ([]told, error)
	// size returns how many the same query counts, and the entry at the position in the middle.
	size(tx *stoat.Tx, c choice) (n uint64, middle uint64, err error)
	addresses(tx *stoat.Tx, sublog string) (map[string]uint64, error)
	consume(ctx context.Context, db *stoat.DB, name string, fn handler) error
	live(ctx context.Context, db *stoat.DB) iter.Seq2[uint64, error]

	Redact(tx *stoat.Tx, seq uint64) error
	Retain(tx *stoat.Tx, r feed.Retention) error
	DropSublog(tx *stoat.Tx, name string) error
	Cursor(tx *stoat.Tx, name string) (uint64, error)
	SetCursor(tx *stoat.Tx, name string, seq uint64) error
	Len(tx *stoat.Tx) (uint64, error)
	First(tx *stoat.Tx) (uint64, error)
}

// handler is what a consumer does with an entry.
type handler func(tx *stoat.Tx, seq uint64, m mood) error

// told is an entry as a feed yields it.
type told struct {
	mood
	seq      uint64
	redacted bool
}

const feedName = "posts"

// openChannel opens the feed in a form. Keep is how many entries retention keeps, 0 for all.
func openChannel(db *stoat.DB, form int, keep int64) (channel, error) {
	if form == feedMoods {
		toSelf := func(m *mood) mood { return *m }
		return openFeed(db, form, keep, toSelf, func(m mood) *mood { return &m })
	}
	return openFeed(db, form, keep, toMood, toPost)
}

func openFeed[T any](
	db *stoat.DB, form int, keep int64, widen func(*T) mood, narrow func(mood) *T,
) (channel, error) {
	options := &feed.Options[T]{
		Sublogs: map[string]func(*T) []string{
			"author": func(v *T) []string { return []string{widen(v).Author} },
		},
		Retention: feed.Retention{Count: keep},
		Batch:     3,
		Now:       func() time.Time { return time.UnixMilli(1_700_000_000_000) },
	}
	if form != feedPlain {
		options.Sublogs["tag"] = func(v *T) []string {
			return slices.Concat(widen(v).Tags, []string{anyTag})
		}
	}
	f, err := feed.Open(db, feedName, options)
	return typed[T]{f, widen, narrow}, err
}

// typed is a channel with entries of one type.
type typed[T any] struct {
	*feed.Feed[T]
	widen  func(*T) mood
	narrow func(mood) *T
}

func (f typed[T]) add(tx *stoat.Tx, m mood) (uint64, error) { return f.Append(tx, f.narrow(m)) }

func (f typed[T]) get(tx *stoat.Tx, seq uint64) (mood, error) {
	v, err := f.Get(tx, seq)
	return f.widen(&v), err
}

// query returns the query as the feed asks it.
func (f typed[T]) query(c choice) feed.Query[T] {
	q := f.Query()
	if c.sublog != "" {
		q = q.Where(feed.In(c.sublog, c.address))
	}
	if c.redacted {
		q = q.WithRedacted()
	}
	if c.reverse {
		q = q.Reverse()
	}
	return q
}

func (f typed[T]) read(tx *stoat.Tx, c choice) ([]told, error) {
	var all []told
	for e, err := range f.query(c).All(tx) {
		if err != nil {
			return all, err
		}
		all = append(all, told{f.widen(&e.Value), e.Seq, e.Redacted})
	}
	return all, nil
}

func (f typed[T]) size(tx *stoat.Tx, c choice) (n uint64, middle uint64, err error) {
	q := f.query(c)
	if n, err = q.Count(tx); err != nil || n == 0 {
		return n, 0, err
	}
	e, err := q.Nth(tx, int(n/2))
	return n, e.Seq, err
}

func (f typed[T]) addresses(tx *stoat.Tx, sublog string) (map[string]uint64, error) {
	all := map[string]uint64{}
	for a, err := range f.Addresses(tx, sublog) {
		if err != nil {
			return nil, err
		}
		all[a.Name] = a.Count
	}
	return all, nil
}

func (f typed[T]) consume(ctx context.Context, db *stoat.DB, name string, fn handler) error {
	return f.Consume(ctx, db, name, func(tx *stoat.Tx, e feed.Entry[T]) error {
		return fn(tx, e.Seq, f.widen(&e.Value))
	})
}

func (f typed[T]) live(ctx context.Context, db *stoat.DB) iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		for e, err := range f.Query().Live(ctx, db) {
			if !yield(e.Seq, err) {
				return
			}
		}
	}
}
