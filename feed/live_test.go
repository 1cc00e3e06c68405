package feed_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// follow collects what a live query tells until it ends.
func follow[T any](
	ctx context.Context, db *stoat.DB, q feed.Query[T],
) (entries []feed.Entry[T], err error) {
	for e, err := range q.Live(ctx, db) {
		if err != nil {
			return entries, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func numbersOf[T any](entries []feed.Entry[T]) []uint64 {
	var all []uint64
	for _, e := range entries {
		all = append(all, e.Seq)
	}
	return all
}

func TestLive_catchesUpAndFollows(t *testing.T) {
	db, err := stoat.Open(t.TempDir(), &stoat.Options{Sync: stoat.SyncNever})
	ok(t, err)
	f := open(t, db, &feed.Options[post]{Sublogs: sublogs()})
	appendAll(t, db, f, numbered(700)...)
	update(t, db, func(tx *stoat.Tx) { ok(t, f.Redact(tx, 3)) })
	const n = 1200
	alice := f.Query().Where(feed.In("author", "alice"))
	queries := map[string]feed.Query[post]{
		"through":  f.Query().Through(n - 1),
		"limit":    f.Query().From(10).Limit(n - 10),
		"redacted": f.Query().WithRedacted().Through(n - 1),
		"filter":   alice.Before(n),
		"none":     f.Query().Where(feed.In("author", "nobody")).Before(n),
		"ahead":    f.Query().From(900).Before(n),
	}
	type result struct {
		name string
		got  []feed.Entry[post]
		err  error
	}
	results := make(chan result)
	for name, q := range queries {
		go func() {
			got, err := follow(t.Context(), db, q)
			results <- result{name, got, err}
		}()
	}
	for i := 700; i < n; i += 5 {
		appendAll(t, db, f, numbered(n)[i:i+5]...)
	}
	for range queries {
		r := <-results
		ok(t, r.err)
		view(t, db, func(tx *stoat.Tx) {
			want := seqs(t, tx, queries[r.name])
			if got := numbersOf(r.got); !slices.Equal(got, want) {
				t.Errorf("%s: entries %v, want %v", r.name, got, want)
			}
		})
		for _, e := range r.got {
			if !e.Redacted && e.Value.Text != fmt.Sprint("text ", e.Seq) {
				t.Errorf("%s: entry %d is %v", r.name, e.Seq, e.Value)
			}
		}
	}
	ok(t, db.Close())
}

func TestLive_keepsUpAfterItLagged(t *testing.T) {
	db := memory(t) // where nothing is at hand but the newest commits
	f := open[[]byte](t, db, nil)
	const n = 400
	large := make([]byte, 64<<10)
	appendAll(t, db, f, large)
	var got []uint64
	for e, err := range f.Query().Before(n).Live(t.Context(), db) {
		ok(t, err)
		if got = append(got, e.Seq); e.Seq == 0 {
			for range n / 4 { // more than is kept for loops
				appendAll(t, db, f, large, large, large)
			}
			for range n - 1 - n/4*3 {
				appendAll(t, db, f, []byte("last"))
			}
		}
		if len(e.Value) != len(large) && string(e.Value) != "last" {
			t.Fatalf("entry %d has %d bytes", e.Seq, len(e.Value))
		}
	}
	if !slices.Equal(got, upTo(n)) {
		t.Errorf("%d entries, want %d", len(got), n)
	}
}

func TestLive_ends(t *testing.T) {
	db := memory(t)
	f := open[post](t, db, nil)
	appendAll(t, db, f, numbered(3)...)

	got, err := follow(t.Context(), db, f.Query().Reverse())
	if err == nil || len(got) > 0 || !strings.Contains(err.Error(), "Reverse") {
		t.Errorf("backwards: %v, %v", got, err)
	}
	got, err = follow(t.Context(), db, f.Query().Before(0))
	ok(t, err)
	equal(t, len(got), 0)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var told []uint64
	for e, err := range f.Query().Live(ctx, db) {
		if err != nil {
			wantErr(t, err, context.Canceled)
			continue // there is nothing behind it
		}
		if told = append(told, e.Seq); e.Seq == 1 {
			cancel()
		}
	}
	equal(t, len(told), 2)

	_, err = follow(t.Context(), db, f.Query().Where(feed.In("nothing")))
	if err == nil || !strings.Contains(err.Error(), "no sublog") {
		t.Errorf("an unknown sublog: %v", err)
	}
	for e, err := range f.Query().Live(t.Context(), db) {
		ok(t, err)
		if e.Seq == 2 {
			ok(t, db.Update(func(tx *stoat.Tx) error { return tx.DeleteBucket([]byte("feed")) }))
			break
		}
	}
	_, err = follow(t.Context(), db, f.Query())
	wantErr(t, err, stoat.ErrBucketNotFound)
}

func TestLive_startsWithTheNewestAndGoesOn(t *testing.T) {
	db := memory(t)
	f := open(t, db, &feed.Options[post]{Sublogs: sublogs()})
	appendAll(t, db, f, numbered(10)...)
	bob := f.Query().Where(feed.In("author", "bob"))
	var got []uint64
	for e, err := range bob.Newest(2).Limit(6).Live(t.Context(), db) {
		ok(t, err)
		if got = append(got, e.Seq); e.Seq == 9 {
			appendAll(t, db, f, numbered(8)...)
		}
	}
	if want := []uint64{7, 9, 11, 13, 15, 17}; !slices.Equal(got, want) {
		t.Errorf("entries %v, want %v", got, want)
	}
}
