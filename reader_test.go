package stoat_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stoatdb/stoat"
)

// A reader keeps values in place, of tables and of value files, while Close takes the files out of
// memory and the next session removes them. What it has not read yet stays readable, too.
func TestClose_leavesReadersWhatTheyHoldAndWhatTheyHaveNotRead(t *testing.T) {
	const n = 600
	rng := rand.New(rand.NewPCG(1, 1))
	key := func(i int) []byte { return fmt.Appendf(nil, "%05d", i) }
	values := make([][]byte, n)
	for i := range values {
		values[i] = []byte(fmt.Sprintf("%d ", i))
		for size := []int{10, 500, 20_000}[i%3]; len(values[i]) < size; {
			values[i] = fmt.Appendf(values[i], "%x", rng.Uint64())
		}
	}
	for _, compression := range []stoat.Compression{stoat.CompressionAuto, stoat.CompressionNone} {
		dir, o := t.TempDir(), &stoat.Options{Compression: compression, Sync: stoat.SyncNever}
		open := func() *stoat.DB {
			db, err := stoat.Open(dir, o)
			ok(t, err)
			return db
		}
		db := open()
		update(t, db, func(tx *stoat.Tx) {
			for i, value := range values {
				ok(t, tx.Put(key(i), value))
			}
		})
		ok(t, db.Compact(t.Context()))
		ok(t, db.Close())

		db = open()
		untouched, busy := begin(t, db, false), begin(t, db, false)
		held := make([][]byte, n)
		var err error
		for i := range held {
			held[i], err = busy.Get(key(i))
			ok(t, err)
		}
		var reading sync.WaitGroup
		reading.Go(func() { // while Close takes away what it has read
			for range 3 {
				for i := range values {
					if got, err := busy.Get(key(i)); err != nil || !bytes.Equal(got, values[i]) {
						t.Errorf("value %d: %v", i, err)
					}
				}
			}
		})
		ok(t, db.Close())
		reading.Wait()
		next := open()
		ok(t, next.Update(func(tx *stoat.Tx) error { return tx.DeleteRange(stoat.Range{}) }))
		ok(t, next.Compact(t.Context()))
		ok(t, next.Close())
		for i, want := range values {
			got, err := untouched.Get(key(i))
			if err != nil || !bytes.Equal(got, want) || !bytes.Equal(held[i], want) {
				t.Fatalf("value %d is not what it was: %v", i, err)
			}
		}
		ok(t, untouched.Rollback())
		ok(t, busy.Rollback())
	}
}
