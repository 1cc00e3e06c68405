package table

import (
	"math/rand"
	"testing"
)

// cached is tables that share a cache of so many of their blocks, decoded.
type cached struct {
	cache   *Cache
	entries []entry
	tables  []*Table
}

// newCached returns n tables with values that are encoded alone, and a cache for so many parts in a
// hundred of one of them.
func newCached(t *testing.T, n, percent int) *cached {
	t.Helper()
	c := &cached{entries: messages(4000, rand.New(rand.NewSource(1)))}
	bytes := 0
	for _, e := range c.entries {
		bytes += len(e.value)
	}
	c.cache = NewCache(int64(bytes * percent / 100))
	for range n {
		c.tables = append(c.tables,
			openTable(t, WriterOptions{Encoding: encoded(), BlockBytes: 4 << 10}, c.cache, c.entries))
	}
	return c
}

// decodedShare returns how many blocks of a hundred of a table are in the cache, decoded.
func (c *cached) decodedShare(table int) int {
	n, slots := 0, c.tables[table].reader.Load().slots
	for i := range slots {
		if slots[i].values.Load() != nil {
			n++
		}
	}
	return 100 * n / len(slots)
}

// get looks n entries of a table up.
func (c *cached) get(t *testing.T, table, n int, rng *rand.Rand) {
	t.Helper()
	for range n {
		checkEntry(t, c.tables[table], c.entries[rng.Intn(len(c.entries))])
	}
}

// scan walks a table.
func (c *cached) scan(t *testing.T, table int) {
	t.Helper()
	var cursor Cursor
	cursor.Init(c.tables[table], &Scope{Read: ReadValues})
	n := 0
	for ok := cursor.First(); ok; ok = cursor.Next() {
		n++
	}
	if n != len(c.entries) || cursor.Err() != nil {
		t.Fatalf("a scan came to %d of %d entries: %v", n, len(c.entries), cursor.Err())
	}
}

func TestCache_decodesABlockOnceThatPaysForItself(t *testing.T) {
	c := newCached(t, 1, 400)
	slots := func() *slots { return &c.tables[0].reader.Load().slots[0] }
	checkEntry(t, c.tables[0], c.entries[0])
	all, each := 4<<10, len(c.entries[0].value)
	for n := 1; slots().values.Load() == nil; n++ {
		if n*each > all/roomShare+2*each {
			t.Fatalf("a block is not decoded after %d gets of %d bytes of %d", n, each, all)
		}
		checkEntry(t, c.tables[0], c.entries[0]) // the same one: all reads count
	}
	c.cache.SetLimit(int64(all) / 2)
	for range 4 * all / each {
		checkEntry(t, c.tables[0], c.entries[0])
	}
	if slots().values.Load() != nil {
		t.Error("a block is decoded that does not fit")
	}
}

func TestCache_decodesALargeValueAtOnce(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	entries := messages(40, rng)
	for i := range entries {
		for len(entries[i].value) < 5000 {
			entries[i].value = append(entries[i].value, entries[rng.Intn(len(entries))].value[:100]...)
		}
	}
	o := WriterOptions{Encoding: encoded(), BlockBytes: 8 << 10}
	table := openTable(t, o, NewCache(1<<20), entries)
	for i := range entries {
		checkEntry(t, table, entries[i])
		if table.reader.Load().slots[i].values.Load() == nil {
			t.Fatalf("value %d is a block, and was not kept", i)
		}
	}
}

func TestCache_takesNewBlocksAfterAScan(t *testing.T) {
	for _, scanned := range []bool{false, true} {
		c, rng := newCached(t, 3, 150), rand.New(rand.NewSource(2))
		c.get(t, 0, 12*len(c.entries), rng)
		if scanned {
			c.scan(t, 1)
		}
		if n := c.decodedShare(0); n < 95 {
			t.Errorf("scanned %v: %d %% of what was in use are left", scanned, n)
		}
		c.get(t, 2, 12*len(c.entries), rng)
		if n := c.decodedShare(2); n < 90 {
			t.Errorf("scanned %v: %d %% of what is in use now are there", scanned, n)
		}
	}
}

func TestCache_keepsWhatIsScannedAgain(t *testing.T) {
	c, rng := newCached(t, 2, 150), rand.New(rand.NewSource(2))
	c.get(t, 0, 12*len(c.entries), rng)
	for range 3 {
		c.scan(t, 1)
	}
	if n := c.decodedShare(1); n < 80 {
		t.Errorf("%d %% of what was scanned three times are there", n)
	}
}

func TestCache_keepsAPartOfWhatIsTooLarge(t *testing.T) {
	c := newCached(t, 1, 50)
	for range 5 {
		c.scan(t, 0)
		if n := c.decodedShare(0); n < 25 {
			t.Errorf("%d %% are there of what is twice as large as the cache", n)
		}
	}
	found := 0
	slots := c.tables[0].reader.Load().slots
	for i := range len(slots) / 2 {
		if slots[i].values.Load() != nil {
			found++
		}
	}
	if found < len(slots)/8 {
		t.Errorf("the next scan finds %d of the %d blocks that it comes to first", found, len(slots)/2)
	}
}

// What a cache is too small for is not decoded over and over.
func TestCache_doesNotChurn(t *testing.T) {
	c, rng := newCached(t, 1, 50), rand.New(rand.NewSource(2))
	c.get(t, 0, 25*len(c.entries), rng)
	before, gets := c.cache.added, 25*len(c.entries)
	c.get(t, 0, gets, rng)
	perBlock := len(c.entries) / len(c.tables[0].reader.Load().slots)
	if n := int(c.cache.added-before) / (4 << 10) * perBlock; n > gets/2 {
		t.Errorf("in %d gets, %d values were decoded with others", gets, n)
	}
}
