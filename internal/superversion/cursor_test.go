package superversion

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/table"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// writes is what one run says: a nil value is a tombstone.
type writes map[string][]byte

func (w writes) keys() []string {
	keys := make([]string, 0, len(w))
	for k := range w {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func rootOf(w writes) memtable.Root {
	edit := memtable.New(0).Begin()
	for k, v := range w {
		if v == nil {
			edit.Delete([]byte(k))
		} else {
			edit.Put([]byte(k), v)
		}
	}
	return edit.Commit()
}

// levelsBuilder makes tables in memory.
type levelsBuilder struct {
	t       testing.TB
	files   vfs.FS
	numbers uint64
	metas   map[uint64]*manifest.Table
}

func newLevelsBuilder(t testing.TB) *levelsBuilder {
	return &levelsBuilder{t: t, files: memfs.New(), metas: map[uint64]*manifest.Table{}}
}

// run writes the run into tables of at most perTable entries.
func (b *levelsBuilder) run(w writes, perTable int, filter bool) manifest.Run {
	b.t.Helper()
	var run manifest.Run
	for keys := range slices.Chunk(w.keys(), perTable) {
		b.numbers++
		f, err := b.files.Create(fmt.Sprint(b.numbers))
		if err != nil {
			b.t.Fatal(err)
		}
		tw := table.NewWriter(f, table.WriterOptions{
			Number: b.numbers, Filter: filter, Compress: b.numbers%2 == 0, BlockBytes: 64,
		})
		for _, k := range keys {
			kind := keyspace.KindPut
			if w[k] == nil {
				kind = keyspace.KindDelete
			}
			if err := tw.Add(kind, []byte(k), w[k]); err != nil {
				b.t.Fatal(err)
			}
		}
		s, err := tw.Finish()
		if err != nil {
			b.t.Fatal(err)
		}
		run.Tables = append(run.Tables, &manifest.Table{
			Number: b.numbers, Size: s.Size, Smallest: s.Smallest, Largest: s.Largest,
		})
	}
	return run
}

func (b *levelsBuilder) open(meta *manifest.Table) *table.Table {
	return table.New(table.Config{
		FS: b.files, Path: fmt.Sprint(meta.Number), Number: meta.Number,
		Size: int64(meta.Size), Cache: table.NewCache(1 << 20),
	})
}

// randomState returns a superversion of random runs, and what it should show.
func randomState(t testing.TB, rng *rand.Rand) (*Superversion, writes) {
	t.Helper()
	visible := writes{}
	randomRun := func(n int, tombstones bool) writes {
		w := writes{}
		low, span := rng.IntN(500), 1+rng.IntN(600) // runs that interleave, and runs that do not
		for range rng.IntN(n + 1) {
			key := fmt.Sprintf("k%04d", low+rng.IntN(span))
			if rng.IntN(8) == 0 {
				key += "/a longer key with the same start"
			}
			if tombstones && rng.IntN(4) == 0 {
				w[key] = nil
			} else {
				w[key] = fmt.Appendf([]byte{}, "%s=%d", key, rng.IntN(1e6))
			}
		}
		for k, v := range w {
			visible[k] = v
		}
		return w
	}
	b := newLevelsBuilder(t)
	version := &manifest.Version{}
	if w := randomRun(400, false); len(w) > 0 {
		version.Bottom = b.run(w, 1+rng.IntN(100), false)
	}
	for range rng.IntN(4) {
		if w := randomRun(100, true); len(w) > 0 {
			version.Young = slices.Insert(version.Young, 0, b.run(w, 1+rng.IntN(100), true))
		}
	}
	s := &Superversion{Levels: NewLevels(version, nil, b.open)}
	for range rng.IntN(3) {
		s.Sealed = slices.Insert(s.Sealed, 0, rootOf(randomRun(100, true)))
	}
	if rng.IntN(3) > 0 {
		s.Mem = rootOf(randomRun(100, true))
	}
	for k, v := range visible {
		if v == nil {
			delete(visible, k)
		}
	}
	return s, visible
}

func TestGet_findsTheNewestEntry(t *testing.T) {
	for seed := range uint64(50) {
		s, want := randomState(t, rand.New(rand.NewPCG(seed, 1)))
		for i := range 1200 {
			key := fmt.Sprintf("k%04d", i)
			value, ok, err := s.Get([]byte(key))
			if err != nil {
				t.Fatalf("seed %d: get %s: %v", seed, key, err)
			}
			if expected, there := want[key]; ok != there || ok && !bytes.Equal(value, expected) {
				t.Fatalf("seed %d: get %s: %q, %v; want %q, %v", seed, key, value, ok, expected, there)
			}
		}
	}
}

// walk is a cursor beside the list that it should show.
type walk struct {
	t    testing.TB
	seed uint64
	c    Cursor
	keys []string
	all  writes
	at   int // index in keys; -1 if on no entry
}

// check compares after a move that should have led to index at of the list.
func (w *walk) check(move string, ok bool, at int) {
	w.t.Helper()
	if err := w.c.Err(); err != nil {
		w.t.Fatalf("seed %d: %s: %v", w.seed, move, err)
	}
	w.at = at
	if at < 0 || at >= len(w.keys) {
		w.at = -1
	}
	if ok != (w.at >= 0) || ok != w.c.Valid() {
		w.t.Fatalf("seed %d: %s gives %v, want index %d of %d", w.seed, move, ok, at, len(w.keys))
	}
	if !ok {
		return
	}
	if key := string(w.c.Key()); key != w.keys[at] || !bytes.Equal(w.c.Value(), w.all[key]) {
		w.t.Fatalf("seed %d: %s leads to %q=%q, want %q=%q",
			w.seed, move, key, w.c.Value(), w.keys[at], w.all[w.keys[at]])
	}
}

// step makes one random move.
func (w *walk) step(rng *rand.Rand) {
	w.t.Helper()
	key := fmt.Sprintf("k%04d", rng.IntN(1200))
	at, _ := slices.BinarySearch(w.keys, key)
	switch rng.IntN(12) {
	case 0:
		w.check("first", w.c.First(), 0)
	case 1:
		w.check("last", w.c.Last(), len(w.keys)-1)
	case 2:
		w.check("seek "+key, w.c.Seek([]byte(key)), at)
	case 3:
		w.check("seek before "+key, w.c.SeekBefore([]byte(key)), at-1)
	case 4, 5, 6, 7:
		for range rng.IntN(40) {
			if w.at < 0 {
				return
			}
			w.check("next", w.c.Next(), w.at+1)
		}
	default:
		for range rng.IntN(40) {
			if w.at < 0 {
				return
			}
			w.check("prev", w.c.Prev(), w.at-1)
		}
	}
}

func TestCursor_walksLikeASortedList(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 2))
		s, all := randomState(t, rng)
		for range 4 {
			lower, upper := fmt.Sprintf("k%04d", rng.IntN(600)), fmt.Sprintf("k%04d", 400+rng.IntN(800))
			if rng.IntN(3) == 0 {
				lower = ""
			}
			if rng.IntN(3) == 0 {
				upper = "l" // all keys start with k: the shared prefix is not empty
			}
			if lower > upper {
				continue
			}
			w := &walk{t: t, seed: seed, all: all, at: -1}
			for _, k := range all.keys() {
				if k >= lower && k < upper {
					w.keys = append(w.keys, k)
				}
			}
			w.c.Init(s, []byte(lower), []byte(upper), false)
			for range 60 {
				w.step(rng)
			}
		}
	}
}

func TestCursor_withoutUpperBoundReachesTheEnd(t *testing.T) {
	s := &Superversion{Mem: rootOf(writes{"\xff\xff": []byte("last")}), Levels: &Levels{}}
	var c Cursor
	c.Init(s, nil, nil, false)
	if !c.Last() || string(c.Value()) != "last" || c.Next() {
		t.Error("the last key is not found, or something follows it")
	}
}

func TestSharedPrefix_countsWhatAllKeysInBoundsShare(t *testing.T) {
	for _, c := range []struct {
		lower, upper string
		want         int
	}{
		{"", "", 0}, {"\x10", "\x11", 1}, {"\x10abc", "\x10abd", 4}, {"\x10abc", "\x10abe", 3},
		{"\x10a", "\x11", 1}, {"\x10a", "\x12", 0}, {"\x10a", "\x10a\x00", 2}, {"a", "b\x00", 0},
	} {
		if got := sharedPrefix([]byte(c.lower), []byte(c.upper)); got != c.want {
			t.Errorf("sharedPrefix(%q, %q) = %d, want %d", c.lower, c.upper, got, c.want)
		}
	}
}
