package memtable

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
)

const (
	benchEntries = 100_000
	benchEdit    = 5_000
)

// benchKeys are the key shapes that the benchmarks run with, in the order in which they are put.
func benchKeys() map[string]func(i int) []byte {
	order := rand.New(rand.NewPCG(1, 2)).Perm(2 * benchEntries)
	return map[string]func(i int) []byte{
		"big-endian": func(i int) []byte {
			return binary.BigEndian.AppendUint64([]byte{0x10}, uint64(i))
		},
		"little-endian": func(i int) []byte {
			return binary.LittleEndian.AppendUint64([]byte{0x10}, uint64(i))
		},
		"text": func(i int) []byte { return fmt.Appendf(nil, "vsz=00128-k=%010d", order[i]) },
	}
}

// forShapes runs fn for each shape with the first n keys of it.
func forShapes(b *testing.B, n int, fn func(b *testing.B, keys [][]byte)) {
	for name, key := range benchKeys() {
		keys := make([][]byte, n)
		for i := range keys {
			keys[i] = key(i)
		}
		b.Run(name, func(b *testing.B) { fn(b, keys) })
	}
}

// load puts the keys in edits of benchEdit.
func load(m *Memtable, keys [][]byte) Root {
	value := make([]byte, 397)
	for len(keys) > 0 {
		n := min(benchEdit, len(keys))
		e := m.Begin()
		for _, key := range keys[:n] {
			e.PutUntil(key, value, 0)
		}
		e.Commit()
		keys = keys[n:]
	}
	return m.root
}

// shuffled returns copies of the keys in random order that lie in memory in that order, so that
// fetching them costs a benchmark nothing.
func shuffled(keys [][]byte) [][]byte {
	probes := make([][]byte, len(keys))
	for i, j := range rand.New(rand.NewPCG(3, 4)).Perm(len(keys)) {
		probes[i] = bytes.Clone(keys[j])
	}
	return probes
}

func BenchmarkFind_random(b *testing.B) {
	forShapes(b, benchEntries, func(b *testing.B, keys [][]byte) {
		r := load(New(28), keys)
		probes := shuffled(keys)
		var e keyspace.Entry
		i := 0
		for b.Loop() {
			if r.Find(probes[i], &e); len(e.Value) != 397 {
				b.Fatal("lost")
			}
			if i++; i == len(probes) {
				i = 0
			}
		}
	})
}

func BenchmarkFind_sequential(b *testing.B) {
	forShapes(b, benchEntries, func(b *testing.B, keys [][]byte) {
		r := load(New(28), keys)
		var e keyspace.Entry
		i := 0
		for b.Loop() {
			if r.Find(keys[i], &e); len(e.Value) != 397 {
				b.Fatal("lost")
			}
			if i++; i == len(keys) {
				i = 0
			}
		}
	})
}

func BenchmarkFind_absent(b *testing.B) {
	forShapes(b, 2*benchEntries, func(b *testing.B, keys [][]byte) {
		r := load(New(28), keys[:benchEntries])
		var e keyspace.Entry
		i := benchEntries
		for b.Loop() {
			if r.Find(keys[i], &e) {
				b.Fatal("found")
			}
			if i++; i == len(keys) {
				i = benchEntries
			}
		}
	})
}

// BenchmarkCursor_next counts one entry as an operation.
func BenchmarkCursor_next(b *testing.B) {
	forShapes(b, benchEntries, func(b *testing.B, keys [][]byte) {
		var c Cursor
		c.Init(load(New(28), keys))
		read := 0
		for n := 0; n < b.N; {
			for ok := c.First(); ok && n < b.N; ok = c.Next() {
				read += len(c.Key()) + len(c.Value())
				n++
			}
		}
		if read == 0 {
			b.Fatal("nothing read")
		}
	})
}

func BenchmarkCursor_seek(b *testing.B) {
	forShapes(b, benchEntries, func(b *testing.B, keys [][]byte) {
		var c Cursor
		c.Init(load(New(28), keys))
		probes := shuffled(keys)
		i := 0
		for b.Loop() {
			if !c.Seek(probes[i]) {
				b.Fatal("lost")
			}
			if i++; i == len(probes) {
				i = 0
			}
		}
	})
}

// BenchmarkPut_many counts one put as an operation, in edits of benchEdit on top of benchEntries.
func BenchmarkPut_many(b *testing.B) {
	forShapes(b, benchEntries+benchEdit, func(b *testing.B, keys [][]byte) {
		m := New(28)
		load(m, keys[:benchEntries])
		value := make([]byte, 397)
		b.ReportAllocs()
		b.ResetTimer()
		for n := 0; n < b.N; n += benchEdit {
			e := m.Begin()
			for _, key := range keys[benchEntries:] {
				e.PutUntil(key, value, 0)
			}
			e.Rollback()
		}
	})
}

func BenchmarkPut_one(b *testing.B) {
	forShapes(b, benchEntries, func(b *testing.B, keys [][]byte) {
		m := New(28)
		load(m, keys)
		probes := shuffled(keys)
		i := 0
		b.ReportAllocs()
		for b.Loop() {
			e := m.Begin()
			e.PutUntil(probes[i], nil, 0)
			e.Commit()
			if i++; i == len(probes) {
				i = 0
			}
		}
	})
}

// BenchmarkLoad reports the memory that an entry takes beyond its key and value.
func BenchmarkLoad(b *testing.B) {
	forShapes(b, benchEntries, func(b *testing.B, keys [][]byte) {
		var m *Memtable
		for b.Loop() {
			m = New(28)
			load(m, keys)
		}
		used := m.Bytes() - int64(len(keys)*(len(keys[0])+397))
		b.ReportMetric(float64(used)/float64(len(keys)), "overhead-B/entry")
	})
}
