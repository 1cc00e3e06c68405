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
func wantAbsent(t *testing.T, s keySpace, key string) {
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
