package table

import (
	"bytes"
	"math/rand"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat/internal/filter"
	"github.com/stoatdb/stoat/internal/vfs"
)

// readAll looks up all entries.
func readAll(t testing.TB, table *Table, entries []entry) {
	t.Helper()
	for _, e := range entries {
		checkEntry(t, table, e)
	}
}

// unitsIn returns how many units the cache has.
func unitsIn(c *Cache) int {
	n := len(c.probation.units)
	for i := range c.kept {
		n += len(c.kept[i].units)
	}
	return n
}

func TestCache_staysWithinItsLimit(t *testing.T) {
	entries := messages(5000, rand.New(rand.NewSource(1)))
	cache := NewCache(200 << 10)
	table := openTable(t, WriterOptions{Encoding: zipped()}, cache, entries)
	for _, e := range entries {
		checkEntry(t, table, e)
		if got := cache.Bytes(); got > 200<<10 {
			t.Fatalf("the cache holds %d bytes of %d", got, 200<<10)
		}
	}
	if cache.Bytes() < 100<<10 {
		t.Errorf("the cache holds only %d bytes", cache.Bytes())
	}
	cache.SetLimit(1 << 10)
	if cache.Bytes() > 1<<10 {
		t.Errorf("with a lower limit it holds %d bytes", cache.Bytes())
	}
	cache.SetLimit(0)
	if n := unitsIn(cache); cache.Bytes() != 0 || n != 0 {
		t.Errorf("emptied, it holds %d bytes in %d units", cache.Bytes(), n)
	}
	for i := range table.reader.Load().slots {
		s := &table.reader.Load().slots[i]
		if s.keys.Load() != nil || s.values.Load() != nil || s.flat.Load() != nil {
			t.Fatalf("block %d is still in memory", i)
		}
	}
	readAll(t, table, entries[:100])
	if cache.Bytes() != 0 {
		t.Errorf("without any room it holds %d bytes", cache.Bytes())
	}
}

func TestCache_countsNoBytesOfAMap(t *testing.T) {
	entries := shapes(rand.New(rand.NewSource(1)))["large values"]
	cache := NewCache(1 << 30)
	table := openTable(t, WriterOptions{}, cache, entries)
	readAll(t, table, entries)
	if got := cache.Bytes(); got > 10_000 {
		t.Errorf("raw values in a map count for %d bytes", got)
	}
}

func TestCache_keepsWhatIsUsed(t *testing.T) {
	entries := messages(5000, rand.New(rand.NewSource(1)))
	cache := NewCache(200 << 10)
	table := openTable(t, WriterOptions{Encoding: zipped()}, cache, entries)
	checkEntry(t, table, entries[0])
	slot := &table.reader.Load().slots[0]
	loaded := slot.values.Load()
	for _, e := range entries { // passes 2 MB through 200 KB, using block 0 all the time
		checkEntry(t, table, e)
		checkEntry(t, table, entries[1])
	}
	if slot.values.Load() != loaded {
		t.Error("the block in use was evicted")
	}
}

func TestCache_servesManyReadersWhileEvicting(t *testing.T) {
	const readers = 4
	entries := messages(1500, rand.New(rand.NewSource(1)))
	cache := NewCache(50 << 10)
	o := WriterOptions{Encoding: zipped(), Filter: true, BlockBytes: 4 << 10}
	tables := []*Table{openTable(t, o, cache, entries)}
	o.Encoding = encoded()
	tables = append(tables, openTable(t, o, cache, entries))
	var wg sync.WaitGroup
	for seed := range int64(readers) {
		wg.Go(func() {
			rng := rand.New(rand.NewSource(seed))
			var c Cursor
			for range 400 {
				table, at := tables[rng.Intn(2)], rng.Intn(len(entries)-100)
				e := entries[at]
				found, ok, err := findHashed(table, e.key, filter.Hash(e.key))
				if !ok || err != nil || !bytes.Equal(decoded(t, found), e.value) {
					t.Errorf("Get of entry %d: %v, %v", at, ok, err)
					return
				}
				c.Init(table, readings(rng)[rng.Intn(3)])
				for ok, end := c.Seek(e.key), at+rng.Intn(100); at < end; ok, at = c.Next(), at+1 {
					if !ok || string(c.Key()) != string(entries[at].key) ||
						c.scope.Read != ReadKeys && !shows(c.scope, decoded(t, c.Entry()), entries[at].value) {
						t.Errorf("the cursor lost entry %d: %v", at, c.Err())
						return
					}
				}
				if rng.Intn(100) == 0 {
					cache.SetLimit(int64(rng.Intn(100 << 10)))
				}
			}
		})
	}
	wg.Wait()
	cache.SetLimit(0)
	if cache.Bytes() != 0 {
		t.Errorf("emptied, the cache holds %d bytes", cache.Bytes())
	}
}

// countingFS counts maps and open files.
type countingFS struct {
	vfs.Files
	maps, files atomic.Int64
	released    chan struct{} // told of every unmap and close
}

type countingFile struct {
	vfs.File
	fs *countingFS
}

func (fs *countingFS) Open(name string) (vfs.File, error) {
	f, err := fs.Files.Open(name)
	fs.files.Add(1)
	return &countingFile{f, fs}, err
}

func (f *countingFile) Close() error {
	f.fs.files.Add(-1)
	f.fs.released <- struct{}{}
	return f.File.Close()
}

func (f *countingFile) Map(size int64) ([]byte, func() error, error) {
	p, unmap, err := f.File.Map(size)
	if err == nil {
		f.fs.maps.Add(1)
	}
	return p, func() error {
		f.fs.maps.Add(-1)
		f.fs.released <- struct{}{}
		return unmap()
	}, err
}

// collect runs the garbage collector until something is released.
func collect(t *testing.T, fs *countingFS) {
	t.Helper()
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	for {
		runtime.GC()
		select {
		case <-fs.released:
			return
		case <-deadline.C:
			t.Fatal("nothing was released")
		default:
			runtime.Gosched()
		}
	}
}

func TestTable_letsItsFileGoWhenUnreachable(t *testing.T) {
	entries := messages(1000, rand.New(rand.NewSource(1)))
	for _, noMap := range []bool{false, true} {
		memory := newFS(t)
		s := writeTable(t, memory, testPath, WriterOptions{Encoding: zipped(), Filter: true}, entries)
		if noMap {
			memory = noMapFS{memory}
		}
		fs := &countingFS{Files: memory, released: make(chan struct{}, 10)}
		cache := NewCache(1 << 30)
		var c Cursor
		c.Init(New(Config{FS: fs, Path: testPath, Number: 7, Database: testDatabase(),
			Size: int64(s.Size), Cache: cache}), &Scope{Read: ReadValues})
		n := 0
		for ok := c.First(); ok; ok = c.Next() {
			n++
		}
		readAll(t, c.table, entries)
		if !noMap {
			<-fs.released // the file is closed once it is mapped
		}
		runtime.GC()
		if open := fs.maps.Load() + fs.files.Load(); open != 1 || n != len(entries) {
			t.Fatalf("no map %v: %d maps and files are open, %d entries were read", noMap, open, n)
		}
		runtime.KeepAlive(&c)
		c = Cursor{}
		collect(t, fs)
		if open := fs.maps.Load() + fs.files.Load(); open != 0 || cache.Bytes() != 0 {
			t.Errorf("no map %v: %d maps and files are still open, the cache holds %d bytes", noMap,
				open, cache.Bytes())
		}
	}
}

func TestOpenReader_closesTheFileOfADamagedTable(t *testing.T) {
	entries, image := smallTable(t)
	image[len(image)-1] ^= 1
	for _, noMap := range []bool{false, true} {
		table := tableOf(t, image, int64(len(image)), NewCache(1<<20))
		memory := table.config.FS
		if noMap {
			memory = noMapFS{memory}
		}
		fs := &countingFS{Files: memory, released: make(chan struct{}, 10)}
		table.config.FS = fs
		if _, _, err := findHashed(table, entries[0].key, 0); !damaged(err) {
			t.Errorf("Get says %v", err)
		}
		if open := fs.maps.Load() + fs.files.Load(); open != 0 {
			t.Errorf("no map %v: %d maps and files are open", noMap, open)
		}
	}
}

func TestCache_keepsTheLongestHeads(t *testing.T) {
	entries := messages(500, rand.New(rand.NewSource(1)))
	cache := NewCache(1 << 20)
	table := openTable(t, WriterOptions{Encoding: encoded()}, cache, entries)
	walk := func(n int) {
		t.Helper()
		var c Cursor
		c.Init(table, heads(n))
		i := 0
		for ok := c.First(); ok; ok = c.Next() {
			if !shows(c.scope, c.Value(), entries[i].value) {
				t.Fatalf("%d bytes of value %d are %q", n, i, c.Value())
			}
			i++
		}
		if i != len(entries) || c.Err() != nil {
			t.Fatalf("%d of %d entries, %v", i, len(entries), c.Err())
		}
	}
	for _, c := range []struct{ read, kept int }{{20, 20}, {90, 90}, {30, 90}} {
		walk(c.read)
		block := &table.reader.Load().slots[0]
		if got := block.heads.Load().item.Bytes; got != c.kept {
			t.Errorf("after reading %d bytes of values, the heads have %d, want %d", c.read, got, c.kept)
		}
		if block.values.Load() != nil {
			t.Error("values were decoded as a whole")
		}
	}
	table.reader.Load().close()
	if n := cache.Bytes(); n != 0 {
		t.Errorf("%d bytes are left in the cache", n)
	}
}

func TestForget_evictsTheBlocksOfOneTable(t *testing.T) {
	entries := messages(1500, rand.New(rand.NewSource(1)))
	cache := NewCache(1 << 30)
	o := WriterOptions{Encoding: encoded(), BlockBytes: 4 << 10}
	kept, obsolete := openTable(t, o, cache, entries), openTable(t, o, cache, entries)
	readAll(t, kept, entries)
	units, bytes := unitsIn(cache), cache.Bytes()
	readAll(t, obsolete, entries)
	obsolete.Forget()
	if n := unitsIn(cache); n != units || cache.Bytes() != bytes {
		t.Errorf("%d units of %d bytes are left, want %d of %d", n, cache.Bytes(), units, bytes)
	}
	readAll(t, obsolete, entries)
	if unitsIn(cache) != 2*units {
		t.Errorf("%d units are in the cache again, want %d", unitsIn(cache), 2*units)
	}
	runtime.KeepAlive(kept)
	runtime.KeepAlive(obsolete)
}

func TestCache_callsOnceWhenFull(t *testing.T) {
	entries := messages(1500, rand.New(rand.NewSource(1)))
	cache := NewCache(100 << 10)
	calls := 0
	cache.OnFull(func() { calls++; cache.SetLimit(200 << 10) })
	table := openTable(t, WriterOptions{Encoding: zipped(), BlockBytes: 4 << 10}, cache, entries)
	readAll(t, table, entries[:50])
	if calls != 0 || cache.Bytes() > 50<<10 {
		t.Errorf("%d calls with %d bytes in the cache", calls, cache.Bytes())
	}
	readAll(t, table, entries)
	if calls != 1 || cache.Bytes() < 150<<10 || cache.Bytes() > 200<<10 {
		t.Errorf("%d calls, and %d bytes in the cache", calls, cache.Bytes())
	}
}
