package table

import (
	"bytes"
	"fmt"
	"math/rand"
	"testing"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/filter"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// copyTable writes a table of what old has, with whole blocks wherever that is possible, and with
// the extra entries in between, each of which has to fall into the next block that ends behind it.
// It returns the new table and how many blocks were copied.
func copyTable(t testing.TB, old *Table, o WriterOptions, extra []entry) (copied *Table, n int) {
	t.Helper()
	fs := newFS(t)
	f, err := fs.Create(testPath)
	if err != nil {
		t.Fatal(err)
	}
	o.Number, o.Database = 7, testDatabase()
	w := NewWriter(f, o)
	add := func(key []byte, e keyspace.Entry) {
		if err := w.Add(key, e); err != nil {
			t.Fatal(err)
		}
	}
	var c Cursor
	c.Init(old, &Scope{Read: ReadStored})
	for ok := c.First(); ok; ok = c.Next() {
		if c.Puts() && (len(extra) == 0 || bytes.Compare(extra[0].key, c.keys.At(c.count-1)) > 0) {
			b, err := c.Copy()
			if err != nil {
				t.Fatal(err)
			}
			added, err := w.AddBlock(b)
			if err != nil {
				t.Fatal(err)
			}
			if added {
				n++
				c.ToBlockEnd()
				continue
			}
		}
		for len(extra) > 0 && bytes.Compare(extra[0].key, c.Key()) < 0 {
			add(extra[0].key, keyspace.Entry{Kind: extra[0].kind, Value: extra[0].value})
			extra = extra[1:]
		}
		if err := c.Load(); err != nil {
			t.Fatal(err)
		}
		add(c.Key(), c.Entry())
	}
	s, err := w.Finish()
	if err != nil || c.Err() != nil {
		t.Fatal(err, c.Err())
	}
	return New(Config{
		FS: fs, Path: testPath, Number: 7, Database: testDatabase(), Size: int64(s.Size),
		Cache: NewCache(1 << 20), Dictionaries: []*block.Dictionary{testDictionary()},
	}), n
}

// checkSameTable fails the test unless both have the same entries and say the same of themselves.
func checkSameTable(t testing.TB, what string, got, want *Table) {
	t.Helper()
	var a, b Cursor
	a.Init(got, &Scope{Read: ReadValues})
	b.Init(want, &Scope{Read: ReadValues})
	for okA, okB := a.First(), b.First(); okA || okB; okA, okB = a.Next(), b.Next() {
		if okA != okB || !bytes.Equal(a.Key(), b.Key()) || !bytes.Equal(a.Value(), b.Value()) ||
			a.Kind() != b.Kind() {
			t.Fatalf("%s: %v, %v: %.40q instead of %.40q", what, okA, okB, a.Key(), b.Key())
		}
	}
	if x, y := a.reader.index.properties, b.reader.index.properties; x != y {
		t.Errorf("%s: properties are %+v, want %+v", what, x, y)
	}
}

func TestAddBlock_keepsWhatIsThere(t *testing.T) {
	const seed = 1
	copied := 0
	for name, entries := range shapes(rand.New(rand.NewSource(seed))) {
		for how, encoding := range []block.Encoding{{}, zipped(), encoded()} {
			o := WriterOptions{Encoding: encoding, BlockBytes: 2000}
			old := openTable(t, o, NewCache(1<<20), entries)
			table, n := copyTable(t, old, o, nil)
			checkSameTable(t, fmt.Sprintf("%s, encoding %d, seed %d", name, how, seed), table, old)
			copied += n
		}
	}
	if copied < 100 {
		t.Errorf("seed %d: only %d blocks were copied", seed, copied)
	}
}

func TestAddBlock_addsItsKeysToTheFilter(t *testing.T) {
	entries := shapes(rand.New(rand.NewSource(1)))["random keys"]
	if len(entries) == 0 {
		t.Fatal("there are no entries")
	}
	o := WriterOptions{Filter: true, BlockBytes: 2000}
	table, n := copyTable(t, openTable(t, o, NewCache(1<<20), entries), o, nil)
	for _, e := range entries {
		got, ok, err := findHashed(table, e.key, filter.Hash(e.key))
		if err != nil || !ok && e.kind != keyspace.KindDelete || string(got.Value) != string(e.value) {
			t.Fatalf("%q: %v, %v, %d bytes", e.key, ok, err, len(got.Value))
		}
	}
	if n == 0 {
		t.Error("no block was copied")
	}
}

// Many compactions that touch a few blocks each must not cut them into ever smaller ones.
func TestAddBlock_leavesNoSmallBlocks(t *testing.T) {
	const seed = 1
	rng := rand.New(rand.NewSource(seed))
	for _, valueBytes := range []int{1, 100, 300} {
		var entries []entry
		for i := range 20_000 / valueBytes * 2 {
			key := fmt.Appendf(nil, "%08d", i*1000)
			entries = append(entries, entry{key, make([]byte, valueBytes), keyspace.KindPut})
		}
		o := WriterOptions{BlockBytes: 2000}
		table := openTable(t, o, NewCache(1<<20), entries)
		total := 0
		for range 20 {
			extra := []entry{{
				fmt.Appendf(nil, "%08d", rng.Intn(len(entries)-1)*1000+1+rng.Intn(998)),
				make([]byte, valueBytes), keyspace.KindPut,
			}}
			next, n := copyTable(t, table, o, extra)
			table, total = next, total+n
		}
		r, err := table.opened()
		if err != nil {
			t.Fatal(err)
		}
		small := 0
		for b := range r.slots {
			keys, err := r.keys(b, lookup)
			if err != nil {
				t.Fatal(err)
			}
			values, _, err := r.values(b, keys, lookup)
			if err != nil {
				t.Fatal(err)
			}
			if 2*keys.Len() < block.MaxEntries && 2*keys.Bytes() < o.BlockBytes &&
				2*values.DataBytes() < o.BlockBytes {
				small++
			}
		}
		if small > 1 || total < 10*len(r.slots) { // the last block of the table may be small
			t.Errorf("values of %d bytes, seed %d: %d of %d blocks are small, %d were copied",
				valueBytes, seed, small, len(r.slots), total)
		}
	}
}

func TestAddBlock_refusesWhatDoesNotFit(t *testing.T) {
	old := openTable(t, WriterOptions{}, NewCache(1<<20), puts("b", "c"))
	var c Cursor
	c.Init(old, &Scope{Read: ReadStored})
	c.First()
	b, err := c.Copy()
	if err != nil {
		t.Fatal(err)
	}
	above := newWriter(t, WriterOptions{})
	if err := above.Add([]byte("b"), keyspace.Entry{Kind: keyspace.KindPut}); err != nil {
		t.Fatal(err)
	}
	if added, err := above.AddBlock(b); added || err == nil {
		t.Errorf("behind one of its keys: %v, %v", added, err)
	}
	if added, err := above.AddBlock(b); added || err == nil {
		t.Errorf("after an error: %v, %v", added, err)
	}
}

func TestCopy_verifiesTheBlock(t *testing.T) {
	fs := newFS(t)
	s := writeTable(t, fs, testPath, WriterOptions{}, puts("a", "b", "c"))
	whole := readFile(t, fs, testPath, int64(s.Size))
	f, err := parseFooter(whole[len(whole)-FooterSize:], headerOf(7, testDatabase()), s.Size)
	if err != nil {
		t.Fatal(err)
	}
	for at := uint64(fileheader.Size); at < f.filter; at++ {
		old := New(Config{
			FS: fs, Path: testPath, Number: 7, Database: testDatabase(), Size: int64(s.Size),
			Cache: NewCache(1 << 20),
		})
		var c Cursor
		c.Init(old, &Scope{Read: ReadStored})
		if !c.First() {
			t.Fatal(c.Err())
		}
		c.reader.file, c.reader.data = nil, bytes.Clone(whole) // as if it changed since it was opened
		c.reader.data[at] ^= 1
		if _, err := c.Copy(); err == nil {
			t.Errorf("a block damaged at %d is copied", at)
		}
	}
}
