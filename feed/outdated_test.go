package feed_test

import (
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// number is an entry that is not a post.
type number struct{ N float64 }

// appendErr returns what appending an entry fails with.
func appendErr[T any](db *stoat.DB, f *feed.Feed[T]) error {
	return db.Update(func(tx *stoat.Tx) error {
		_, err := f.Append(tx, new(T))
		return err
	})
}

// drop deletes the feed.
func drop(t testing.TB, db *stoat.DB) {
	t.Helper()
	update(t, db, func(tx *stoat.Tx) { ok(t, tx.DeleteBucket([]byte("feed"))) })
}

func TestFeed_isOutdatedOnceAnotherTypeIsStored(t *testing.T) {
	db := memory(t)
	old := open(t, db, &feed.Options[post]{Sublogs: sublogs()})
	appendAll(t, db, old, numbered(3)...)
	drop(t, db)
	wantErr(t, appendErr(db, old), stoat.ErrBucketNotFound)

	f := open[number](t, db, nil)
	appendAll(t, db, f, number{1}, number{2})
	wantErr(t, appendErr(db, old), feed.ErrOutdated)
	view(t, db, func(tx *stoat.Tx) {
		_, err := old.Get(tx, 0)
		wantErr(t, err, feed.ErrOutdated)
		told := 0
		for _, err := range old.Query().All(tx) {
			wantErr(t, err, feed.ErrOutdated)
			told++
		}
		equal(t, told, 1)
	})
	wantErr(t, old.Consume(t.Context(), db, "c", record), feed.ErrOutdated)
	wantSeqs(t, db, f.Query(), 0, 1)

	drop(t, db)
	open(t, db, &feed.Options[number]{Encoding: feed.EncodingJSON})
	wantErr(t, appendErr(db, f), feed.ErrOutdated)
}

func TestFeed_isOutdatedInATransactionOfAnotherDatabase(t *testing.T) {
	one, other := memory(t), memory(t)
	f, g := open[post](t, one, nil), open[number](t, other, nil)
	wantErr(t, appendErr(other, f), feed.ErrOutdated)
	wantErr(t, appendErr(one, g), feed.ErrOutdated)
	ok(t, appendErr(one, f))
	ok(t, appendErr(other, g))
}

func TestFeed_isOutdatedWithoutItsSchema(t *testing.T) {
	type newer struct{ Author, Title string }
	db := memory(t)
	open[post](t, db, nil)
	second := open[newer](t, db, nil)
	drop(t, db)
	f := open[post](t, db, nil)
	wantErr(t, appendErr(db, second), feed.ErrOutdated)
	open[newer](t, db, nil) // now the feed is as it was
	appendAll(t, db, second, newer{Author: "alice"})
	view(t, db, func(tx *stoat.Tx) {
		got, err := f.Get(tx, 0)
		ok(t, err)
		equal(t, got.Author, "alice")
	})
}

func TestFeed_followsSchemasInAnyOrder(t *testing.T) {
	type newer struct{ Author, Title string }
	db := memory(t)
	f := open[post](t, db, nil)
	appendAll(t, db, f, numbered(1)...)
	before, err := db.Begin(false)
	ok(t, err)
	g := open[newer](t, db, nil)
	appendAll(t, db, g, newer{Author: "carol"})
	for range 2 {
		appendAll(t, db, f, post{Author: "dave"})
		want := func(tx *stoat.Tx, n uint64, author string) {
			t.Helper()
			p, err := f.Get(tx, n)
			ok(t, err)
			q, err := g.Get(tx, n)
			ok(t, err)
			equal(t, p.Author, author)
			equal(t, q.Author, author)
		}
		want(before, 0, "alice") // which lacks a schema
		view(t, db, func(tx *stoat.Tx) { want(tx, 1, "carol"); want(tx, 2, "dave") })
	}
	ok(t, before.Rollback())
}

func TestAppend_isForgottenIfTheFeedIsDeletedLater(t *testing.T) {
	db := memory(t)
	f := open(t, db, &feed.Options[post]{
		Sublogs: sublogs(), Retention: feed.Retention{Count: 1},
	})
	update(t, db, func(tx *stoat.Tx) {
		for range 3 {
			_, err := f.Append(tx, &post{Author: "x"})
			ok(t, err)
		}
		ok(t, f.Redact(tx, 2))
		ok(t, tx.DeleteBucket([]byte("feed")))
	})
	wantErr(t, appendErr(db, f), stoat.ErrBucketNotFound)
}

func TestAppend_namesTheFeedIfTheCommitFails(t *testing.T) {
	db := memory(t)
	f := open(t, db, &feed.Options[post]{Sublogs: sublogs()})
	err := db.Update(func(tx *stoat.Tx) error {
		_, err := f.Append(tx, &post{Author: "x"})
		ok(t, err)
		b, err := tx.Bucket([]byte("feed"))
		ok(t, err)
		return b.DeleteBucket([]byte("sublogs"))
	})
	wantErr(t, err, stoat.ErrBucketNotFound)
	if !strings.HasPrefix(err.Error(), `feed "feed": `) {
		t.Errorf("the error is %v", err)
	}
}

func TestFeed_refusesToWriteInAView(t *testing.T) {
	db := memory(t)
	f := open[post](t, db, nil)
	view(t, db, func(tx *stoat.Tx) {
		_, err := f.Append(tx, &post{})
		for name, err := range map[string]error{
			"append": err, "redact": f.Redact(tx, 0), "cursor": f.SetCursor(tx, "c", 0),
			"retain": f.Retain(tx, feed.Retention{}), "drop": f.DropSublog(tx, "author"),
		} {
			wantErr(t, err, stoat.ErrReadOnly)
			if !strings.HasPrefix(err.Error(), `feed "feed": write in an Update`) {
				t.Errorf("%s: the error is %v", name, err)
			}
		}
	})
}

func TestAppend_addsAtMostAChunkToADroppedSublog(t *testing.T) {
	db := memory(t)
	f := open(t, db, &feed.Options[number]{Sublogs: map[string]func(*number) []string{
		"all": func(*number) []string { return []string{"x"} },
	}})
	without := open[number](t, db, nil)
	const n = 1 << 16
	appendAll(t, db, without, make([]number, n)...)
	appendAll(t, db, f, number{})
	update(t, db, func(tx *stoat.Tx) { ok(t, without.DropSublog(tx, "all")) })
	wantErr(t, appendErr(db, f), feed.ErrOutdated)
	ok(t, appendErr(db, without))

	f = open(t, db, &feed.Options[number]{Sublogs: map[string]func(*number) []string{
		"all": func(*number) []string { return []string{"x"} },
	}})
	ok(t, appendErr(db, f))
	view(t, db, func(tx *stoat.Tx) {
		count, err := f.Query().Where(feed.In("all", "x")).Count(tx)
		ok(t, err)
		equal(t, count, n+3)
	})
}
