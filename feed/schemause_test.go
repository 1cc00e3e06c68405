package feed_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// The types of a feed, in the order in which it was opened with them, and a type with which it
// never was, but whose entries would look like those of the second and the third.
type (
	note1    struct{ Text string }
	note2    struct{ Text, Title string }
	note3    struct{ Title, Text string }
	stranger struct{ Wrong, Other string }
)

// notes makes a feed of two entries of each of the three types.
func notes(t *testing.T) *stoat.DB {
	t.Helper()
	db := memory(t)
	appendAll(t, db, open[note1](t, db, nil), note1{"1"}, note1{"11"})
	appendAll(t, db, open[note2](t, db, nil), note2{"2", "two"}, note2{"22", ""})
	appendAll(t, db, open[note3](t, db, nil), note3{"three", "3"}, note3{"", "33"})
	return db
}

// noteKey returns the key of a schema, or of an entry.
func noteKey(n int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// inFeed changes a bucket within that of the feed.
func inFeed(t *testing.T, db *stoat.DB, name string, fn func(b *stoat.Bucket)) {
	t.Helper()
	update(t, db, func(tx *stoat.Tx) {
		root, err := tx.Bucket([]byte("feed"))
		ok(t, err)
		b, err := root.Bucket([]byte(name))
		ok(t, err)
		fn(b)
	})
}

// loseSchemas takes the schemas with these numbers away.
func loseSchemas(t *testing.T, db *stoat.DB, numbers ...int) {
	t.Helper()
	inFeed(t, db, "schemas", func(b *stoat.Bucket) {
		for _, n := range numbers {
			ok(t, b.Delete(noteKey(n)))
		}
	})
}

// contents returns all that a bucket contains, by path.
func contents(t *testing.T, b *stoat.Bucket, path string, all map[string]string) map[string]string {
	t.Helper()
	for key, value := range b.Scan(stoat.Range{}) {
		all[path+fmt.Sprintf("/%x", key)] = string(value)
	}
	for name := range b.Buckets() {
		inner, err := b.Bucket(name)
		ok(t, err)
		contents(t, inner, path+"/"+string(name), all)
	}
	return all
}

// stored returns all that the feed stores.
func stored(t *testing.T, db *stoat.DB) (all map[string]string) {
	t.Helper()
	view(t, db, func(tx *stoat.Tx) {
		b, err := tx.Bucket([]byte("feed"))
		ok(t, err)
		all = contents(t, b, "", map[string]string{})
	})
	return all
}

// reindexAs opens and reindexes the feed with a type, and wants the one to fail, and the other to
// succeed or to change nothing.
func reindexAs[T any](t *testing.T, db *stoat.DB, restores bool) {
	t.Helper()
	_, err := feed.Open[T](db, "feed", nil)
	wantErr(t, err, stoat.ErrCorrupt)
	if !strings.Contains(err.Error(), "call feed.Reindex") {
		t.Errorf("the error does not say what to do: %v", err)
	}
	before := stored(t, db)
	_, err = feed.Reindex[T](db, "feed", nil)
	if restores {
		ok(t, err)
		return
	}
	wantErr(t, err, stoat.ErrCorrupt)
	if !strings.Contains(err.Error(), `delete it from the bucket "entries" within "feed"`) {
		t.Errorf("the error does not say what to do: %v", err)
	}
	if !maps.Equal(stored(t, db), before) {
		t.Error("a refusal changes something")
	}
}

func TestReindex_restoresTheSchemaThatIsProven(t *testing.T) {
	for lost := 1; lost < 1<<3; lost++ {
		var numbers []int
		for n := 1; n <= 3; n++ {
			if lost&(1<<(n-1)) != 0 {
				numbers = append(numbers, n)
			}
		}
		is := func(n int) bool { return slices.Equal(numbers, []int{n}) }
		t.Run(fmt.Sprint(numbers), func(t *testing.T) {
			for as, reindex := range []func(db *stoat.DB, restores bool){
				func(db *stoat.DB, _ bool) { reindexAs[stranger](t, db, false) },
				func(db *stoat.DB, restores bool) { reindexAs[note1](t, db, restores) },
				func(db *stoat.DB, restores bool) { reindexAs[note2](t, db, restores) },
				func(db *stoat.DB, restores bool) { reindexAs[note3](t, db, restores) },
			} {
				db := notes(t)
				intact := stored(t, db)
				loseSchemas(t, db, numbers...)
				reindex(db, is(as))
				if is(as) {
					if now := stored(t, db); !maps.Equal(now, intact) {
						t.Errorf("reindexed: %q, want %q", now, intact)
					}
				}
			}
		})
	}
}

func TestReindex_neverLetsASchemaHaveTheNumberOfAnother(t *testing.T) {
	db := salvagedFeed(t, func(b *stoat.Bucket) {
		schemas, err := b.Bucket([]byte("schemas"))
		ok(t, err)
		ok(t, schemas.Delete(noteKey(1)))
	})
	type other struct {
		Wrong string
		Many  []string
		Other string
	}
	for range 2 {
		_, err := feed.Open[other](db, "feed", nil)
		wantErr(t, err, feed.ErrInconsistent)
		_, err = feed.Reindex[other](db, "feed", nil)
		wantErr(t, err, stoat.ErrCorrupt)
		for _, part := range []string{"schema 1 of 19 entries from 0 to 19", "feed_test.other"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("the error does not name %s: %v", part, err)
			}
		}
		err = feed.ReindexStored(db, "feed")
		wantErr(t, err, stoat.ErrCorrupt)
		if !strings.Contains(err.Error(), "call feed.Reindex with the type") {
			t.Errorf("the error does not say what to do: %v", err)
		}
	}
	f, err := feed.Reindex(db, "feed", &feed.Options[post]{Sublogs: sublogs()})
	ok(t, err)
	checkMended(t, db, f, "", nil)
}

func TestReindex_needsNoSchemaThatNoEntryHas(t *testing.T) {
	db := notes(t)
	inFeed(t, db, "entries", func(b *stoat.Bucket) {
		ok(t, b.DeleteRange(stoat.Range{Start: noteKey(2), End: noteKey(4)}))
	})
	loseSchemas(t, db, 2)
	ok(t, feed.ReindexStored(db, "feed"))
	f := open[note2](t, db, nil) // its schema is new, with a number that no entry has
	appendAll(t, db, f, note2{"7", "seven"})
	view(t, db, func(tx *stoat.Tx) {
		got := ""
		for e, err := range f.Query().All(tx) {
			ok(t, err)
			got += fmt.Sprint(e.Seq, " ", e.Value, " ")
		}
		equal(t, got, "0 {1 } 1 {11 } 4 {3 three} 5 {33 } 6 {7 seven} ")
	})
}

func TestReindex_provesNothingWithoutTheState(t *testing.T) {
	db := notes(t)
	loseSchemas(t, db, 3)
	update(t, db, func(tx *stoat.Tx) {
		root, err := tx.Bucket([]byte("feed"))
		ok(t, err)
		ok(t, root.Delete([]byte("state")))
	})
	_, err := feed.Reindex[note3](db, "feed", nil)
	wantErr(t, err, stoat.ErrCorrupt)
	inFeed(t, db, "entries", func(b *stoat.Bucket) { // as the error says
		ok(t, b.DeleteRange(stoat.Range{Start: noteKey(4)}))
	})
	f, err := feed.Reindex[note3](db, "feed", nil)
	ok(t, err)
	wantSeqs(t, db, f.Query(), 0, 1, 2, 3)
}
