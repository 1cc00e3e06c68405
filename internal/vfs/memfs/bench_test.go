package memfs

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func BenchmarkWriteAt(b *testing.B) {
	for _, size := range []int{100, 64 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			const fileBytes = 32 << 20
			p := make([]byte, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			f := New()
			file := create(b, f, "file", "", false)
			off := int64(0)
			for b.Loop() {
				if off+int64(size) > fileBytes {
					ok(b, f.Remove("file"))
					file, off = create(b, f, "file", "", false), 0
				}
				if _, err := file.WriteAt(p, off); err != nil {
					b.Fatal(err)
				}
				off += int64(size)
			}
		})
	}
}

func BenchmarkReadAt(b *testing.B) {
	file := create(b, New(), "file", strings.Repeat("x", 32<<20), false)
	for _, size := range []int{100, 64 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			p := make([]byte, size)
			b.SetBytes(int64(size))
			rng := rand.New(rand.NewPCG(1, 1))
			for b.Loop() {
				if _, err := file.ReadAt(p, rng.Int64N(32<<20-int64(size))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkMap(b *testing.B) {
	file := create(b, New(), "file", strings.Repeat("x", 32<<20), false)
	for b.Loop() {
		if _, _, err := file.Map(32 << 20); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCrash crashes a file system of the size of a small database: a log, a manifest and six
// tables.
func BenchmarkCrash(b *testing.B) {
	f := newDisk(b)
	for i := range 6 {
		create(b, f, fmt.Sprintf("db/%06d.table", i), strings.Repeat("x", 6000), true)
	}
	create(b, f, "db/MANIFEST-000001", strings.Repeat("x", 900), true)
	log := create(b, f, "db/000009.log", strings.Repeat("x", 9000), true)
	ok(b, log.Preallocate(1<<20))
	rng := rand.New(rand.NewPCG(1, 1))
	for b.Loop() {
		write(b, log, strings.Repeat("y", 3000), 9000)
		f.Crash(rng)
	}
}
