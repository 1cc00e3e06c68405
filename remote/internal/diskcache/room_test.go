package diskcache

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// shared is a disk that others use, too.
type shared struct {
	vfs.FS
	t      *testing.T
	cache  *memfs.FS
	size   int64
	others int64
	quota  int64 // of the cache and the others, which the disk does not tell
	full   int   // how often a write found no room
}

func newShared(t *testing.T, size int64) *shared {
	s := &shared{t: t, cache: memfs.New(), size: size, quota: size}
	s.FS = faultfs.New(s.cache, func(op faultfs.Op) error {
		if op.Kind == faultfs.WriteAt && s.used()+pieceBytes+headerBytes > min(s.size, s.quota) {
			s.full++
			return vfs.ErrNoSpace
		}
		return nil
	})
	return s
}

func (s *shared) used() int64 { return s.others + bytesIn(s.t, s.cache) }

// Room implements [vfs.Roomy].
func (s *shared) Room(string) (int64, bool) { return s.size - s.used(), true }

// busy is a cache that takes new pieces.
type busy struct {
	*Cache
	next uint64
}

// over opens a cache with a limit on a disk.
func (s *shared) over(limit int64) *busy {
	c, err := Open(Config{
		Files: s, Dir: "cache", Limit: limit, Now: time.Now, Warn: func(error) {},
	})
	ok(s.t, err)
	s.t.Cleanup(func() { ok(s.t, c.Close()) })
	return &busy{Cache: c}
}

// work puts a piece now and then.
func (b *busy) work(d, every time.Duration) {
	for range d / every {
		b.next++
		id := ID{Kind: folder.Table, Number: b.next}
		b.Put(id, truth(id, 0, pieceBytes), 0)
		<-time.After(every)
	}
}

const (
	diskBytes  = 8 << 20
	cacheLimit = 6 << 20
)

// A disk that was full once must not keep the cache small until the process ends.
func TestCache_takesRoomAgainOnceThereIsSome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newShared(t, diskBytes)
		c := disk.over(cacheLimit)
		disk.others = diskBytes / 2
		c.work(10*time.Minute, time.Second)
		if limit := c.Limit(); disk.full == 0 || limit > diskBytes/2 {
			t.Fatalf("the limit is %d, and the disk was full %d times", limit, disk.full)
		}
		disk.others = diskBytes / 4 // which leaves it a part of its limit
		before := disk.full
		c.work(time.Hour, 5*time.Second)
		free := int64(diskBytes) - disk.used()
		if c.Limit() <= diskBytes/2 || free < diskBytes*3/4/5-segmentBytesMin {
			t.Errorf("the limit is %d, and %d bytes are free", c.Limit(), free)
		}
		disk.others = 0
		c.work(time.Hour, 5*time.Second)
		if c.Limit() != cacheLimit || c.Bytes() < cacheLimit*3/4 || disk.full > before {
			t.Errorf("the limit is %d, and the cache has %d bytes; the disk was full %d times more",
				c.Limit(), c.Bytes(), disk.full-before)
		}
	})
}

// What the cache has given back is for others: it must not take it again, and meet a full disk
// again and again.
func TestCache_leavesAFullDiskAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newShared(t, diskBytes)
		c := disk.over(cacheLimit)
		disk.others = diskBytes / 2
		c.work(10*time.Minute, time.Second)
		if disk.full == 0 {
			t.Fatal("the disk was never full")
		}
		disk.full = 0
		given := diskBytes - disk.used()
		c.work(24*time.Hour, time.Minute)
		if free := diskBytes - disk.used(); disk.full > 0 || free < given/2 {
			t.Errorf("the disk was full %d times more, and %d bytes are free of %d that were given back",
				disk.full, free, given)
		}
	})
}

// A quota may be full where the disk has room: then the cache tries more and more rarely.
func TestCache_triesAFullQuotaMoreAndMoreRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newShared(t, diskBytes)
		disk.quota = diskBytes / 2
		c := disk.over(cacheLimit)
		c.work(24*time.Hour, time.Minute)
		if disk.full < 2 || disk.full > 12 {
			t.Errorf("on the first day, the quota was full %d times", disk.full)
		}
		disk.full = 0
		c.work(7*24*time.Hour, 5*time.Minute)
		if disk.full > 8 {
			t.Errorf("in the week after that, the quota was full %d times", disk.full)
		}
		if c.Bytes() < disk.quota/2 {
			t.Errorf("the cache has %d bytes of a quota of %d", c.Bytes(), disk.quota)
		}
	})
}
