//go:build unix

package stoat_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stoatdb/stoat"
)

// benchKeys runs a benchmark without a key and with one; memory is Options.MemoryLimit.
func benchKeys(b *testing.B, memory int64, fn func(b *testing.B, dir string, o *stoat.Options)) {
	for _, key := range [][]byte{nil, keyed(1).Key} {
		b.Run(fmt.Sprintf("key=%t", key != nil), func(b *testing.B) {
			b.ReportAllocs()
			fn(b, filepath.Join(b.TempDir(), "db"), &stoat.Options{Key: key, MemoryLimit: memory})
		})
	}
}

// cpu returns the processor time that the process has taken, in nanoseconds: on a machine that does
// other things, it says more than the clock.
func cpu(b *testing.B) float64 {
	var u syscall.Rusage
	ok(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return float64(u.Utime.Nano() + u.Stime.Nano())
}

// measure runs fn, which does b.N of something.
func measure(b *testing.B, fn func()) {
	b.ResetTimer()
	before := cpu(b)
	fn()
	b.StopTimer()
	b.ReportMetric((cpu(b)-before)/float64(b.N), "cpu-ns/op")
}

// benchRecords is how many records of 400 bytes the benchmarks of keys read.
const benchRecords = 100_000

// loadRecords fills a database with records, which compress or do not.
func loadRecords(b *testing.B, db *stoat.DB, compressible bool) {
	b.Helper()
	rng := rand.NewChaCha8([32]byte{1})
	value := make([]byte, 400)
	ok(b, db.Load(b.Context(), func(yield func(k, v []byte) bool) {
		for i := range benchRecords {
			if _, _ = rng.Read(value); compressible {
				value = fmt.Appendf(value[:0], `{"id":%d,"name":"weasel %x","note":"%0300d"}`, i, value[:8], i)
			}
			if !yield(benchKey(i), value) {
				return
			}
		}
	}))
	ok(b, db.Compact(b.Context()))
}

// BenchmarkKey_get gets values whose files are in the memory of the system: where they fit into the
// cache of the database, and where they do not.
func BenchmarkKey_get(b *testing.B) {
	for _, compressible := range []bool{true, false} {
		for name, memory := range map[string]int64{"cached": 512 << 20, "uncached": 4 << 20} {
			for _, order := range []string{"random", "ordered"} {
				b.Run(fmt.Sprintf("compressible=%t/%s/%s", compressible, name, order), func(b *testing.B) {
					benchKeys(b, memory, func(b *testing.B, dir string, o *stoat.Options) {
						db := openKeyed(b, dir, o)
						loadRecords(b, db, compressible)
						benchGets(b, db, order == "random")
						ok(b, db.Close())
					})
				})
			}
		}
	}
}

func benchGets(b *testing.B, db *stoat.DB, random bool) {
	rng := rand.New(rand.NewPCG(1, 1))
	get := func(tx *stoat.Tx, i int) {
		if random {
			i = rng.IntN(benchRecords)
		}
		_, err := tx.Get(benchKey(i % benchRecords))
		ok(b, err)
	}
	view(b, db, func(tx *stoat.Tx) {
		for i := range 3 * benchRecords {
			get(tx, i)
		}
	})
	view(b, db, func(tx *stoat.Tx) {
		measure(b, func() {
			for i := range b.N {
				get(tx, i)
			}
		})
	})
}

// BenchmarkKey_write commits records one by one, with a sync each, and loads many.
func BenchmarkKey_write(b *testing.B) {
	b.Run("commit", func(b *testing.B) {
		benchKeys(b, 0, func(b *testing.B, dir string, o *stoat.Options) {
			db := openKeyed(b, dir, o)
			value := make([]byte, 400)
			measure(b, func() {
				for i := range b.N {
					ok(b, db.Put(benchKey(i), value))
				}
			})
			ok(b, db.Close())
		})
	})
	b.Run("load", func(b *testing.B) {
		benchKeys(b, 0, func(b *testing.B, dir string, o *stoat.Options) {
			measure(b, func() {
				for i := range b.N {
					db := openKeyed(b, fmt.Sprint(dir, i), o)
					loadRecords(b, db, true)
					ok(b, db.Close())
				}
			})
		})
	})
	b.Run("open", func(b *testing.B) {
		benchKeys(b, 0, func(b *testing.B, dir string, o *stoat.Options) {
			db := openKeyed(b, dir, o)
			loadRecords(b, db, true)
			ok(b, db.Close())
			measure(b, func() {
				for range b.N {
					db := openKeyed(b, dir, o)
					_, err := db.Get(benchKey(1))
					ok(b, err)
					ok(b, db.Close())
				}
			})
		})
	})
}
