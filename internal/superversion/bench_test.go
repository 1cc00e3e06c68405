package superversion

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/table"
)

const benchEntries = 50_000

func benchKey(i int) []byte { return fmt.Appendf(nil, "k%06d", i%benchEntries) }

// benchState returns a superversion of a sealed memtable, two young runs and a bottom run whose
// keys interleave.
func benchState(b *testing.B) *Superversion {
	b.Helper()
	d := newDisk(b)
	layers := make([]*layer, 4)
	for n := range layers {
		layers[n] = newLayer()
		for i := n; i < benchEntries; i += []int{50, 20, 10, 1}[n] {
			if i%7 == 6 && n < 3 {
				layers[n].delete(string(benchKey(i)))
			} else {
				layers[n].put(string(benchKey(i)), "a short value", 0)
			}
		}
	}
	cache := table.NewCache(64 << 20)
	open := d.opener()
	open.Table = func(meta *manifest.Table, _ []*block.Dictionary) *table.Table {
		return table.New(table.Config{
			FS: d.files, Path: folder.Table.Name(meta.Number), Number: meta.Number, Size: int64(meta.Size),
			Cache: cache,
		})
	}
	write := func(l *layer) manifest.Run {
		w := run.NewWriter(run.Config{
			FS: d.files, TableBytes: 1 << 20, Filter: true,
			NextNumber: func() uint64 { d.numbers++; return d.numbers },
		})
		for _, key := range slices.Sorted(maps.Keys(l.written)) {
			if err := w.Add([]byte(key), l.written[key]); err != nil {
				b.Fatal(err)
			}
		}
		out, err := w.Finish()
		if err != nil {
			b.Fatal(err)
		}
		return manifest.Run{Tables: out.Tables}
	}
	version := &manifest.Version{
		Young: []manifest.Run{write(layers[1]), write(layers[2])}, Bottom: write(layers[3]),
	}
	return &Superversion{
		Sealed: []memtable.Root{layers[0].edit.Commit()}, Levels: NewLevels(version, nil, open),
	}
}

func BenchmarkCursor(b *testing.B) {
	s := benchState(b)
	for _, reverse := range []bool{false, true} {
		b.Run(fmt.Sprintf("reverse=%t", reverse), func(b *testing.B) {
			var c Cursor
			c.Init(s, Scope{Read: ReadValues})
			first, next := c.First, c.Next
			if reverse {
				first, next = c.Last, c.Prev
			}
			ok, total := false, 0
			b.ReportAllocs()
			for b.Loop() {
				if ok = ok && next(); !ok {
					ok = first()
				}
				value, _ := c.Value()
				total += len(c.Key()) + len(value)
			}
		})
	}
}

func BenchmarkSeek(b *testing.B) {
	s := benchState(b)
	var c Cursor
	c.Init(s, Scope{Read: ReadValues})
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		i += 7919
		c.Seek(benchKey(i))
	}
}

func BenchmarkGet(b *testing.B) {
	s := benchState(b)
	var lookups Lookups
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		i += 7919
		_, _, _ = s.Get(benchKey(i), &lookups)
	}
}

func BenchmarkEntryCursor(b *testing.B) {
	s := benchState(b)
	var c EntryCursor
	c.Init(s.Levels, s.Levels.all())
	ok, total := false, 0
	b.ReportAllocs()
	for b.Loop() {
		if ok = ok && c.Next(); !ok {
			ok = c.First()
		}
		e, _ := c.Entry()
		total += len(e.Value)
	}
}
