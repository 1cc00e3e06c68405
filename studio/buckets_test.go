package studio

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
	"github.com/stoatdb/stoat/record"
)

func TestBuckets_areListedByPages(t *testing.T) {
	const n = 3_000
	db := memory(t)
	var want []string
	update(t, db, func(tx *stoat.Tx) error {
		outer, err := tx.CreateBucket([]byte("outer"))
		ok(t, err)
		for i := range n {
			name := fmt.Sprintf("%04d.%c", i, i%256)
			want = append(want, name)
			_, err := outer.CreateBucket([]byte(name))
			ok(t, err)
		}
		return nil
	})
	b := browse(t, New(db, nil))
	var got []string
	for after, pages := "", 0; after != "" || pages == 0; pages++ {
		page := get[bucketsAnswer](b, "buckets", "path", path("outer"), "limit", "499", "after", after)
		if len(page.Buckets) > 499 {
			t.Fatalf("%d buckets", len(page.Buckets))
		}
		for _, row := range page.Buckets {
			if names, good := parsePath(row.Path); !good || len(names) != 2 ||
				string(names[1]) != string(row.Name.Base64) {
				t.Fatalf("%+v", row)
			}
			got = append(got, string(row.Name.Base64))
		}
		after = page.Next
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d buckets, want %d: %.200q", len(got), n, got)
	}
	row := get[bucketsAnswer](b, "buckets").Buckets[0]
	if one := get[bucketRow](b, "bucket", "path", path("outer")); one.Path != row.Path ||
		*one.Name.Text != "outer" || one.Kind != row.Kind {
		t.Errorf("%+v", one)
	}
	equal(t, get[bucketRow](b, "bucket").Path, "")
	if string(row.Name.Base64) != "outer" || row.Path != path("outer") || row.Keys != 0 {
		t.Errorf("%+v", row)
	}
}

func TestBuckets_areShownWhateverTheirNames(t *testing.T) {
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) error {
		for _, name := range hostile {
			_, err := tx.CreateBucket([]byte(name))
			ok(t, err)
		}
		return nil
	})
	b := browse(t, New(db, nil))
	for _, row := range get[bucketsAnswer](b, "buckets").Buckets {
		names, good := parsePath(row.Path)
		if !good || !slices.Contains(hostile, string(names[0])) || row.Name.Size != len(names[0]) {
			t.Errorf("%.200v", row)
		}
		equal(t, get[bucketRow](b, "bucket", "path", row.Path).Path, row.Path)
		if inner := get[bucketsAnswer](b, "buckets", "path", row.Path); len(inner.Buckets) != 0 {
			t.Errorf("within %q: %v", names[0], inner)
		}
	}
}

// note is a record and an entry of the tests.
type note struct {
	ID   uint64 `stoat:"id,key"`
	Text string
}

func TestBuckets_tellWhatTheyHold(t *testing.T) {
	db := memory(t)
	_, err := record.Open[note](db, "notes", nil)
	ok(t, err)
	_, err = feed.Open[note](db, "log", nil)
	ok(t, err)
	update(t, db, func(tx *stoat.Tx) error {
		for _, name := range []string{"plain", "meta", "entries"} {
			b, err := tx.CreateBucket([]byte(name))
			ok(t, err)
			_, err = b.CreateBucket([]byte("meta"))
			ok(t, err)
			ok(t, b.Put([]byte("key"), []byte("value")))
		}
		return nil
	})
	b := browse(t, New(db, nil))
	for _, row := range get[bucketsAnswer](b, "buckets").Buckets {
		want := plainBucket
		switch string(row.Name.Base64) {
		case "notes":
			want = collectionBucket
		case "log":
			want = feedBucket
		default:
			if row.Keys != 1 || row.Bytes != 8 {
				t.Errorf("%+v", row)
			}
		}
		equal(t, row.Kind, want)
	}
}

func TestBuckets_addWhatCollectionsAndFeedsAreMadeOf(t *testing.T) {
	db := memory(t)
	notes, err := record.Open(db, "notes", &record.Options[note]{
		Indexes: []record.Index{{Name: "text", Fields: []string{"Text"}}},
	})
	ok(t, err)
	log, err := feed.Open[note](db, "log", nil)
	ok(t, err)
	text := strings.Repeat("x", 1000)
	update(t, db, func(tx *stoat.Tx) error {
		ok(t, notes.Put(tx, &note{ID: 1, Text: text}))
		for range 3 {
			_, err := log.Append(tx, &note{Text: text})
			ok(t, err)
		}
		return nil
	})
	rows := get[bucketsAnswer](browse(t, New(db, nil)), "buckets").Buckets
	if row := rows[0]; row.Keys != 3 || row.Bytes < 3000 {
		t.Errorf("a feed of 3 entries of 1 kB: %+v", row)
	}
	if row := rows[1]; row.Keys != 1 || row.Bytes < 2000 {
		t.Errorf("a record of 1 kB that is indexed: %+v", row)
	}
}
