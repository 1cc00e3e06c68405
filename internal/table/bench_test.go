package table

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/filter"
	"github.com/stoatdb/stoat/internal/keyspace"
)

const benchEntries = 100_000

func benchTable(b *testing.B, o WriterOptions) (*Table, []entry) {
	entries := messages(benchEntries, rand.New(rand.NewSource(1)))
	table := openTable(b, o, NewCache(1<<30), entries)
	var c Cursor
	c.Init(table, &Scope{Read: ReadValues})
	for ok := c.First(); ok; ok = c.Next() {
	}
	if c.Err() != nil {
		b.Fatal(c.Err())
	}
	return table, entries
}

func eachCodec(b *testing.B, run func(b *testing.B, table *Table, entries []entry)) {
	for _, mode := range []struct {
		name string
		o    WriterOptions
	}{
		{"raw", WriterOptions{}},
		{"zstd", WriterOptions{Encoding: zipped()}},
		{"filtered", WriterOptions{Filter: true}},
	} {
		b.Run(mode.name, func(b *testing.B) {
			table, entries := benchTable(b, mode.o)
			b.ReportAllocs()
			run(b, table, entries)
		})
	}
}

// shuffledKeys returns the keys in random order, laid out so that fetching one costs nothing.
func shuffledKeys(entries []entry) [][]byte {
	buffer := make([]byte, 0, len(entries)*len(entries[0].key))
	keys := make([][]byte, len(entries))
	for i, at := range rand.New(rand.NewSource(2)).Perm(len(entries)) {
		start := len(buffer)
		buffer = append(buffer, entries[at].key...)
		keys[i] = buffer[start:len(buffer):len(buffer)]
	}
	return keys
}

func BenchmarkGet(b *testing.B) {
	eachCodec(b, func(b *testing.B, table *Table, entries []entry) {
		keys, i := shuffledKeys(entries), 0
		for b.Loop() {
			key := keys[i]
			if i++; i == len(keys) {
				i = 0
			}
			if _, ok, _ := findHashed(table, key, filter.Hash(key)); !ok {
				b.Fatalf("%x is missing", key)
			}
		}
	})
}

func BenchmarkScan(b *testing.B) {
	eachCodec(b, func(b *testing.B, table *Table, _ []entry) {
		var c Cursor
		c.Init(table, &Scope{Read: ReadValues})
		total, ok := 0, false
		for b.Loop() {
			if ok = ok && c.Next(); !ok {
				ok = c.First()
			}
			total += len(c.Key()) + len(c.Value())
		}
	})
}

func BenchmarkScanKeys(b *testing.B) {
	eachCodec(b, func(b *testing.B, table *Table, _ []entry) {
		var c Cursor
		c.Init(table, &Scope{Read: ReadKeys})
		total, ok := 0, false
		for b.Loop() {
			if ok = ok && c.Next(); !ok {
				ok = c.First()
			}
			total += len(c.Key())
		}
	})
}

func BenchmarkSeek(b *testing.B) {
	eachCodec(b, func(b *testing.B, table *Table, entries []entry) {
		keys, i := shuffledKeys(entries), 0
		var c Cursor
		c.Init(table, &Scope{Read: ReadValues})
		for b.Loop() {
			if !c.Seek(keys[i]) {
				b.Fatal("nothing found")
			}
			if i++; i == len(keys) {
				i = 0
			}
		}
	})
}

// BenchmarkPolicy measures reads of values that are encoded one by one, with caches for a part of
// them decoded: what the policy's numbers were chosen by.
func BenchmarkPolicy(b *testing.B) {
	entries := messages(benchEntries/5, rand.New(rand.NewSource(1)))
	bytes := 0
	for _, e := range entries {
		bytes += len(e.value)
	}
	for _, percent := range []int{20, 400} {
		cache := NewCache(int64(bytes * percent / 100))
		table := openTable(b, WriterOptions{Encoding: encoded()}, cache, entries)
		var scratch block.Scratch
		for _, scan := range []int{0, 10, 1000} { // entries; a Get if 0
			b.Run(fmt.Sprintf("scan=%d/cache=%d%%", scan, percent), func(b *testing.B) {
				rng := rand.New(rand.NewSource(2))
				for b.Loop() {
					at := rng.Intn(len(entries) - scan)
					if scan == 0 {
						var e keyspace.Entry
						_, _ = table.Find(entries[at].key, nil, &e)
						use(b, &scratch, e)
						scratch.Reset()
						continue
					}
					var c Cursor
					c.Init(table, &Scope{
						Lower: entries[at].key, Upper: entries[at+scan].key, Read: ReadValues,
						Once: true, Scratch: &scratch,
					})
					n := 0
					for ok := c.Seek(entries[at].key); ok && n < scan; ok = c.Next() {
						use(b, &scratch, c.Entry())
						n++
					}
					scratch.Reset()
				}
			})
		}
	}
}

// use decodes the value of an entry if it is encoded.
func use(b *testing.B, scratch *block.Scratch, e keyspace.Entry) {
	if e.Dictionary == 0 {
		return
	}
	if _, err := scratch.Decode(testDictionary(), e.Value, e.Size()); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkWrite(b *testing.B) {
	entries := messages(benchEntries/10, rand.New(rand.NewSource(1)))
	for _, mode := range []struct {
		name string
		o    WriterOptions
	}{
		{"raw", WriterOptions{}},
		{"raw+filter", WriterOptions{Filter: true}},
		{"zstd16K", WriterOptions{Encoding: zipped(), BlockBytes: 16 << 10}},
		{"zstd32K", WriterOptions{Encoding: zipped(), BlockBytes: 32 << 10}},
		{"zstd64K", WriterOptions{Encoding: zipped(), BlockBytes: 64 << 10}},
	} {
		b.Run(mode.name, func(b *testing.B) {
			var s Summary
			for b.Loop() {
				s = writeTable(b, newFS(b), testPath, mode.o, entries)
			}
			b.SetBytes(int64(s.RawBytes))
			b.ReportMetric(float64(s.Size)/float64(len(entries)), "B/entry")
		})
	}
}
