package stoat_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat"
)

// BenchmarkOpen measures opening and closing a database that is there, with and without a first
// read, and one that is new.
func BenchmarkOpen(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "db")
	db := openDir(b, dir, nil)
	update(b, db, func(tx *stoat.Tx) { put(b, tx, "a", "b", "c") })
	ok(b, db.Compact(context.Background()))
	ok(b, db.Close())
	for name, use := range map[string]func(db *stoat.DB) error{
		"existing":           func(*stoat.DB) error { return nil },
		"existing, one read": func(db *stoat.DB) error { _, err := db.Get([]byte("b")); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				db := openDir(b, dir, nil)
				ok(b, use(db))
				ok(b, db.Close())
			}
		})
	}
	b.Run("new", func(b *testing.B) {
		top := b.TempDir()
		for i := 0; b.Loop(); i++ {
			db := openDir(b, filepath.Join(top, strconv.Itoa(i)), nil)
			b.StopTimer()
			ok(b, db.Close())
			b.StartTimer()
		}
	})
}

// BenchmarkUnsyncedPut measures a transaction of one Put that waits for no sync.
func BenchmarkUnsyncedPut(b *testing.B) {
	db := openDir(b, filepath.Join(b.TempDir(), "db"), &stoat.Options{Sync: stoat.SyncNever})
	value := make([]byte, 400)
	for i := 0; b.Loop(); i++ {
		ok(b, db.Put(benchKey(i), value))
	}
	ok(b, db.Close())
}

// BenchmarkParallelPut measures transactions of one Put by one and by many goroutines.
func BenchmarkParallelPut(b *testing.B) {
	for _, c := range []struct {
		name      string
		sync      stoat.SyncMode
		computing int // goroutines that compute meanwhile
	}{
		{"synced", stoat.SyncAlways, 0},
		{"unsynced", stoat.SyncNever, 0},
		{"computing", stoat.SyncAlways, 8},
	} {
		for _, goroutines := range []int{1, 2, 8, 64, 512} {
			b.Run(fmt.Sprintf("%s/%d", c.name, goroutines), func(b *testing.B) {
				db := openDir(b, filepath.Join(b.TempDir(), "db"), &stoat.Options{Sync: c.sync})
				compute(b, c.computing)
				value := make([]byte, 400)
				var next atomic.Int64
				var writers sync.WaitGroup
				b.ResetTimer()
				for range goroutines {
					writers.Go(func() {
						for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
							ok(b, db.Put(benchKey(int(i)), value))
						}
					})
				}
				writers.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1000, "kcommits/s")
				b.ReportMetric(float64(b.N)/float64(max(db.Stats().Syncs, 1)), "commits/sync")
				b.StopTimer()
				ok(b, db.Close())
			})
		}
	}
}

// compute keeps n goroutines busy until the benchmark ends.
func compute(b *testing.B, n int) {
	var done atomic.Bool
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for x := uint64(1); !done.Load(); {
				for range 1000 {
					x = x*6364136223846793005 + 1
				}
			}
		})
	}
	b.Cleanup(func() { done.Store(true); all.Wait() })
}
