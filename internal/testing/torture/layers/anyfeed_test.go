package layers

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// anyFeed is an open feed, whatever its type.
type anyFeed interface {
	add(tx *stoat.Tx, m post) (uint64, error)
	get(tx *stoat.Tx, seq uint64) (post, error)
	// read returns the entries of a query.
	read(tx *stoat.Tx, c feedQuery) ([]feedEntry, error)
	// size returns the count of a query and the entry in the middle of its result.
	size(tx *stoat.Tx, c feedQuery) (n uint64, middle uint64, err error)
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
type handler func(tx *stoat.Tx, seq uint64, m post) error

// feedEntry is an entry that a feed returned.
type feedEntry struct {
	post
	seq      uint64
	redacted bool
}

const feedName = "posts"

// openFeed opens the feed with a schema. If keep is above 0, retention keeps so many entries.
func openFeed(db *stoat.DB, schema int, keep int64) (anyFeed, error) {
	if schema == feedMood {
		toSelf := func(m *post) post { return *m }
		return openTypedFeed(db, schema, keep, toSelf, func(m post) *post { return &m })
	}
	return openTypedFeed(db, schema, keep, toPost, toOldPost)
}

func openTypedFeed[T any](
	db *stoat.DB, schema int, keep int64, widen func(*T) post, narrow func(post) *T,
) (anyFeed, error) {
	options := &feed.Options[T]{
		Sublogs: map[string]func(*T) []string{
			"author": func(v *T) []string { return []string{widen(v).Author} },
		},
		Retention: feed.Retention{Count: keep},
		Batch:     3,
		Now:       func() time.Time { return time.UnixMilli(1_700_000_000_000) },
	}
	if schema != feedPlain {
		options.Sublogs["tag"] = func(v *T) []string {
			return slices.Concat(widen(v).Tags, []string{anyTag})
		}
	}
	f, err := feed.Open(db, feedName, options)
	return typedFeed[T]{f, widen, narrow}, err
}

// typedFeed is a feed of one entry type.
type typedFeed[T any] struct {
	*feed.Feed[T]
	widen  func(*T) post
	narrow func(post) *T
}

func (f typedFeed[T]) add(tx *stoat.Tx, m post) (uint64, error) { return f.Append(tx, f.narrow(m)) }

func (f typedFeed[T]) get(tx *stoat.Tx, seq uint64) (post, error) {
	v, err := f.Get(tx, seq)
	return f.widen(&v), err
}

// query translates a query of the model.
func (f typedFeed[T]) query(c feedQuery) feed.Query[T] {
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

func (f typedFeed[T]) read(tx *stoat.Tx, c feedQuery) ([]feedEntry, error) {
	var all []feedEntry
	for e, err := range f.query(c).All(tx) {
		if err != nil {
			return all, err
		}
		all = append(all, feedEntry{f.widen(&e.Value), e.Seq, e.Redacted})
	}
	return all, nil
}

func (f typedFeed[T]) size(tx *stoat.Tx, c feedQuery) (n uint64, middle uint64, err error) {
	q := f.query(c)
	if n, err = q.Count(tx); err != nil || n == 0 {
		return n, 0, err
	}
	e, err := q.Nth(tx, int(n/2))
	return n, e.Seq, err
}

func (f typedFeed[T]) addresses(tx *stoat.Tx, sublog string) (map[string]uint64, error) {
	all := map[string]uint64{}
	for a, err := range f.Addresses(tx, sublog) {
		if err != nil {
			return nil, err
		}
		all[a.Name] = a.Count
	}
	return all, nil
}

func (f typedFeed[T]) consume(ctx context.Context, db *stoat.DB, name string, fn handler) error {
	return f.Consume(ctx, db, name, func(tx *stoat.Tx, e feed.Entry[T]) error {
		return fn(tx, e.Seq, f.widen(&e.Value))
	})
}

func (f typedFeed[T]) live(ctx context.Context, db *stoat.DB) iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		for e, err := range f.Query().Live(ctx, db) {
			if !yield(e.Seq, err) {
				return
			}
		}
	}
}
