package stoat_test

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

const benchEntries = 100_000

// benchKey returns the i-th key.
func benchKey(i int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(i)) }

// loaded returns a database of benchEntries entries with values of 100 bytes, in a memtable or in
// tables.
func loaded(b *testing.B, flush bool) *stoat.DB {
	b.Helper()
	db := memory(b)
	value := make([]byte, 100)
	update(b, db, func(tx *stoat.Tx) {
		for i := range benchEntries {
			ok(b, tx.Put(benchKey(i), value))
		}
	})
	if flush {
		ok(b, db.Flush())
	}
	return db
}

// inMemtableAndTable runs fn with a database in each of the two states.
func inMemtableAndTable(b *testing.B, fn func(b *testing.B, db *stoat.DB)) {
	b.Helper()
	for name, flush := range map[string]bool{"memtable": false, "table": true} {
		db := loaded(b, flush)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			fn(b, db)
		})
	}
}

func BenchmarkView(b *testing.B) {
	db := memory(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := db.View(func(*stoat.Tx) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkViewGet(b *testing.B) {
	inMemtableAndTable(b, func(b *testing.B, db *stoat.DB) {
		key := make([]byte, 8)
		get := func(tx *stoat.Tx) error { _, err := tx.Get(key); return err }
		for i := 0; b.Loop(); i++ {
			binary.BigEndian.PutUint64(key, uint64(i*7919%benchEntries))
			if err := db.View(get); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkGet(b *testing.B) {
	inMemtableAndTable(b, func(b *testing.B, db *stoat.DB) {
		tx := begin(b, db, false)
		key := make([]byte, 8)
		for i := 0; b.Loop(); i++ {
			binary.BigEndian.PutUint64(key, uint64(i*7919%benchEntries))
			if _, err := tx.Get(key); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkBeginRollback(b *testing.B) {
	db := memory(b)
	b.ReportAllocs()
	for b.Loop() {
		tx, err := db.Begin(false)
		if err != nil || tx.Rollback() != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkScan(b *testing.B) {
	inMemtableAndTable(b, func(b *testing.B, db *stoat.DB) {
		for b.Loop() {
			n := 0
			view(b, db, func(tx *stoat.Tx) {
				for range tx.Scan(stoat.Range{}) {
					n++
				}
			})
			equal(b, n, benchEntries)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchEntries, "ns/entry")
	})
}

func BenchmarkKeys(b *testing.B) {
	inMemtableAndTable(b, func(b *testing.B, db *stoat.DB) {
		for b.Loop() {
			n := 0
			view(b, db, func(tx *stoat.Tx) {
				for range tx.Keys(stoat.Range{}) {
					n++
				}
			})
			equal(b, n, benchEntries)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchEntries, "ns/entry")
	})
}

func BenchmarkScanOne(b *testing.B) {
	inMemtableAndTable(b, func(b *testing.B, db *stoat.DB) {
		tx := begin(b, db, false)
		key := benchKey(benchEntries / 2)
		for b.Loop() {
			for range tx.Scan(stoat.Range{Start: key, Limit: 1}) {
				continue
			}
		}
	})
}

// BenchmarkScanBucket measures a loop over one of many small buckets, by a variable of an interface
// type: the compiler cannot inline the iterator then.
func BenchmarkScanBucket(b *testing.B) {
	const buckets, keys = 10_000, 15
	db := memory(b)
	update(b, db, func(tx *stoat.Tx) {
		for i := range buckets {
			bucket, err := tx.CreateBucket(benchKey(i))
			ok(b, err)
			for j := range keys {
				ok(b, bucket.Put(benchKey(j), benchKey(i)))
			}
		}
	})
	ok(b, db.Compact(b.Context()))
	tx := begin(b, db, false)
	bucket, err := tx.Bucket(benchKey(77))
	ok(b, err)
	spaces := []stoat.KeySpace{bucket}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		n := 0
		for range spaces[i%len(spaces)].Scan(stoat.Range{}) {
			n++
		}
		if n != keys {
			b.Fatalf("%d keys", n)
		}
	}
}

func BenchmarkCursorNext(b *testing.B) {
	inMemtableAndTable(b, func(b *testing.B, db *stoat.DB) {
		c := begin(b, db, false).Cursor()
		for b.Loop() {
			if k, _ := c.Next(); k == nil {
				c.First()
			}
		}
	})
}

// BenchmarkPut measures one Put in a transaction of 5,000.
func BenchmarkPut(b *testing.B) {
	const batch = 5000
	db := memory(b)
	key, value := make([]byte, 8), make([]byte, 400)
	b.ReportAllocs()
	var tx *stoat.Tx
	for i := 0; b.Loop(); i++ {
		if i%batch == 0 {
			if tx != nil {
				ok(b, tx.Commit())
			}
			var err error
			tx, err = db.Begin(true)
			ok(b, err)
		}
		binary.BigEndian.PutUint64(key, uint64(i))
		if err := tx.Put(key, value); err != nil {
			b.Fatal(err)
		}
	}
	ok(b, tx.Commit())
}

// BenchmarkUpdatePut measures a transaction of one Put, synced.
func BenchmarkUpdatePut(b *testing.B) {
	db, err := stoat.Open(b.TempDir(), nil)
	ok(b, err)
	value := make([]byte, 400)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		ok(b, db.Put(benchKey(i), value))
	}
	ok(b, db.Close())
}

// BenchmarkCommit measures commits of one Put by one and by many goroutines, on a disk whose sync
// takes 100 µs.
func BenchmarkCommit(b *testing.B) {
	for _, goroutines := range []int{1, 64} {
		b.Run(fmt.Sprint(goroutines), func(b *testing.B) {
			db := openOn(b, faultfs.New(memfs.New(), func(op faultfs.Op) error {
				if op.Kind == faultfs.Sync { // a sleep so short may take a millisecond
					for start := time.Now(); time.Since(start) < 100*time.Microsecond; {
						runtime.Gosched()
					}
				}
				return nil
			}), nil)
			value := make([]byte, 400)
			var next atomic.Int64
			var writers sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			for range goroutines {
				writers.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						ok(b, db.Put(benchKey(int(i)), value))
					}
				})
			}
			writers.Wait()
			b.ReportMetric(float64(b.N)/float64(db.Stats().Syncs), "commits/sync")
			b.StopTimer()
			ok(b, db.Close())
		})
	}
}
