package table

import (
	"encoding/binary"
	"math/rand"
	"testing"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// texts returns n entries with values of so many bytes that compress.
func texts(n, bytes int, rng *rand.Rand) []entry {
	words := messages(200, rng)
	entries := make([]entry, n)
	for i := range entries {
		value := binary.BigEndian.AppendUint64(make([]byte, 0, bytes+1000), uint64(i))
		for len(value) < bytes {
			value = append(value, words[rng.Intn(len(words))].value...)
		}
		key := binary.BigEndian.AppendUint64(nil, uint64(i))
		entries[i] = entry{key, value[:bytes], keyspace.KindPut}
	}
	return entries
}

// warmed is a table of small values, all in a cache that has room for few bytes more, and a table
// of large ones.
func warmed(t *testing.T, large []entry) (c *cached, texts *Table) {
	t.Helper()
	c = &cached{entries: messages(9000, rand.New(rand.NewSource(1))), cache: NewCache(4 << 20)}
	o := WriterOptions{Encoding: zipped()}
	c.tables = []*Table{openTable(t, o, c.cache, c.entries)}
	for range 2 {
		readAll(t, c.tables[0], c.entries)
	}
	if n := c.decodedShare(0); n != 100 {
		t.Fatalf("%d %% of the small values are in the cache", n)
	}
	return c, openTable(t, o, c.cache, large)
}

// in returns how many values of a table, each of which is a block, are in memory.
func in(table *Table) int {
	n, slots := 0, table.reader.Load().slots
	for i := range slots {
		if slots[i].values.Load() != nil {
			n++
		}
	}
	return n
}

func TestCache_aLargeValueEvictsNothingAtFirst(t *testing.T) {
	for _, size := range []int{200 << 10, 1 << 20, 3 << 20, 8 << 20} {
		large := texts(1, size, rand.New(rand.NewSource(2)))
		c, table := warmed(t, large)
		small := unitsIn(c.cache)
		checkEntry(t, table, large[0])
		if n, held := unitsIn(c.cache), c.cache.Bytes(); n < small || held > 4<<20 {
			t.Errorf("a value of %d bytes leaves %d of %d units, %d bytes", size, n, small, held)
		}
		for range 3 {
			checkEntry(t, table, large[0])
		}
		if got, want := in(table) > 0, size < 2<<20; got != want {
			t.Errorf("read again, a value of %d bytes is kept: %v, want %v", size, got, want)
		}
		if n := c.decodedShare(0); n < 65 || c.cache.Bytes() > 4<<20 {
			t.Errorf("read again, it leaves %d %% and %d bytes", n, c.cache.Bytes())
		}
	}
}

func TestCache_aPassOverLargeValuesLeavesTheRest(t *testing.T) {
	large := texts(100, 200<<10, rand.New(rand.NewSource(2)))
	c, table := warmed(t, large)
	for range 2 {
		readAll(t, table, large)
		if n := c.decodedShare(0); n < 100 {
			t.Errorf("%d %% of the small values are left", n)
		}
	}
}

func TestCache_fewLargeValuesGetWarm(t *testing.T) {
	large := texts(10, 200<<10, rand.New(rand.NewSource(2)))
	_, table := warmed(t, large)
	for range 3 {
		readAll(t, table, large)
	}
	if n := in(table); n < 9 {
		t.Errorf("%d of 10 values that are read again and again are kept", n)
	}
}

// While nobody needs its room, what is large stays, whatever it has.
func TestCache_largeValuesStayWhereThereIsRoom(t *testing.T) {
	large := texts(1, 3<<20, rand.New(rand.NewSource(2)))
	cache := NewCache(4 << 20)
	table := openTable(t, WriterOptions{Encoding: zipped()}, cache, large)
	checkEntry(t, table, large[0])
	if in(table) != 1 {
		t.Error("a value is not in a cache that has room for it")
	}
	small := messages(9000, rand.New(rand.NewSource(1)))
	readAll(t, openTable(t, WriterOptions{Encoding: zipped()}, cache, small), small)
	if in(table) != 0 {
		t.Error("a value that was read once stays where others need its room")
	}
}

func TestCursor_decodesOnlyTheHeadsOfLargeValues(t *testing.T) {
	for _, read := range []reading{mapped, noMap, trusted} {
		m := mode{o: WriterOptions{Encoding: zipped()}, read: read, limit: 64 << 20}
		entries := texts(5, 1<<20, rand.New(rand.NewSource(2)))
		table := m.open(t, entries)
		for _, once := range []bool{false, true} {
			for _, n := range []int{16, 1000, 20} {
				var c Cursor
				c.Init(table, &Scope{
					Read: ReadHeads, HeadBytes: n, Once: once, Scratch: new(block.Scratch),
				})
				i := 0
				for ok := c.Seek(nil) || c.First(); ok; ok = c.Next() {
					if !shows(c.scope, c.Value(), entries[i].value) || len(c.Value()) > 1000 {
						t.Fatalf("%d bytes of value %d are %.80q", n, i, c.Value())
					}
					i++
				}
				if i != len(entries) || c.Err() != nil {
					t.Fatalf("%d entries, %v", i, c.Err())
				}
			}
		}
		if n, bytes := in(table), table.config.Cache.Bytes(); n > 0 || bytes > 20_000 {
			t.Errorf("%d values are decoded; %d bytes are kept", n, bytes)
		}
		readAll(t, table, entries)
		var c Cursor
		c.Init(table, heads(16))
		for ok, i := c.First(), 0; ok; ok, i = c.Next(), i+1 {
			if len(c.Value()) != len(entries[i].value) {
				t.Errorf("a value that is in memory is decoded again")
			}
		}
	}
}
