package table

import (
	"bytes"
	"errors"
	"math/rand"
	"sync"
	"testing"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/vfs"
)

// aheadTable returns a table of some hundred cold blocks, whose scans call help.
func aheadTable(t testing.TB, help Help) (*Table, []entry) {
	t.Helper()
	entries := messages(2000, rand.New(rand.NewSource(1)))
	m := mode{o: WriterOptions{BlockBytes: 2000, Encoding: encoded()}, limit: 1 << 30, help: help}
	return m.open(t, entries), entries
}

// inline runs helpers at once, and counts them.
func inline(calls *int) Help {
	return func(fn func()) bool {
		*calls++
		fn()
		return true
	}
}

// loadedBlocks returns how many blocks of an open table have decoded values in memory.
func loadedBlocks(table *Table) (n int) {
	slots := table.reader.Load().slots
	for i := range slots {
		if slots[i].values.Load() != nil {
			n++
		}
	}
	return n
}

// checkScan fails the test unless a scan in direction d yields all entries.
func checkScan(t testing.TB, table *Table, entries []entry, d keyspace.Direction) {
	t.Helper()
	var c Cursor
	c.Init(table, &Scope{Read: ReadValues})
	move, i, step := (*Cursor).Next, 0, 1
	ok := false
	if d == keyspace.Reverse {
		move, i, step = (*Cursor).Prev, len(entries)-1, -1
		ok = c.Last()
	} else {
		ok = c.First()
	}
	n := 0
	for ; ok; ok = move(&c) {
		if !bytes.Equal(c.Key(), entries[i].key) || !bytes.Equal(c.Value(), entries[i].value) {
			t.Fatalf("entry %d is %x, %.40q", i, c.Key(), c.Value())
		}
		i, n = i+step, n+1
	}
	if c.Err() != nil || n != len(entries) {
		t.Fatalf("the scan yields %d of %d entries (%v)", n, len(entries), c.Err())
	}
}

func TestAhead_helpersLoadMostBlocksOfALongScan(t *testing.T) {
	for _, d := range []keyspace.Direction{keyspace.Forward, keyspace.Reverse} {
		calls := 0
		table, entries := aheadTable(t, inline(&calls))
		checkScan(t, table, entries, d)
		if blocks := loadedBlocks(table); calls < blocks/aheadBlocks || calls > blocks/2 {
			t.Errorf("%d calls of helpers for %d blocks", calls, blocks)
		}
		before := calls
		checkScan(t, table, entries, d)
		if calls != before {
			t.Errorf("%d calls of helpers for blocks in memory", calls-before)
		}
	}
}

func TestAhead_loadsNoMoreThanTheScanHasPassed(t *testing.T) {
	for steps := 1; steps < 400; steps += 7 {
		calls := 0
		table, _ := aheadTable(t, inline(&calls))
		var c Cursor
		c.Init(table, &Scope{Read: ReadValues})
		ok := c.First()
		for range steps {
			ok = ok && c.Next()
		}
		passed, loaded := c.block+1, loadedBlocks(table)
		if !ok || loaded > 2*passed || loaded > passed+aheadBlocks || passed == 1 && loaded > 1 {
			t.Fatalf("in block %d, %d blocks are loaded, %v", passed, loaded, ok)
		}
	}
}

func TestAhead_staysWithinTheBounds(t *testing.T) {
	calls := 0
	table, entries := aheadTable(t, inline(&calls))
	first, end := 300, 900
	lower, upper := entries[first].key, entries[end].key
	from, to, err := table.Blocks(lower, upper)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []keyspace.Direction{keyspace.Forward, keyspace.Reverse} {
		var c Cursor
		var scratch block.Scratch
		c.Init(table, &Scope{
			Lower: lower, Upper: upper, Read: ReadValues, Once: true, Scratch: &scratch,
		})
		n := 0
		if d == keyspace.Reverse {
			for ok := c.SeekBefore(upper); ok && bytes.Compare(c.Key(), lower) >= 0; ok = c.Prev() {
				n++
			}
		} else {
			for ok := c.Seek(lower); ok && bytes.Compare(c.Key(), upper) < 0; ok = c.Next() {
				n++
			}
		}
		if n != end-first || calls == 0 {
			t.Errorf("%d entries with %d calls of helpers", n, calls)
		}
		if loaded := loadedBlocks(table); loaded > to-from {
			t.Errorf("%d blocks are loaded of %d", loaded, to-from)
		}
		table.Forget()
		calls = 0
	}
}

func TestAhead_aLimitBoundsWhatIsLoaded(t *testing.T) {
	const limit = 100
	calls := 0
	table, entries := aheadTable(t, inline(&calls))
	var c Cursor
	var scratch block.Scratch
	c.Init(table, &Scope{Read: ReadValues, Once: true, Limit: limit, Scratch: &scratch})
	ok := c.Seek(entries[0].key)
	for range limit - 1 {
		ok = ok && c.Next()
	}
	if loaded := loadedBlocks(table); !ok || loaded > c.block+3 {
		t.Errorf("after %d entries in %d blocks, %d are loaded", limit, c.block+1, loaded)
	}
}

func TestAhead_anEndedScanHasNoHelpers(t *testing.T) {
	var late []func()
	table, entries := aheadTable(t, func(fn func()) bool {
		late = append(late, fn)
		return true
	})
	var c Cursor
	c.Init(table, &Scope{Read: ReadValues})
	for range 100 {
		if c.Seek(entries[0].key); !c.Valid() {
			t.Fatal(c.Err())
		}
		for c.Next() && c.block < 5 {
		}
	}
	c.Release()
	before := loadedBlocks(table)
	for _, fn := range late {
		fn()
	}
	if loaded := loadedBlocks(table); len(late) == 0 || loaded != before {
		t.Errorf("%d helpers load %d blocks after the scan", len(late), loaded-before)
	}
	checkScan(t, table, entries, keyspace.Forward) // helpers that never run
}

func TestAhead_noHelperIsAskedForAgainSoonIfThereIsNone(t *testing.T) {
	calls := 0
	table, entries := aheadTable(t, func(func()) bool { calls++; return false })
	checkScan(t, table, entries, keyspace.Forward)
	if blocks := loadedBlocks(table); calls == 0 || calls > blocks/restBlocks+1 {
		t.Errorf("%d calls in %d blocks", calls, blocks)
	}
}

func TestAhead_aHelperEndsAlthoughItsScanGoesOn(t *testing.T) {
	table, _ := aheadTable(t, inline(new(int)))
	var c Cursor
	c.Init(table, &Scope{Read: ReadValues})
	if !c.First() {
		t.Fatal(c.Err())
	}
	a := newAhead(&c, 1, keyspace.Forward)
	a.most = 1 << 30
	a.allowed.Store(a.end) // as if the scan advanced while the helper loads
	a.help()
	if n := a.claimed.Load(); n == 0 || n > aheadBlocks {
		t.Errorf("the helper loads %d of %d blocks", n, a.end)
	}
}

func TestAhead_aScanTakesWhatAHelperHasLoadedAlthoughItGetsNoOther(t *testing.T) {
	calls := 0
	table, _ := aheadTable(t, func(fn func()) bool {
		if calls++; calls == 1 {
			fn()
		}
		return calls == 1
	})
	var c Cursor
	c.Init(table, &Scope{Read: ReadValues})
	for ok := c.First(); ok && calls < 2; ok = c.Next() {
	}
	if calls < 2 || c.ahead == nil {
		t.Errorf("after %d calls in block %d, the scan has forgotten what is loaded", calls, c.block)
	}
}

// stuckFiles are files without maps whose next read, once they are armed, waits.
type stuckFiles struct {
	vfs.Files
	mu      sync.Mutex
	armed   bool
	waiting chan struct{} // closed when a read waits
	release chan struct{} // closed when it may go on
}

type stuckFile struct {
	noMapFile
	in *stuckFiles
}

func (s *stuckFiles) Open(name string) (vfs.File, error) {
	f, err := s.Files.Open(name)
	return stuckFile{noMapFile{f}, s}, err
}

func (f stuckFile) ReadAt(p []byte, at int64) (int, error) {
	f.in.mu.Lock()
	stuck := f.in.armed
	f.in.armed = false
	f.in.mu.Unlock()
	if stuck {
		close(f.in.waiting)
		<-f.in.release
	}
	return f.File.ReadAt(p, at)
}

func TestAhead_aScanDoesNotWaitForAHelperThatIsStuck(t *testing.T) {
	entries := messages(2000, rand.New(rand.NewSource(1)))
	files := &stuckFiles{
		Files: newFS(t), waiting: make(chan struct{}), release: make(chan struct{}),
	}
	s := writeTable(t, files.Files, testPath, WriterOptions{BlockBytes: 2000}, entries)
	var done sync.WaitGroup
	started := false
	cache := NewCache(1 << 30)
	cache.SetHelp(func(fn func()) bool {
		if !started {
			started = true
			files.armed = true
			done.Go(fn)
			<-files.waiting
		}
		return true
	})
	table := New(Config{FS: files, Path: testPath, Number: 7, Database: testDatabase(),
		Size: int64(s.Size), Cache: cache})
	checkScan(t, table, entries, keyspace.Forward)
	if !started {
		t.Error("no helper was started")
	}
	close(files.release)
	done.Wait()
	checkScan(t, table, entries, keyspace.Reverse)
}

func TestAhead_damageIsReportedWhenTheScanGetsThere(t *testing.T) {
	entries := messages(2000, rand.New(rand.NewSource(1)))
	fs := newFS(t)
	s := writeTable(t, fs, testPath, WriterOptions{BlockBytes: 2000}, entries)
	image := readFile(t, fs, testPath, int64(s.Size))
	for at := len(image) / 10; at < len(image)/2; at += len(image) / 10 {
		damagedImage := bytes.Clone(image)
		damagedImage[at] ^= 1
		var ends []int
		for _, help := range []Help{nil, inline(new(int)), helpers} {
			cache := NewCache(1 << 30)
			cache.SetHelp(help)
			table := tableOf(t, damagedImage, int64(s.Size), cache)
			var c Cursor
			c.Init(table, &Scope{Read: ReadValues})
			n := 0
			for ok := c.First(); ok; ok = c.Next() {
				if !bytes.Equal(c.Value(), entries[n].value) {
					t.Fatalf("entry %d is wrong", n)
				}
				n++
			}
			if !errors.Is(c.Err(), corrupt.Err) {
				t.Fatalf("damage at %d: error %v", at, c.Err())
			}
			ends = append(ends, n)
		}
		if ends[1] != ends[0] || ends[2] != ends[0] {
			t.Errorf("damage at %d ends scans after %v entries", at, ends)
		}
	}
}

func TestAhead_manyScansShareATinyCache(t *testing.T) {
	entries := messages(3000, rand.New(rand.NewSource(1)))
	m := mode{o: WriterOptions{BlockBytes: 600, Encoding: encoded()}, limit: 100 << 10, help: helpers}
	table := m.open(t, entries)
	var scans sync.WaitGroup
	for i := range 4 {
		scans.Go(func() { checkScan(t, table, entries, keyspace.Direction(i%2 == 0)) })
	}
	scans.Wait()
	if got := table.config.Cache.Bytes(); got > 100<<10 {
		t.Errorf("the cache holds %d bytes", got)
	}
}

func TestPrefetch_staysAheadWithinTheBounds(t *testing.T) {
	table, entries := aheadTable(t, nil)
	first, end := 300, 1700
	lower, upper := entries[first].key, entries[end].key
	from, to, err := table.Blocks(lower, upper)
	if err != nil {
		t.Fatal(err)
	}
	var c Cursor
	c.Init(table, &Scope{Lower: lower, Upper: upper, Read: ReadValues})
	for ok := c.Seek(lower); ok && bytes.Compare(c.Key(), upper) < 0; ok = c.Next() {
		near := c.asked < c.block+aheadBlocks-1 && c.asked < to-1
		if c.moved && (near || c.asked > to-1) {
			t.Fatalf("in block %d of those before %d, %d was prefetched", c.block, to, c.asked)
		}
	}
	c.Init(table, &Scope{Lower: lower, Upper: upper, Read: ReadValues})
	for ok := c.SeekBefore(upper); ok && bytes.Compare(c.Key(), lower) >= 0; ok = c.Prev() {
		near := c.asked > c.block-aheadBlocks+1 && c.asked > from
		if c.moved && (near || c.asked < from) {
			t.Fatalf("in block %d of those from %d on, %d was prefetched", c.block, from, c.asked)
		}
	}
}
