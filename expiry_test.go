package stoat_test

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// wantAbsent fails the test if a key can be seen in any way.
func wantAbsent(t *testing.T, s stoat.KeySpace, key string) {
	t.Helper()
	_, err := s.Get([]byte(key))
	wantErr(t, err, stoat.ErrNotFound)
	has, err := s.Has([]byte(key))
	ok(t, err)
	equal(t, has, false)
	for k := range s.Keys(stoat.Range{}) {
		equal(t, string(k) == key, false)
	}
	for k := range s.Scan(stoat.Range{Reverse: true}) {
		equal(t, string(k) == key, false)
	}
	if k, _ := s.Cursor().Seek([]byte(key)); string(k) == key {
		t.Errorf("the cursor finds %q", key)
	}
}

func TestPutTTL_hidesAKeyFromItsMomentOn(t *testing.T) {
	for name, settle := range map[string]func(db *stoat.DB) error{
		"in the memtable": func(*stoat.DB) error { return nil },
		"in a table":      (*stoat.DB).Flush,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := openOn(t, memfs.New(), nil)
				update(t, db, func(tx *stoat.Tx) {
					put(t, tx, "a", "b", "c")
					ok(t, tx.PutTTL([]byte("b"), []byte("v-b"), time.Minute))
				})
				ok(t, settle(db))
				<-time.After(time.Minute - time.Millisecond)
				view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx, "a", "b", "c") })
				tx := begin(t, db, false)
				<-time.After(time.Millisecond)
				wantAbsent(t, tx, "b")
				update(t, db, func(tx *stoat.Tx) {
					wantAbsent(t, tx, "b")
					swapped, err := tx.CompareAndSwap([]byte("b"), nil, []byte("v-b"))
					ok(t, err)
					equal(t, swapped, true)
				})
				<-time.After(time.Hour)
				view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx, "a", "b", "c") })
				ok(t, db.Close())
			})
		})
	}
}

func TestPutTTL_givesItsSpaceBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := openOn(t, memfs.New(), nil)
		update(t, db, func(tx *stoat.Tx) {
			for i := range 10_000 {
				ok(t, tx.PutTTL(benchKey(i), fmt.Append(nil, i), time.Duration(1+i%10)*time.Hour))
			}
			put(t, tx, "stays")
		})
		ok(t, db.Flush())
		<-time.After(5*time.Hour + time.Minute)
		if n := db.Stats().Entries; n > 10_000*2/3 {
			t.Errorf("%d entries are left when half have expired", n)
		}
		<-time.After(10 * time.Hour)
		if n := db.Stats().Entries; n > 3000 {
			t.Errorf("%d entries are left when all but one have expired", n)
		}
		view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx, "stays") })
		ok(t, db.Close())
	})
}

func TestPutTTL_takesTheLongestTime(t *testing.T) {
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) { ok(t, tx.PutTTL([]byte("a"), []byte("v-a"), math.MaxInt64)) })
	view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx, "a") })
}

func TestPutTTL_takesNoTimeThatHasPassed(t *testing.T) {
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) {
		for _, ttl := range []time.Duration{0, -time.Second} {
			if err := tx.PutTTL([]byte("a"), nil, ttl); err == nil {
				t.Errorf("a time to live of %v is taken", ttl)
			}
		}
		wantErr(t, tx.PutTTL(nil, nil, time.Hour), stoat.ErrInvalidKey)
		wantKeys(t, tx)
	})
	view(t, db, func(tx *stoat.Tx) {
		wantErr(t, tx.PutTTL([]byte("a"), nil, time.Hour), stoat.ErrReadOnly)
	})
}

// wantTTL wants a key to expire after that time, or if that is 0, never.
func wantTTL(t *testing.T, s stoat.KeySpace, key string, want time.Duration) {
	t.Helper()
	ttl, expires, err := s.TTL([]byte(key))
	ok(t, err)
	equal(t, ttl, want)
	equal(t, expires, want > 0)
	c := s.Cursor()
	c.Seek([]byte(key))
	if at := c.Expires(); at.IsZero() != (want == 0) || want > 0 && time.Until(at) != want {
		t.Errorf("the cursor says that %q expires at %v, want in %v", key, at, want)
	}
}

func TestTTL_tellsHowLongAKeyStays(t *testing.T) {
	for name, settle := range map[string]func(db *stoat.DB) error{
		"in the memtable": func(*stoat.DB) error { return nil },
		"in a table":      (*stoat.DB).Flush,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := openOn(t, memfs.New(), nil)
				update(t, db, func(tx *stoat.Tx) {
					ok(t, tx.PutTTL([]byte("a"), make([]byte, 10_000), time.Hour))
					put(t, create(t, tx, "bucket"), "b")
					wantTTL(t, tx, "a", time.Hour)
				})
				ok(t, db.PutTTL([]byte("c"), nil, time.Minute))
				ok(t, settle(db))
				<-time.After(time.Second)
				for _, writable := range []bool{false, true} {
					tx := begin(t, db, writable)
					wantTTL(t, tx, "a", time.Hour-time.Second)
					wantTTL(t, tx, "c", time.Minute-time.Second)
					wantTTL(t, bucket(t, tx, "bucket"), "b", 0)
					_, _, err := tx.TTL([]byte("none"))
					wantErr(t, err, stoat.ErrNotFound)
					_, _, err = tx.TTL(nil)
					wantErr(t, err, stoat.ErrInvalidKey)
					ok(t, tx.Rollback())
				}
				<-time.After(time.Minute)
				view(t, db, func(tx *stoat.Tx) {
					_, _, err := tx.TTL([]byte("c"))
					wantErr(t, err, stoat.ErrNotFound)
					wantTTL(t, tx, "a", time.Hour-time.Minute-time.Second)
				})
				ok(t, db.Put([]byte("a"), nil))
				view(t, db, func(tx *stoat.Tx) { wantTTL(t, tx, "a", 0) })
				ok(t, db.Close())
			})
		})
	}
}

func TestCompareAndSwap_keepsTheExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := openOn(t, memfs.New(), nil)
		ok(t, db.PutTTL([]byte("a"), []byte("1"), time.Hour))
		<-time.After(time.Minute)
		update(t, db, func(tx *stoat.Tx) {
			swapped, err := tx.CompareAndSwap([]byte("a"), []byte("1"), []byte("2"))
			ok(t, err)
			equal(t, swapped, true)
			_, err = tx.CompareAndSwap([]byte("new"), nil, []byte("1"))
			ok(t, err)
			wantTTL(t, tx, "new", 0)
		})
		view(t, db, func(tx *stoat.Tx) { wantTTL(t, tx, "a", time.Hour-time.Minute) })
		<-time.After(time.Hour)
		view(t, db, func(tx *stoat.Tx) { wantAbsent(t, tx, "a") })
		ok(t, db.Close())
	})
}

func TestExpires_isOfTheKeyThatTheCursorStandsOn(t *testing.T) {
	db := memory(t)
	ok(t, db.PutTTL([]byte("a"), nil, time.Hour))
	tx := begin(t, db, false)
	c := tx.Cursor()
	equal(t, c.Expires(), time.Time{})
	c.Next()
	equal(t, c.Expires().IsZero(), false)
	c.Next()
	equal(t, c.Expires(), time.Time{})
	ok(t, tx.Rollback())
	c.Prev()
	equal(t, c.Expires(), time.Time{})
	wantErr(t, c.Err(), stoat.ErrTxClosed)
}
