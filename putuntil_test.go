package stoat_test

import (
	"errors"
	"fmt"
	"log"
	"strings"
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

// A copy that expires with its original.
func ExampleTx_PutUntil() {
	db := exampleDB()
	defer db.Close()
	err := db.Update(func(tx *stoat.Tx) error {
		at := time.Date(2999, 1, 2, 3, 4, 5, 0, time.UTC)
		if err := tx.PutUntil([]byte("original"), []byte("value"), at); err != nil {
			return err
		}
		c := tx.Cursor()
		_, value := c.Seek([]byte("original"))
		return tx.PutUntil([]byte("copy"), value, c.Expires())
	})
	if err != nil {
		log.Fatal(err)
	}
	err = db.View(func(tx *stoat.Tx) error {
		c := tx.Cursor()
		for key, _ := c.First(); key != nil; key, _ = c.Next() {
			fmt.Printf("%s expires at %v\n", key, c.Expires().UTC())
		}
		return c.Err()
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// copy expires at 2999-01-02 03:04:05 +0000 UTC
	// original expires at 2999-01-02 03:04:05 +0000 UTC
}

func TestPutUntil_refusesMomentsThatNoTextCanTell(t *testing.T) {
	db := memory(t)
	for _, at := range []time.Time{
		time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(1<<62, 0),
	} {
		err := db.Update(func(tx *stoat.Tx) error {
			return tx.PutUntil([]byte("key"), []byte("value"), at)
		})
		if err == nil || !strings.Contains(err.Error(), "use Put") {
			t.Errorf("%v: %v", at, err)
		}
	}
}
