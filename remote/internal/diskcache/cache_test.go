package diskcache

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// seeded returns a source of random numbers whose seed is printed if the test fails.
func seeded(t testing.TB, seed uint64) *rand.Rand {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 4))
}

func open(t testing.TB, files vfs.FS, limit int64) *Cache {
	t.Helper()
	c, err := Open(Config{
		Files: files, Dir: "cache", Limit: limit, Owner: [32]byte{7},
		Warn: func(err error) { t.Errorf("the cache warns: %v", err) },
		Now:  time.Now,
	})
	ok(t, err)
	t.Cleanup(func() { ok(t, c.Close()) })
	return c
}

// Bytes returns how many bytes the segments have.
func (c *Cache) Bytes() int64 {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.total
}

// objectBytes is the size of the objects of tests.
const objectBytes = 200 << 10

// truth returns the bytes of an object from at on.
func truth(id ID, at int64, n int) []byte {
	p := make([]byte, 0, n+8)
	for i := uint64(at) / 8; len(p) < n+8; i++ {
		p = binary.LittleEndian.AppendUint64(p, (i+1)*0x9e3779b97f4a7c15^id.Number<<3^uint64(id.Kind))
	}
	return p[at%8:][:n]
}

// place returns a random part of a random object.
func place(rng *rand.Rand) (id ID, at int64, n int) {
	id = ID{Kind: folder.Table, Number: 1 + rng.Uint64N(12)}
	if rng.IntN(4) == 0 {
		id.Kind = folder.Values
	}
	n = 1 + rng.IntN([]int{100, 20 << 10, 80 << 10}[rng.IntN(3)])
	return id, rng.Int64N(int64(objectBytes - n)), n
}

// wantRight gets a part, which must be right if it is there.
func wantRight(t testing.TB, c *Cache, id ID, at int64, n int) (hit bool) {
	t.Helper()
	p := make([]byte, n)
	hit = c.Get(id, p, at)
	if hit && !bytes.Equal(p, truth(id, at, n)) {
		t.Fatalf("object %v has other bytes from %d on", id, at)
	}
	return hit
}

// bytesIn returns how many bytes the segments in a folder have.
func bytesIn(t testing.TB, files vfs.Files) (total int64) {
	t.Helper()
	names, err := files.List("cache")
	ok(t, err)
	for _, name := range names {
		if filepath.Ext(name) != segmentSuffix {
			continue
		}
		file, err := files.Open(filepath.Join("cache", name))
		ok(t, err)
		size, err := file.Size()
		ok(t, errors.Join(err, file.Close()))
		total += size
	}
	return total
}

func TestCache_hasWhatWasPutWithinItsLimit(t *testing.T) {
	rng := seeded(t, rand.Uint64())
	disk := memfs.New()
	hits := 0
	for range 6 {
		limit := int64(LimitMin) + rng.Int64N(1<<20)
		c := open(t, disk, limit)
		for range 300 {
			id, at, n := place(rng)
			if rng.IntN(3) > 0 {
				// Where it has a part, that may be removed to make room for the rest.
				missing := c.missingLocked(id, uint64(at), uint64(at)+uint64(n))
				c.Put(id, truth(id, at, n), at)
				if len(missing) != 1 || missing[0].to-missing[0].from < uint64(n) {
					wantRight(t, c, id, at, n)
				} else if !wantRight(t, c, id, at, n) || !c.Has(id, at, at+int64(n)) {
					t.Fatal("what was just put is not there")
				}
			} else if has := c.Has(id, at, at+int64(n)); has != wantRight(t, c, id, at, n) {
				t.Fatalf("Has says %v", has)
			} else if has {
				hits++
			}
			if got := bytesIn(t, disk); got > limit || got != c.Bytes() {
				t.Fatalf("the folder has %d bytes of %d, and the cache says %d", got, limit, c.Bytes())
			}
		}
		ok(t, c.Close())
		if wantRight(t, c, ID{Kind: folder.Table, Number: 1}, 0, 1) {
			t.Error("a closed cache has something")
		}
		c.Put(ID{Kind: folder.Table, Number: 1}, []byte("x"), 0)
	}
	if hits == 0 {
		t.Error("there was never a hit")
	}
}

func TestCache_staysWhenItIsOpenedAgain(t *testing.T) {
	disk := memfs.New()
	c := open(t, disk, LimitMin)
	id := ID{Kind: folder.Table, Number: 3}
	c.Put(id, truth(id, 1000, 70<<10), 1000)
	ok(t, c.Close())
	c = open(t, disk, LimitMin)
	if !wantRight(t, c, id, 1000, 70<<10) || !wantRight(t, c, id, 40_000, 10) {
		t.Error("what was put is gone")
	}
	_, err := Open(Config{Files: disk, Dir: "cache", Owner: [32]byte{7}})
	if !errors.Is(err, vfs.ErrLocked) {
		t.Errorf("opened twice: %v", err)
	}
	ok(t, c.Close())
	other, err := Open(Config{Files: disk, Dir: "cache", Owner: [32]byte{8}})
	ok(t, err)
	if other.Has(id, 1000, 1001) || bytesIn(t, disk) != 0 {
		t.Error("another owner has it")
	}
	ok(t, other.Close())
}

func TestCache_hasFewFilesAfterManyShortSessions(t *testing.T) {
	disk := memfs.New()
	const sessions = 1000
	for n := range uint64(sessions) {
		c := open(t, disk, LimitMin)
		id := ID{Kind: folder.Table, Number: n}
		c.Put(id, truth(id, 0, 200), 0)
		ok(t, c.Close())
		names, err := disk.List("cache")
		ok(t, err)
		if most := countShare*LimitMin/segmentBytesMin + 1; len(names) > most+1 { // and the lock
			t.Fatalf("after %d sessions, there are %d segments, want at most %d", n+1, len(names)-1, most)
		}
	}
	c := open(t, disk, LimitMin)
	for n := range uint64(sessions) {
		if !wantRight(t, c, ID{Kind: folder.Table, Number: n}, 0, 200) {
			t.Fatalf("what session %d has put is gone", n+1)
		}
	}
}

func TestCache_staysWhenItCannotBeOpened(t *testing.T) {
	disk := memfs.New()
	id := ID{Kind: folder.Table, Number: 1}
	c := open(t, disk, LimitMin)
	c.Put(id, truth(id, 0, 200), 0)
	ok(t, c.Close())
	busy := errors.New("too many open files")
	_, err := Open(Config{
		Dir: "cache", Owner: [32]byte{7},
		Files: faultfs.New(disk, func(op faultfs.Op) error {
			if op.Kind == faultfs.Open && filepath.Ext(op.Name) == segmentSuffix {
				return busy
			}
			return nil
		}),
	})
	if !errors.Is(err, busy) {
		t.Errorf("the error is %v", err)
	}
	if c = open(t, disk, LimitMin); !wantRight(t, c, id, 0, 200) {
		t.Error("what was put is gone")
	}
}

func TestCache_keepsWhatIsUsed(t *testing.T) {
	c := open(t, memfs.New(), 2<<20)
	used := ID{Kind: folder.Values, Number: 1}
	c.Put(used, truth(used, 0, 5000), 0)
	for n := uint64(1); n < 200; n++ {
		id := ID{Kind: folder.Table, Number: n}
		c.Put(id, truth(id, 0, 30<<10), 0)
		if !wantRight(t, c, used, 0, 5000) {
			t.Fatalf("after %d other pieces, what is used all the time is gone", n)
		}
	}
	if c.Has(ID{Kind: folder.Table, Number: 1}, 0, 1) {
		t.Error("what nobody used is there")
	}
}

func TestCache_losesWhatIsDamaged(t *testing.T) {
	rng := seeded(t, rand.Uint64())
	id := ID{Kind: folder.Table, Number: 1}
	for range 300 {
		disk := memfs.New()
		c := open(t, disk, LimitMin)
		c.Put(id, truth(id, 0, 3000), 0)
		c.Put(id, truth(id, 3000, 3000), 3000)
		ok(t, c.Close())
		name := filepath.Join("cache", segmentName(1))
		old, err := disk.Open(name)
		ok(t, err)
		size, err := old.Size()
		ok(t, err)
		image := make([]byte, size)
		_, err = old.ReadAt(image, 0)
		ok(t, errors.Join(err, old.Close(), disk.Remove(name)))
		if rng.IntN(3) == 0 {
			image = image[:rng.IntN(len(image))]
		} else {
			image[rng.IntN(len(image))] ^= 1 << rng.IntN(8)
		}
		file, err := disk.Create(name)
		ok(t, err)
		_, err = file.WriteAt(image, 0)
		ok(t, errors.Join(err, file.Close()))
		c = open(t, disk, LimitMin)
		if wantRight(t, c, id, 0, 6000) {
			t.Fatal("damage goes unnoticed")
		}
		c.Put(id, truth(id, 0, 6000), 0)
		if !wantRight(t, c, id, 0, 6000) {
			c.Put(id, truth(id, 0, 6000), 0) // a damaged piece is known once it was read
		}
		if !wantRight(t, c, id, 0, 6000) {
			t.Fatal("the damaged piece is not replaced")
		}
		ok(t, c.Close())
	}
}

func TestCrash_leavesAUsableCache(t *testing.T) {
	rng := seeded(t, rand.Uint64())
	for at := int64(1); ; at++ {
		disk := memfs.NewCrashable()
		var image *memfs.FS
		var count atomic.Int64
		files := faultfs.New(disk, func(faultfs.Op) error {
			if count.Add(1) == at {
				image = disk.Crash(rng)
			}
			return nil
		})
		for range 2 {
			c, err := Open(Config{Files: files, Dir: "cache", Limit: LimitMin, Owner: [32]byte{7}})
			ok(t, err)
			for range 30 {
				id, at, n := place(rng)
				wantRight(t, c, id, at, n)
				c.Put(id, truth(id, at, n), at)
			}
			ok(t, c.Close())
		}
		if image == nil {
			t.Logf("%d operations", at-1)
			return
		}
		c := open(t, image, LimitMin)
		for range 50 {
			id, at, n := place(rng)
			wantRight(t, c, id, at, n)
		}
		c.Put(ID{Kind: folder.Table, Number: 99}, truth(ID{Kind: folder.Table, Number: 99}, 0, 100), 0)
		if !wantRight(t, c, ID{Kind: folder.Table, Number: 99}, 0, 100) {
			t.Fatalf("after a crash at operation %d, the cache takes nothing", at)
		}
		ok(t, c.Close())
	}
}

func TestCache_isSafeForConcurrentUse(t *testing.T) {
	c := open(t, memfs.New(), LimitMin)
	var running sync.WaitGroup
	for g := range uint64(4) {
		running.Go(func() {
			rng := rand.New(rand.NewPCG(g, 1))
			for range 300 {
				id, at, n := place(rng)
				if wantRight(t, c, id, at, n); rng.IntN(2) == 0 {
					c.Put(id, truth(id, at, n), at)
				}
			}
		})
	}
	running.Wait()
}
