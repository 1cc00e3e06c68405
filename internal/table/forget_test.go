package table

import (
	"math/rand"
	"runtime"
	"sync"
	"testing"
)

// each calls fn for every list of units that the cache has.
func (c *Cache) each(fn func(*ring)) {
	fn(&c.probation)
	for i := range c.kept {
		fn(&c.kept[i])
	}
}

// checkSum checks that the cache counts the bytes of its units, no more and no less, and that each
// of them is where the cache looks for it.
func checkSum(t *testing.T, c *Cache) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := int64(0)
	c.each(func(r *ring) {
		for i, u := range r.units {
			sum += u.base().bytes
			if u.base().at != i || c.listOfLocked(u.base()) != r {
				t.Errorf("unit %d is listed elsewhere", i)
			}
		}
	})
	if got := c.Bytes(); got != sum || got > c.limit.Load() {
		t.Errorf("the cache counts %d bytes, its units have %d, and its limit is %d",
			got, sum, c.limit.Load())
	}
}

// checkSlots checks that the slots of a table hold units of the cache only.
func checkSlots(t *testing.T, c *Cache, table *Table) {
	t.Helper()
	listed, r := make(map[resident]bool), table.reader.Load()
	c.each(func(r *ring) {
		for _, u := range r.units {
			listed[u] = true
		}
	})
	for i := range r.slots {
		s := &r.slots[i]
		keys, flat, values := s.keys.Load(), s.flat.Load(), s.values.Load()
		encoded, heads := s.encoded.Load(), s.heads.Load()
		if keys != nil && !listed[keys] || flat != nil && !listed[flat] ||
			values != nil && !listed[values] || encoded != nil && !listed[encoded] ||
			heads != nil && !listed[heads] {
			t.Errorf("block %d has a unit that the cache does not know", i)
		}
	}
}

// roam reads entries of a table in all ways until stop is closed.
func roam(t *testing.T, table *Table, entries []entry, seed int64, stop <-chan struct{}) {
	rng := rand.New(rand.NewSource(seed))
	for {
		select {
		case <-stop:
			return
		default:
		}
		from := rng.Intn(len(entries) - 100)
		checkEntry(t, table, entries[from])
		for _, read := range []Reading{ReadValues, ReadHeads, ReadKeys} {
			var c Cursor
			c.Init(table, &Scope{Read: read, HeadBytes: 1 + rng.Intn(50)})
			ok := c.Seek(entries[from].key)
			for i := 0; i < 100; i++ {
				if !ok || string(c.Key()) != string(entries[from+i].key) {
					t.Errorf("entry %d: %.40q, %v", from+i, c.Key(), c.Err())
					return
				}
				ok = c.Next()
			}
		}
	}
}

func TestForget_racesWithReads(t *testing.T) {
	entries := messages(1500, rand.New(rand.NewSource(1)))
	for name, o := range map[string]WriterOptions{
		"encoded": {Encoding: encoded(), BlockBytes: 4 << 10},
		"zipped":  {Encoding: zipped(), BlockBytes: 4 << 10},
		"plain":   {BlockBytes: 4 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			cache := NewCache(300 << 10)
			cache.OnFull(func() { cache.SetLimit(500 << 10) })
			tables := []*Table{openTable(t, o, cache, entries), openTable(t, o, cache, entries)}
			var readers sync.WaitGroup
			stop := make(chan struct{})
			for i := range 4 {
				readers.Go(func() { roam(t, tables[i%2], entries, int64(i), stop) })
			}
			for i := range 300 {
				tables[i%2].Forget()
				cache.SetLimit(int64(1+i%5) * 100 << 10)
				runtime.Gosched()
			}
			checkSum(t, cache)
			cache.Clear()
			tables[0].Clear()
			close(stop)
			readers.Wait()
			checkSum(t, cache)
			for _, table := range tables {
				table.Clear()
			}
			cache.Clear()
			if n := unitsIn(cache); n != 0 || cache.Bytes() != 0 {
				t.Errorf("%d units of %d bytes are left", n, cache.Bytes())
			}
			readAll(t, tables[0], entries)
			checkSum(t, cache)
			checkSlots(t, cache, tables[0])
			runtime.KeepAlive(tables)
		})
	}
}

func TestForget_ofATableThatNobodyHasOpened(t *testing.T) {
	entries := puts("a")
	table := openTable(t, WriterOptions{}, NewCache(1<<20), entries)
	if table.Forget() || table.reader.Load() != nil {
		t.Error("the table was in memory, or is now")
	}
	readAll(t, table, entries)
	if !table.Forget() {
		t.Error("the table was not in memory")
	}
	readAll(t, table, entries)
}
