package feed_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// TestFeed_reportsDamage puts something else where the feed has stored something, and wants what
// reads it to report that, and nothing to panic.
func TestFeed_reportsDamage(t *testing.T) {
	seq := func(n uint64) string { return string(binary.BigEndian.AppendUint64(nil, n)) }
	get := func(tx *stoat.Tx, f *feed.Feed[post]) error { _, err := f.Get(tx, 1); return err }
	all := func(q feed.Query[post]) func(tx *stoat.Tx, f *feed.Feed[post]) error {
		return func(tx *stoat.Tx, _ *feed.Feed[post]) error {
			for _, err := range q.All(tx) {
				if err != nil {
					return err
				}
			}
			return nil
		}
	}
	db := memory(t)
	f := open(t, db, &feed.Options[post]{Sublogs: sublogs()})
	appendAll(t, db, f, numbered(4)...)
	alice := f.Query().Where(feed.In("author", "alice"))
	for _, c := range []struct {
		name, key string
		path      []string
		value     string // empty: the key is deleted
		read      func(tx *stoat.Tx, f *feed.Feed[post]) error
	}{
		{"no entry", seq(1), []string{"entries"}, "", get},
		{"kind", seq(1), []string{"entries"}, "\x07abc", get},
		{"no time", seq(1), []string{"entries"}, "\x01", get},
		{"no offset", seq(1), []string{"entries"}, "\x01\x01\x80", all(f.Query())},
		{"no schema", seq(1), []string{"entries"}, "\x01\x01\x01\x63abcd", all(f.Query())},
		{"short record", seq(1), []string{"entries"}, "\x01\x01\x01\x01", get},
		{"key", seq(1) + "x", []string{"entries"}, "\x01\x01\x01", all(f.Query().Reverse().Limit(9))},
		{"list", seq(0) + "\x01alice", []string{"sublogs", "author"}, "\x09", all(alice)},
		{"redacted", seq(0) + "\x01", []string{"redacted"}, "\x02", all(alice)},
		{"state", "state", nil, "\x01\x05", get},
		{"order of state", "state", nil, "\x01\x05\x04\x00\x00\x00\x0012345678", get},
	} {
		t.Run(c.name, func(t *testing.T) {
			tx, err := db.Begin(true) // never committed
			ok(t, err)
			defer func() { ok(t, tx.Rollback()) }()
			b, err := tx.Bucket([]byte("feed"))
			ok(t, err)
			for _, name := range c.path {
				b, err = b.Bucket([]byte(name))
				ok(t, err)
			}
			if c.value == "" {
				ok(t, b.Delete([]byte(c.key)))
			} else {
				ok(t, b.Put([]byte(c.key), []byte(c.value)))
			}
			if err := c.read(tx, f); !errors.Is(err, stoat.ErrCorrupt) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// damagedCursors are stored cursors that are not one number each.
var damagedCursors = []string{"", "\x80", "\x01\x00"}

func TestFeed_reportsADamagedCursor(t *testing.T) {
	db := memory(t)
	f := open[post](t, db, nil)
	appendAll(t, db, f, numbered(4)...)
	for _, value := range damagedCursors {
		update(t, db, func(tx *stoat.Tx) {
			root, err := tx.Bucket([]byte("feed"))
			ok(t, err)
			b, err := root.Bucket([]byte("consumers"))
			ok(t, err)
			ok(t, b.Put([]byte("c"), []byte(value)))
			_, err = f.Cursor(tx, "c")
			wantErr(t, err, stoat.ErrCorrupt)
			for _, err = range openStored(t, tx).Consumers(tx) {
			}
			wantErr(t, err, stoat.ErrCorrupt)
		})
		wantErr(t, f.Consume(t.Context(), db, "c", record), stoat.ErrCorrupt)
	}
	wantHandled(t, db)
}

// schemas returns the bucket of the schemas of a test's feed.
func schemas(t testing.TB, tx *stoat.Tx) *stoat.Bucket {
	t.Helper()
	root, err := tx.Bucket([]byte("feed"))
	ok(t, err)
	b, err := root.Bucket([]byte("schemas"))
	ok(t, err)
	return b
}

func TestOpen_refusesASchemaUnderAnotherNumber(t *testing.T) {
	db := memory(t)
	appendAll(t, db, open[post](t, db, nil), post{})
	update(t, db, func(tx *stoat.Tx) {
		b := schemas(t, tx)
		stored, err := b.Get([]byte{7: 1})
		ok(t, err)
		stored = slices.Clone(stored)
		stored[1] = 2 // its number
		ok(t, b.Put([]byte{7: 1}, stored))
	})
	_, err := feed.Open[post](db, "feed", nil)
	wantErr(t, err, stoat.ErrCorrupt)
	if !strings.Contains(err.Error(), "has the number 2") {
		t.Errorf("the error does not name the number: %v", err)
	}
}

func TestFeed_reportsASchemaUnderAnotherNumber(t *testing.T) {
	type newer struct{ Text, Title string }
	db := memory(t)
	f := open[post](t, db, nil)
	appendAll(t, db, open[newer](t, db, nil), newer{"a", "b"})
	update(t, db, func(tx *stoat.Tx) {
		_, err := f.Len(tx) // it learns that there is a second schema, but does not read it yet
		ok(t, err)
		untyped := openStored(t, tx)
		b := schemas(t, tx)
		first, err := b.Get([]byte{7: 1})
		ok(t, err)
		ok(t, b.Put([]byte{7: 2}, first))
		_, err = f.Get(tx, 0)
		wantErr(t, err, stoat.ErrCorrupt)
		e, err := untyped.Query().First(tx)
		ok(t, err)
		_, err = e.Value.Field("Text")
		wantErr(t, err, stoat.ErrCorrupt)
		_, err = untyped.Fields(tx)
		wantErr(t, err, stoat.ErrCorrupt)
	})
}

func TestOpen_refusesANewerFormat(t *testing.T) {
	db := memory(t)
	open[post](t, db, nil)
	for key, value := range map[string]string{"format": "struct 2", "state": "\x02"} {
		err := db.Update(func(tx *stoat.Tx) error {
			b, err := tx.Bucket([]byte("feed"))
			ok(t, err)
			return b.Put([]byte(key), []byte(value))
		})
		ok(t, err)
		if _, err := feed.Open[post](db, "feed", nil); err == nil {
			t.Errorf("%s %q was opened", key, value)
		}
	}
}
