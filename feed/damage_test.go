package feed_test

import (
	"encoding/binary"
	"errors"
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
