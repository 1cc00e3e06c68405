package stoat_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
)

func TestPutUntil_expiresAtTheMoment(t *testing.T) {
	db := memory(t)
	at := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	update(t, db, func(tx *stoat.Tx) {
		ok(t, tx.PutUntil([]byte("copy"), []byte("v"), at))
		ok(t, tx.PutUntil([]byte("late"), []byte("v"), at.Add(1)))
		ok(t, tx.PutUntil([]byte("far"), []byte("v"), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)))
		ok(t, tx.Put([]byte("over"), []byte("earlier")))
		ok(t, tx.PutUntil([]byte("over"), []byte("v"), time.Unix(-5, 0)))
		if err := tx.PutUntil([]byte("never"), []byte("v"), time.Time{}); err == nil {
			t.Error("the zero time is a moment")
		}
		for _, key := range []string{"", string(make([]byte, 70_000))} {
			if tx.PutUntil([]byte(key), nil, at) == nil {
				t.Errorf("a key of %d bytes is stored", len(key))
			}
		}
	})
	ok(t, db.View(func(tx *stoat.Tx) error {
		for key, want := range map[string]time.Time{
			"copy": at, "late": at.Add(time.Millisecond), "far": time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC),
		} {
			c := tx.Cursor()
			if found, _ := c.Seek([]byte(key)); string(found) != key || !c.Expires().Equal(want) {
				t.Errorf("%q expires at %v, want %q at %v", found, c.Expires(), key, want)
			}
		}
		if _, err := tx.Get([]byte("over")); !errors.Is(err, stoat.ErrNotFound) {
			t.Errorf("what has expired is there (%v)", err)
		}
		if err := tx.PutUntil([]byte("k"), nil, at); !errors.Is(err, stoat.ErrReadOnly) {
			t.Errorf("in a read-only transaction it returns %v", err)
		}
		return nil
	}))
}
