package stoat_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
)

// prose returns about so many bytes that compress as text does.
func prose(rng *rand.Rand, bytes int) []byte {
	var b strings.Builder
	for b.Len() < bytes {
		fmt.Fprintf(&b, "%s %s the %s, and it took %d. ", words[rng.IntN(len(words))],
			words[rng.IntN(len(words))], words[rng.IntN(len(words))], rng.IntN(1000))
	}
	return []byte(b.String()[:bytes])
}

// words returns a vocabulary.
var words = strings.Fields(`apple bridge carries database evening further generous harbour inside
journey kettle listens morning nothing orchard paper quiet river silver thunder under valley window
yellow zebra answers because candle distance earlier forgotten gathered hundred important`)

// bulk is a way to write many values, some of them over and over.
type bulk struct {
	name  string
	write func(t testing.TB, db *stoat.DB, key func(i int) []byte, values [][]byte)
}

func bulks() []bulk {
	type write = func(t testing.TB, db *stoat.DB, key func(i int) []byte, values [][]byte)
	inBatches := func(order func(n int) []int) write {
		return func(t testing.TB, db *stoat.DB, key func(int) []byte, values [][]byte) {
			size := 0
			tx, err := db.Begin(true)
			ok(t, err)
			for _, i := range order(len(values)) {
				ok(t, tx.Put(key(i), values[i]))
				if size += len(values[i]); size > 1<<20 {
					ok(t, tx.Commit())
					tx, err = db.Begin(true)
					ok(t, err)
					size = 0
				}
			}
			ok(t, tx.Commit())
		}
	}
	ascending := func(n int) (all []int) {
		for i := range n {
			all = append(all, i)
		}
		return all
	}
	shuffled := rand.New(rand.NewPCG(5, 6)).Perm
	return []bulk{
		{"in order", inBatches(ascending)},
		{"in no order", inBatches(shuffled)},
		{"three times", inBatches(func(n int) []int {
			return append(append(shuffled(n), shuffled(n)...), shuffled(n)...)
		})},
		{"in one transaction", func(
			t testing.TB, db *stoat.DB, key func(int) []byte, values [][]byte,
		) {
			update(t, db, func(tx *stoat.Tx) {
				for _, i := range shuffled(len(values)) {
					ok(t, tx.Put(key(i), values[i]))
				}
			})
		}},
		{"by Load", func(t testing.TB, db *stoat.DB, key func(int) []byte, values [][]byte) {
			ok(t, db.Load(t.Context(), func(yield func(key, value []byte) bool) {
				for _, i := range shuffled(len(values)) {
					if !yield(key(i), values[i]) {
						return
					}
				}
			}))
		}},
		{"in a bucket, expiring", func(
			t testing.TB, db *stoat.DB, key func(int) []byte, values [][]byte,
		) {
			for _, i := range shuffled(len(values)) {
				update(t, db, func(tx *stoat.Tx) {
					b, err := tx.CreateBucket([]byte("bucket"))
					if errors.Is(err, stoat.ErrBucketExists) {
						b, err = tx.Bucket([]byte("bucket"))
					}
					ok(t, err)
					ok(t, b.PutTTL(key(i), values[i], 1000*time.Hour))
				})
			}
		}},
	}
}

// A program that opens, writes and closes leaves text small, whatever the size of the values,
// except for what Stats reports as pending.
func TestClose_leavesTextSmall(t *testing.T) {
	const total = 4 << 20
	for _, size := range []int{5_000, 70_000, 300_000, 2_000_000} {
		rng := rand.New(rand.NewPCG(1, uint64(size)))
		var values [][]byte
		for range max(total/size, 2) {
			values = append(values, prose(rng, size))
		}
		key := func(i int) []byte { return fmt.Appendf(nil, "%06d", i) }
		for _, b := range bulks() {
			t.Run(fmt.Sprintf("%d %s", size, b.name), func(t *testing.T) {
				dir := t.TempDir()
				// Memtables of a megabyte and a half, so that there are several.
				opts := &stoat.Options{MemoryLimit: 4 << 20, Sync: stoat.SyncNever}
				db := openDir(t, dir, opts)
				b.write(t, db, key, values)
				ok(t, db.Close())
				raw, closed := int64(len(values)*size), folderBytes(t, dir)
				db = openDir(t, dir, opts)
				if pending := int64(db.Stats().PendingBytes); closed > raw*45/100+pending {
					t.Errorf("%d bytes on disk, of which %d are pending, are %d %% of the values", closed,
						pending, closed*100/raw)
				}
				ok(t, db.Compact(context.Background()))
				if n := folderBytes(t, dir); n > raw*35/100 {
					t.Errorf("compacted, %d bytes on disk are %d %% of the values", n, n*100/raw)
				}
				view(t, db, func(tx *stoat.Tx) {
					from := stoat.KeySpace(tx)
					if bucket, err := tx.Bucket([]byte("bucket")); err == nil {
						from = bucket
					}
					for i, want := range values {
						got, err := from.Get(key(i))
						ok(t, err)
						if string(got) != string(want) {
							t.Fatalf("value %d is not what was put", i)
						}
					}
				})
				ok(t, db.Close())
			})
		}
	}
}
