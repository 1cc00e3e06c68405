package stoat_test

import (
	"context"
	"encoding/json"
	"expvar"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// measured is a bucket that says how much is in it.
type measured interface {
	stoat.KeySpace
	Stats() (stoat.BucketStats, error)
}

// wantStats wants a bucket to report what a scan of it finds.
func wantStats(t testing.TB, b measured) {
	t.Helper()
	var want stoat.BucketStats
	for key, value := range b.Scan(stoat.Range{}) {
		want.Keys++
		want.Bytes += uint64(len(key) + len(value))
	}
	got, err := b.Stats()
	ok(t, err)
	equal(t, got, want)
}

func TestBucketStats_areExactOnceSettled(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	db := openOn(t, memfs.New(), &stoat.Options{ValueThreshold: 500})
	const buckets = 25
	for range 8 {
		update(t, db, func(tx *stoat.Tx) {
			for range 400 {
				var b measured = tx
				if n := rng.IntN(3 * buckets); n < buckets {
					child, err := tx.CreateBucketIfNotExists(fmt.Append(nil, n))
					ok(t, err)
					b = child
				}
				key := fmt.Append(nil, rng.IntN(1000))
				if rng.IntN(4) == 0 {
					ok(t, b.Delete(key))
				} else {
					ok(t, b.Put(key, make([]byte, rng.IntN(1000))))
				}
			}
			ok(t, tx.DeleteRange(stoat.Prefix([]byte("7"))))
		})
		ok(t, db.Flush())
	}
	ok(t, db.Compact(context.Background()))
	view(t, db, func(tx *stoat.Tx) {
		wantStats(t, tx)
		for name := range tx.Buckets() {
			wantStats(t, bucket(t, tx, string(name)))
		}
	})
	equal(t, db.Stats().SpaceAmplification() < 1.1, true)
	ok(t, db.Close())
}

func TestBucketStats_countTheTransactionsOwnWrites(t *testing.T) {
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) { put(t, create(t, tx, "b"), "a", "b") })
	tx := begin(t, db, true)
	b := bucket(t, tx, "b")
	wantStats(t, tx)
	wantStats(t, b)
	put(t, b, "c", "b")
	put(t, create(t, b, "inner"), "no", "part", "of", "b")
	ok(t, b.Delete([]byte("a")))
	wantStats(t, b)
	wantStats(t, bucket(t, b, "inner"))
	ok(t, tx.DeleteBucket([]byte("b")))
	_, err := b.Stats()
	wantErr(t, err, stoat.ErrBucketNotFound)
	ok(t, tx.Rollback())
	_, err = tx.Stats()
	wantErr(t, err, stoat.ErrTxClosed)
}

func TestBucketStats_countOlderVersionsUntilTheyAreMerged(t *testing.T) {
	db := openOn(t, memfs.New(), nil)
	stats := func() (s stoat.BucketStats) {
		view(t, db, func(tx *stoat.Tx) {
			var err error
			s, err = tx.Stats()
			ok(t, err)
		})
		if flushed := s.StoredBytes > 0; flushed != (s.Keys > 0) {
			t.Errorf("%d bytes are stored for %d keys", s.StoredBytes, s.Keys)
		}
		s.StoredBytes = 0
		return s
	}
	update(t, db, func(tx *stoat.Tx) { put(t, tx, "a", "b", "c") })
	ok(t, db.Flush())
	equal(t, stats(), stoat.BucketStats{Keys: 3, Bytes: 12})
	tx := begin(t, db, true)
	put(t, tx, "b")
	ok(t, tx.Delete([]byte("c")))
	s, err := tx.Stats()
	ok(t, err)
	s.StoredBytes = 0
	equal(t, s, stoat.BucketStats{Keys: 4, Bytes: 16})
	ok(t, tx.Commit())
	ok(t, db.Compact(context.Background()))
	equal(t, stats(), stoat.BucketStats{Keys: 2, Bytes: 8})
	ok(t, db.Close())
}

func TestStats_tellWhatWritingCost(t *testing.T) {
	db := openOn(t, memfs.New(), &stoat.Options{Compression: stoat.CompressionNone})
	equal(t, db.Stats().WriteAmplification(), 0)
	equal(t, db.Stats().SpaceAmplification(), 0)
	var value [100]byte
	for range 3 {
		update(t, db, func(tx *stoat.Tx) {
			for i := range 500 {
				ok(t, tx.Put(benchKey(i), value[:]))
			}
		})
		ok(t, db.Flush())
	}
	s := db.Stats()
	if a := s.WriteAmplification(); a < 1.5 || a > 10 {
		t.Errorf("each byte is written %.2f times: %+v", a, s)
	}
	ok(t, db.Compact(context.Background()))
	equal(t, db.Stats().SpaceAmplification(), 1)
	stored := db.Stats().CommittedBytes
	ok(t, db.Load(context.Background(), func(yield func(key, value []byte) bool) {
		yield([]byte("key"), make([]byte, 100_000))
	}))
	after := db.Stats()
	equal(t, after.CommittedBytes-stored, 1+3+100_000) // the root bucket takes one byte
	equal(t, after.LogBytes, s.LogBytes)
	ok(t, db.Close())
}

func TestStats_amplificationIsAllBytesForEachOne(t *testing.T) {
	s := stoat.Stats{
		CommittedBytes: 1000, LogBytes: 1100, FlushedBytes: 600, MergedBytes: 800,
		TableBytes: 700, ValueFileBytes: 500, LiveBytes: 800,
	}
	equal(t, s.WriteAmplification(), 2.5)
	equal(t, s.SpaceAmplification(), 1.5)
}

func TestErr_saysWhetherTheDatabaseIsOpen(t *testing.T) {
	fs := memfs.New()
	db := openOn(t, fs, nil)
	ok(t, db.Put([]byte("a"), nil))
	ok(t, db.Err())
	ok(t, db.Close())
	wantErr(t, db.Err(), stoat.ErrClosed)

	db = openOn(t, fs, &stoat.Options{ReadOnly: true})
	ok(t, db.Err()) // it does what it was opened for
	ok(t, db.Close())
	wantErr(t, db.Err(), stoat.ErrClosed)
}

// TestStats_areAVariable publishes the numbers, as a program would, and reads them as one does that
// scrapes them. The library itself must not import expvar, which comes with handlers of HTTP.
func TestStats_areAVariable(t *testing.T) {
	db := memory(t)
	ok(t, db.Put([]byte("a"), nil))
	published := expvar.Func(func() any { return db.Stats() })
	var got struct{ Commits, Failures uint64 }
	ok(t, json.Unmarshal([]byte(published.String()), &got))
	equal(t, got, struct{ Commits, Failures uint64 }{1, 0})
	var all map[string]float64 // so that every field is a number
	ok(t, json.Unmarshal([]byte(published.String()), &all))
	equal(t, len(all), reflect.TypeFor[stoat.Stats]().NumField())
}
