package feed_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// openStored opens the feed of a test without its type.
func openStored(t testing.TB, tx *stoat.Tx) *feed.Stored {
	t.Helper()
	s, err := feed.OpenStored(tx, "feed")
	ok(t, err)
	return s
}

func TestStored_queriesAsTheTypedFeedDoes(t *testing.T) {
	r := random(t)
	db := memory(t)
	clock := newClock()
	f := open(t, db, &feed.Options[post]{Sublogs: sublogs(), Now: clock.Now})
	p := player{t: t, r: r, db: db, feed: f, clock: clock, model: &model{}}
	var kept *feed.Stored // from an earlier transaction
	for range 15 {
		update(t, db, func(tx *stoat.Tx) {
			p.write(tx)
			p.write(tx)
			name, at := fmt.Sprint("consumer ", r.IntN(3)), r.IntN(len(p.model.entries)+1)
			ok(t, f.SetCursor(tx, name, uint64(at)))
			wantSame(t, r, tx, f, openStored(t, tx))
		})
		view(t, db, func(tx *stoat.Tx) {
			if kept != nil {
				wantSame(t, r, tx, f, kept)
			}
			kept = openStored(t, tx)
			wantSame(t, r, tx, f, kept)
		})
	}
}

// wantSame wants a feed and the same without its type to agree.
func wantSame(
	t testing.TB, r *rand.Rand, tx *stoat.Tx, f *feed.Feed[post], s *feed.Stored,
) {
	t.Helper()
	length, err := f.Len(tx)
	ok(t, err)
	first, err := f.First(tx)
	ok(t, err)
	gotLength, err := s.Len(tx)
	ok(t, err)
	gotFirst, err := s.First(tx)
	ok(t, err)
	equal(t, gotLength, length)
	equal(t, gotFirst, first)
	for c, err := range s.Consumers(tx) {
		ok(t, err)
		at, err := f.Cursor(tx, c.Name)
		ok(t, err)
		equal(t, c, feed.Consumer{c.Name, at, length - at, first - min(at, first)})
	}
	subs, err := s.Sublogs(tx)
	ok(t, err)
	equal(t, fmt.Sprint(subs), "[{author 0} {tag 0}]")
	for a, err := range s.Addresses(tx, "author") {
		ok(t, err)
		n, err := f.Query().Where(feed.In("author", a.Name)).Count(tx)
		ok(t, err)
		equal(t, a.Count, n)
	}
	typed, untyped := f.Query(), s.Query()
	if r.IntN(2) == 0 {
		typed, untyped = typed.Reverse(), untyped.Reverse()
	}
	if r.IntN(2) == 0 {
		typed, untyped = typed.WithRedacted(), untyped.WithRedacted()
	}
	if r.IntN(2) == 0 {
		in := feed.In("tag", fmt.Sprint("tag ", r.IntN(4)))
		typed, untyped = typed.Where(in), untyped.Where(in)
	}
	from, limit := r.Uint64N(length+1), r.IntN(20)
	typed, untyped = typed.From(from).Limit(limit), untyped.From(from).Limit(limit)
	var want []feed.Entry[post]
	for e, err := range typed.All(tx) {
		ok(t, err)
		want = append(want, e)
	}
	for e, err := range untyped.All(tx) {
		ok(t, err)
		var v post
		if !e.Redacted {
			v = typedOf(t, e.Value)
		}
		if len(want) == 0 || !reflect.DeepEqual(want[0], feed.Entry[post]{e.Seq, e.At, e.Redacted, v}) {
			t.Fatalf("got %+v, want the first of %+v", e, want)
		}
		want = want[1:]
	}
	equal(t, len(want), 0)
}

// typedOf returns a post by its fields.
func typedOf(t testing.TB, v feed.StoredValue) (p post) {
	t.Helper()
	field := func(name string) any {
		value, err := v.Field(name)
		ok(t, err)
		return value
	}
	p.Author, p.Text = field("Author").(string), field("Text").(string)
	for _, tag := range field("Tags").([]any) {
		p.Tags = append(p.Tags, tag.(string))
	}
	return p
}

func TestStored_readsOldSchemas(t *testing.T) {
	type older struct{ Name, Gone string }
	type newer struct {
		Name string
		Age  int32
	}
	db := memory(t)
	appendAll(t, db, open[older](t, db, nil), older{"a", "b"})
	var kept *feed.Stored
	view(t, db, func(tx *stoat.Tx) { kept = openStored(t, tx) })
	appendAll(t, db, open[newer](t, db, nil), newer{"c", 7})
	view(t, db, func(tx *stoat.Tx) {
		for _, s := range []*feed.Stored{kept, openStored(t, tx)} {
			got := ""
			for e, err := range s.Query().All(tx) {
				ok(t, err)
				got += fmt.Sprint(e.Value.Names())
			}
			equal(t, got, "[Name Gone][Name Age]")
			fields, err := s.Fields(tx)
			ok(t, err)
			equal(t, fmt.Sprint(fields), "[{Name string} {Age int32}]")
		}
	})
	update(t, db, func(tx *stoat.Tx) { ok(t, tx.DeleteBucket([]byte("feed"))) })
	appendAll(t, db, open[newer](t, db, nil), newer{"c", 7})
	view(t, db, func(tx *stoat.Tx) {
		_, err := kept.Len(tx)
		wantErr(t, err, feed.ErrOutdated)
	})
}

func TestStored_refusesWhatIsNoFeed(t *testing.T) {
	db := memory(t)
	appendAll(t, db, open[post](t, db, nil), post{})
	update(t, db, func(tx *stoat.Tx) {
		_, err := feed.OpenStored(tx, "none")
		wantErr(t, err, stoat.ErrBucketNotFound)
		_, err = tx.CreateBucket([]byte("other"))
		ok(t, err)
		_, err = feed.OpenStored(tx, "other")
		wantErr(t, err, stoat.ErrNotFound)
		root, err := tx.Bucket([]byte("feed"))
		ok(t, err)
		consumers, err := root.Bucket([]byte("consumers"))
		ok(t, err)
		ok(t, consumers.Put([]byte("ahead"), []byte{2}))
		var seen []error
		for _, err := range openStored(t, tx).Consumers(tx) {
			seen = append(seen, err)
		}
		equal(t, len(seen), 1)
		wantErr(t, seen[0], stoat.ErrCorrupt)
		ok(t, root.Put([]byte("format"), []byte("struct 2")))
		_, err = feed.OpenStored(tx, "feed")
		wantErr(t, err, stoat.ErrFormat)
	})
}

func TestStored_sizeIsWhatRetentionLimits(t *testing.T) {
	db := memory(t)
	f := open[[]byte](t, db, nil)
	sizeIs := func(want uint64) {
		t.Helper()
		view(t, db, func(tx *stoat.Tx) {
			got, err := openStored(t, tx).Size(tx)
			ok(t, err)
			equal(t, got, want)
		})
	}
	sizeIs(0)
	appendAll(t, db, f, slices.Repeat([][]byte{make([]byte, 10)}, 20)...)
	sizeIs(200)
	update(t, db, func(tx *stoat.Tx) {
		ok(t, f.Redact(tx, 19))
		ok(t, f.Retain(tx, feed.Retention{Bytes: 55}))
	})
	sizeIs(50)
	update(t, db, func(tx *stoat.Tx) { ok(t, f.Retain(tx, feed.Retention{Count: 1})) })
	sizeIs(10)
}
