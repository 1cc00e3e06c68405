package feed_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// salvagedFeed makes a feed of 20 entries, of which 3 is redacted, has fn take something away from
// its bucket behind its back, and salvages the database after a loss elsewhere.
func salvagedFeed(t *testing.T, lose func(b *stoat.Bucket)) *stoat.DB {
	t.Helper()
	damaged, dir := filepath.Join(t.TempDir(), "damaged"), filepath.Join(t.TempDir(), "salvaged")
	db, err := stoat.Open(damaged, nil)
	ok(t, err)
	f := open(t, db, &feed.Options[post]{Sublogs: sublogs()})
	appendAll(t, db, f, numbered(20)...)
	update(t, db, func(tx *stoat.Tx) {
		ok(t, f.Redact(tx, 3))
		ok(t, f.SetCursor(tx, "reader", 20))
	})
	update(t, db, func(tx *stoat.Tx) {
		b, err := tx.Bucket([]byte("feed"))
		ok(t, err)
		lose(b)
	})
	ok(t, db.Compact(context.Background()))
	ok(t, db.Put([]byte("elsewhere"), nil))
	ok(t, db.Flush())
	ok(t, db.Close())
	tables, err := filepath.Glob(filepath.Join(damaged, "*.table"))
	ok(t, err)
	ok(t, os.Remove(slices.Max(tables)))
	report, err := stoat.Salvage(context.Background(), damaged, dir)
	ok(t, err)
	if !report.Lost() {
		t.Fatalf("nothing is lost: %s", report)
	}
	db, err = stoat.Open(dir, nil)
	ok(t, err)
	t.Cleanup(func() { ok(t, db.Close()) })
	return db
}

func TestOpen_noticesWhatASalvageHasLost(t *testing.T) {
	seq := func(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
	in := func(b *stoat.Bucket, path ...string) *stoat.Bucket {
		for _, name := range path {
			var err error
			b, err = b.Bucket([]byte(name))
			ok(t, err)
		}
		return b
	}
	for _, c := range []struct {
		name string
		lose func(b *stoat.Bucket)
		kept []uint64
	}{
		{"an entry", func(b *stoat.Bucket) { ok(t, in(b, "entries").Delete(seq(7))) }, []uint64{7}},
		{"the first", func(b *stoat.Bucket) {
			ok(t, in(b, "entries").DeleteRange(stoat.Range{End: seq(5)}))
		}, []uint64{0, 1, 2, 3, 4}},
		{"the last", func(b *stoat.Bucket) { ok(t, in(b, "entries").Delete(seq(19))) }, []uint64{19}},
		{"all", func(b *stoat.Bucket) { ok(t, b.DeleteBucket([]byte("entries"))) }, nil},
		{"the state", func(b *stoat.Bucket) { ok(t, b.Delete([]byte("state"))) }, nil},
		{"the redacted", func(b *stoat.Bucket) { ok(t, b.DeleteBucket([]byte("redacted"))) }, nil},
		{"a redaction", func(b *stoat.Bucket) {
			ok(t, in(b, "redacted").Delete(append(seq(0), 1)))
		}, nil},
		{"a list", func(b *stoat.Bucket) {
			ok(t, in(b, "sublogs", "author").Delete(append(seq(0), "\x01alice"...)))
		}, nil},
		{"a sublog", func(b *stoat.Bucket) { ok(t, in(b, "sublogs").DeleteBucket([]byte("tag"))) }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := salvagedFeed(t, c.lose)
			_, err := feed.Open(db, "feed", &feed.Options[post]{Sublogs: sublogs()})
			wantErr(t, err, feed.ErrInconsistent)
			for _, part := range []string{"feed.Reindex", "stoat record reindex"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not say %s: %v", part, err)
				}
			}
			f, err := feed.Reindex(db, "feed", &feed.Options[post]{Sublogs: sublogs()})
			ok(t, err)
			checkMended(t, db, f, c.name, c.kept)
		})
	}
}

// checkMended checks a feed that has lost the entries.
func checkMended(t *testing.T, db *stoat.DB, f *feed.Feed[post], name string, lost []uint64) {
	t.Helper()
	want := map[string][]uint64{}
	for i, p := range numbered(20) {
		if i != 3 && name != "all" && !slices.Contains(lost, uint64(i)) {
			want[""] = append(want[""], uint64(i))
			want[p.Author] = append(want[p.Author], uint64(i))
		}
	}
	wantSeqs(t, db, f.Query(), want[""]...)
	for author, seqs := range want {
		if author != "" {
			wantSeqs(t, db, f.Query().Where(feed.In("author", author)), seqs...)
		}
	}
	update(t, db, func(tx *stoat.Tx) {
		at, err := f.Cursor(tx, "reader")
		ok(t, err)
		n, err := f.Append(tx, &post{Author: "alice"})
		ok(t, err)
		if at != 20 || n != 20 {
			t.Errorf("the consumer is at %d, and the next entry is %d", at, n)
		}
	})
	open(t, db, &feed.Options[post]{Sublogs: sublogs()})
}

func TestOpen_keepsThatItHasCheckedASalvage(t *testing.T) {
	db := salvagedFeed(t, func(*stoat.Bucket) {})
	f := open(t, db, &feed.Options[post]{Sublogs: sublogs()})
	view(t, db, func(tx *stoat.Tx) {
		b, err := tx.Bucket([]byte("feed"))
		ok(t, err)
		if p, err := b.Get([]byte("salvage")); len(p) == 0 || err != nil {
			t.Errorf("kept is %x, %v", p, err)
		}
	})
	checkMended(t, db, f, "", nil)
	update(t, db, func(tx *stoat.Tx) {
		_, err := tx.CreateBucket([]byte("lost-7"))
		ok(t, err)
	})
	_, err := feed.Open[post](db, "new", nil)
	if err == nil || !strings.Contains(err.Error(), "lost-7") {
		t.Errorf("a feed is made beside a bucket without a name: %v", err)
	}
}

func TestReindex_saysHowToMendACursor(t *testing.T) {
	for _, value := range damagedCursors {
		db := salvagedFeed(t, func(b *stoat.Bucket) {
			consumers, err := b.Bucket([]byte("consumers"))
			ok(t, err)
			ok(t, consumers.Put([]byte("reader"), []byte(value)))
		})
		_, err := feed.Open[post](db, "feed", nil)
		wantErr(t, err, feed.ErrInconsistent)
		wantErr(t, err, stoat.ErrCorrupt)
		err = feed.ReindexStored(db, "feed") // which does not guess it
		wantErr(t, err, stoat.ErrCorrupt)
		if !strings.Contains(err.Error(), `bucket "consumers" within "feed", delete the key "reader"`) {
			t.Errorf("the error does not say what to do: %v", err)
		}
		inFeed(t, db, "consumers", func(b *stoat.Bucket) { ok(t, b.Delete([]byte("reader"))) })
		f, err := feed.Reindex[post](db, "feed", nil)
		ok(t, err)
		view(t, db, func(tx *stoat.Tx) {
			at, err := f.Cursor(tx, "reader")
			ok(t, err)
			equal(t, at, 0)
		})
	}
}

func TestReindex_saysHowToGiveAnEntryUp(t *testing.T) {
	for _, value := range []string{
		"", "\x07", "\x01", "\x01\x01\x80", "\x01\x01\x01", "\x01\x01\x01\x80",
	} {
		db := memory(t)
		f := open[post](t, db, nil)
		appendAll(t, db, f, numbered(4)...)
		inFeed(t, db, "entries", func(b *stoat.Bucket) { ok(t, b.Put(noteKey(1), []byte(value))) })
		err := feed.ReindexStored(db, "feed")
		wantErr(t, err, stoat.ErrCorrupt)
		for _, part := range []string{"entry 1", `delete it from the bucket "entries" within "feed"`} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("the error of %x does not say %s: %v", value, part, err)
			}
		}
		inFeed(t, db, "entries", func(b *stoat.Bucket) { ok(t, b.Delete(noteKey(1))) })
		f, err = feed.Reindex[post](db, "feed", nil)
		ok(t, err)
		wantSeqs(t, db, f.Query(), 0, 2, 3)
	}
}

func TestReindex_refusesANewerFormat(t *testing.T) {
	for key, value := range map[string]string{"format": "struct 2", "state": "\x02"} {
		db := memory(t)
		appendAll(t, db, open[post](t, db, nil), numbered(4)...)
		update(t, db, func(tx *stoat.Tx) {
			b, err := tx.Bucket([]byte("feed"))
			ok(t, err)
			ok(t, b.Put([]byte(key), []byte(value)))
		})
		before := stored(t, db)
		wantErr(t, feed.ReindexStored(db, "feed"), stoat.ErrFormat)
		if !maps.Equal(stored(t, db), before) {
			t.Errorf("a newer %s is changed", key)
		}
	}
}

func TestReindex_takesNoBucketForLostThatMayHaveLostItsName(t *testing.T) {
	for _, name := range []string{"entries", "consumers", "schemas"} {
		db := notes(t)
		whole := stored(t, db)
		update(t, db, func(tx *stoat.Tx) {
			b, err := tx.Bucket([]byte("feed"))
			ok(t, err)
			ok(t, b.MoveBucket([]byte(name), tx, []byte("lost-9")))
		})
		before := stored(t, db)
		err := feed.ReindexStored(db, "feed")
		if want := fmt.Sprintf(`its bucket %q may be the bucket "lost-9"`, name); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Fatalf("reindexed without %s: %v", name, err)
		}
		if !maps.Equal(stored(t, db), before) {
			t.Errorf("a refusal without %s changes something", name)
		}
		update(t, db, func(tx *stoat.Tx) {
			b, err := tx.Bucket([]byte("feed"))
			ok(t, err)
			ok(t, tx.MoveBucket([]byte("lost-9"), b, []byte(name)))
		})
		ok(t, feed.ReindexStored(db, "feed"))
		if !maps.Equal(stored(t, db), whole) {
			t.Errorf("%s is not as it was", name)
		}
	}
}

func TestReindex_restoresTheFormatThatIsProven(t *testing.T) {
	db := salvagedFeed(t, func(b *stoat.Bucket) { ok(t, b.Delete([]byte("format"))) })
	_, err := feed.Open[post](db, "feed", nil)
	wantErr(t, err, feed.ErrInconsistent)
	_, err = feed.Reindex(db, "feed", &feed.Options[post]{Encoding: feed.EncodingJSON})
	wantErr(t, err, stoat.ErrNotFound)
	_, err = feed.Reindex[[]byte](db, "feed", nil)
	wantErr(t, err, stoat.ErrNotFound)
	err = feed.ReindexStored(db, "feed")
	wantErr(t, err, stoat.ErrNotFound)
	if !strings.Contains(err.Error(), "call feed.Reindex with the type and the encoding") {
		t.Errorf("the error does not say what to do: %v", err)
	}
	f, err := feed.Reindex(db, "feed", &feed.Options[post]{Sublogs: sublogs()})
	ok(t, err)
	checkMended(t, db, f, "", nil)
}

func TestReindex_isNoWayToMakeAFeed(t *testing.T) {
	db := memory(t)
	wantErr(t, feed.ReindexStored(db, "none"), stoat.ErrBucketNotFound)
	update(t, db, func(tx *stoat.Tx) {
		_, err := tx.CreateBucket([]byte("plain"))
		ok(t, err)
	})
	if err := feed.ReindexStored(db, "plain"); !errors.Is(err, stoat.ErrNotFound) {
		t.Errorf("a bucket that is no feed: %v", err)
	}
	_, err := feed.Reindex[post](db, "plain", nil)
	wantErr(t, err, stoat.ErrNotFound)
}
