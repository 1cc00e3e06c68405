package table

import (
	"bytes"
	"errors"
	"math/rand"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/filter"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// eachShape runs a test on entries of all shapes in all modes.
func eachShape(
	t *testing.T, run func(t *testing.T, table *Table, entries []entry, rng *rand.Rand),
) {
	const seed = 1
	all := shapes(rand.New(rand.NewSource(seed)))
	for _, m := range modes() {
		for name, entries := range all {
			t.Run(m.name+"/"+name, func(t *testing.T) {
				run(t, m.open(t, entries), entries, rand.New(rand.NewSource(seed)))
			})
		}
	}
}

// position returns the index of the first entry whose key is not below key.
func position(entries []entry, key []byte) (int, bool) {
	return slices.BinarySearchFunc(entries, key, func(e entry, key []byte) int {
		return bytes.Compare(e.key, key)
	})
}

func TestGet_findsWhatWasAddedAndNothingElse(t *testing.T) {
	eachShape(t, func(t *testing.T, table *Table, entries []entry, rng *rand.Rand) {
		for _, e := range entries {
			checkEntry(t, table, e)
		}
		for _, key := range probes(entries, rng) {
			_, want := position(entries, key)
			if _, ok, err := findHashed(table, key, filter.Hash(key)); ok != want || err != nil {
				t.Fatalf("Get(%.40x) finds %v, want %v (%v)", key, ok, want, err)
			}
		}
	})
}

func TestGet_returnsEmptyValuesThatAreNotNil(t *testing.T) {
	table := mode{limit: 1 << 20}.open(t, []entry{{[]byte("k"), nil, keyspace.KindPut}})
	found, ok, err := findHashed(table, []byte("k"), 0)
	if found.Value == nil || len(found.Value) != 0 || !ok || err != nil {
		t.Errorf("Get = %v, %v, %v", found, ok, err)
	}
}

func TestGet_allocatesNothing(t *testing.T) {
	entries := messages(1000, rand.New(rand.NewSource(1)))
	for _, m := range modes()[:3] {
		table := m.open(t, entries)
		get := func() {
			for _, e := range entries {
				if _, ok, _ := findHashed(table, e.key, filter.Hash(e.key)); !ok {
					t.Fatalf("%x is missing", e.key)
				}
			}
		}
		get()
		if n := testing.AllocsPerRun(3, get); n != 0 {
			t.Errorf("%s: %v allocations in %d lookups", m.name, n, len(entries))
		}
	}
}

func TestTable_opensItsFileWhenFirstUsed(t *testing.T) {
	fsys := newFS(t)
	table := New(Config{FS: fsys, Path: testPath, Number: 7, Database: testDatabase(), Size: 1,
		Cache: NewCache(0)})
	if _, _, err := findHashed(table, []byte("k"), 0); !errors.Is(err, corrupt.Err) {
		t.Errorf("Get of a missing file says %v", err)
	}
	var c Cursor
	c.Init(table, &Scope{Read: ReadValues})
	for name, move := range map[string]func() bool{
		"First": c.First, "Last": c.Last,
		"Seek": func() bool { return c.Seek([]byte("k")) },
	} {
		if move() || c.Valid() || !errors.Is(c.Err(), corrupt.Err) {
			t.Errorf("%s of a missing file: valid %v, error %v", name, c.Valid(), c.Err())
		}
	}
	s := writeTable(t, fsys, testPath, WriterOptions{}, puts("k"))
	table.config.Size = int64(s.Size)
	if !c.First() || string(c.Key()) != "k" || c.Err() != nil {
		t.Errorf("the cursor does not recover once the file is there: %v", c.Err())
	}
	if err := fsys.Remove(testPath); err != nil {
		t.Fatal(err)
	}
	checkEntry(t, table, puts("k")[0])
}

func TestOpen_keepsARemovedFileReadable(t *testing.T) {
	fsys := newFS(t)
	s := writeTable(t, fsys, testPath, WriterOptions{}, puts("k"))
	table := New(Config{FS: fsys, Path: testPath, Number: 7, Database: testDatabase(),
		Size: int64(s.Size), Cache: NewCache(0)})
	if err := errors.Join(table.Open(), fsys.Remove(testPath)); err != nil {
		t.Fatal(err)
	}
	checkEntry(t, table, puts("k")[0])
}

func TestFilter_isAskedFirst(t *testing.T) {
	table := mode{o: WriterOptions{Filter: true}, limit: 1 << 20}.open(t, puts("a", "b", "c"))
	passed := 0
	for hash := range uint64(100) { // not the key's: the filter nearly never knows it
		if _, ok, err := findHashed(table, []byte("b"), hash<<32|hash); err != nil {
			t.Fatal(err)
		} else if ok {
			passed++
		}
	}
	if passed > 5 {
		t.Errorf("the filter let %d of 100 absent hashes pass", passed)
	}
}
