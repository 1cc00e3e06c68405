package diskcache

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// failing is a disk whose operations of some kinds fail.
type failing struct {
	kinds []faultfs.Kind
	tries int // operations that change something
}

var errDisk = errors.New("the disk fails")

func (f *failing) over(files vfs.FS) vfs.FS {
	return faultfs.New(files, func(op faultfs.Op) error {
		if op.Kind == faultfs.ReadAt {
			return nil
		}
		f.tries++
		for _, kind := range f.kinds {
			if op.Kind == kind {
				return errDisk
			}
		}
		return nil
	})
}

// A disk that is full for a moment must not turn the cache off until the process ends. While it
// fails, it is tried once a minute, and what was kept before stays readable.
func TestCache_keepsAgainOnceTheDiskWorks(t *testing.T) {
	for _, kind := range []faultfs.Kind{faultfs.WriteAt, faultfs.Create} {
		synctest.Test(t, func(t *testing.T) {
			disk, warnings := failing{}, 0
			c, err := Open(Config{
				Files: disk.over(memfs.New()), Dir: "cache", Now: time.Now, Warn: func(err error) {
					if warnings++; !errors.Is(err, errDisk) {
						t.Errorf("the warning is %v", err)
					}
				},
			})
			ok(t, err)
			defer func() { ok(t, c.Close()) }()
			kept := ID{Kind: folder.Table, Number: 1}
			c.Put(kept, truth(kept, 0, 100), 0)
			disk.kinds = []faultfs.Kind{kind}
			for n := uint64(2); disk.tries < 1000 && warnings == 0; n++ { // up to the next segment
				c.Put(ID{Kind: folder.Table, Number: n}, make([]byte, pieceBytes), 0)
			}
			lost := ID{Kind: folder.Table, Number: 1000}
			for range 2 {
				before := disk.tries
				for range 60 {
					c.Put(lost, truth(lost, 0, pieceBytes), 0)
					<-time.After(time.Second)
				}
				if tried := disk.tries - before; tried > 10 {
					t.Errorf("%v: %d operations in a minute", kind, tried)
				}
			}
			if !wantRight(t, c, kept, 0, 100) || wantRight(t, c, lost, 0, pieceBytes) || warnings != 1 {
				t.Errorf("%v: the cache is not as before, after %d warnings", kind, warnings)
			}
			disk.kinds = nil
			<-time.After(rest)
			if c.Put(lost, truth(lost, 0, pieceBytes), 0); !wantRight(t, c, lost, 0, pieceBytes) {
				t.Errorf("%v: the cache takes nothing once the disk works again", kind)
			}
		})
	}
}

// Whatever fails, and for however long, the folder stays within the limit and nothing is left in it
// that is no segment of the cache.
func TestCache_keepsTheLimitWhileTheDiskFails(t *testing.T) {
	for _, kinds := range [][]faultfs.Kind{
		{faultfs.WriteAt}, {faultfs.Remove}, {faultfs.Create}, {faultfs.WriteAt, faultfs.Remove},
	} {
		synctest.Test(t, func(t *testing.T) {
			disk, files := failing{}, memfs.New()
			c, err := Open(Config{
				Files: disk.over(files), Dir: "cache", Limit: LimitMin, Now: time.Now,
				Warn: func(error) {},
			})
			ok(t, err)
			defer func() { ok(t, c.Close()) }()
			for n := range uint64(100) {
				disk.kinds = nil
				if n/10%2 == 1 {
					disk.kinds = kinds
				}
				id := ID{Kind: folder.Table, Number: 1 + n}
				c.Put(id, truth(id, 0, pieceBytes), 0)
				if used := bytesIn(t, files); used > LimitMin {
					t.Fatalf("%v: the folder has %d bytes, at most %d", kinds, used, LimitMin)
				}
				<-time.After(rest)
			}
			last := ID{Kind: folder.Table, Number: 1000}
			disk.kinds = nil
			c.Put(last, truth(last, 0, segmentBytesMin), 0)
			names, err := files.List("cache")
			ok(t, err)
			if want := len(c.segments) + 1; len(names) != want || !wantRight(t, c, last, 0, 100) {
				t.Errorf("%v: the folder has %v, want a lock and %d segments", kinds, names, want-1)
			}
		})
	}
}

// A cache that is larger than the disk leaves room for the database beside it.
func TestCache_givesBackWhatAFullDiskNeeds(t *testing.T) {
	const disk = 4 << 20
	synctest.Test(t, func(t *testing.T) {
		files, warnings := memfs.New(), 0
		full := faultfs.New(files, func(op faultfs.Op) error {
			if op.Kind == faultfs.WriteAt && bytesIn(t, files) > disk-pieceBytes-headerBytes {
				return vfs.ErrNoSpace
			}
			return nil
		})
		c, err := Open(Config{
			Files: full, Dir: "cache", Limit: 4 * disk, Now: time.Now,
			Warn: func(error) { warnings++ },
		})
		ok(t, err)
		defer func() { ok(t, c.Close()) }()
		put := func(n int) {
			id := ID{Kind: folder.Table, Number: uint64(n)}
			c.Put(id, truth(id, 0, pieceBytes), 0)
		}
		n := 0
		for ; warnings == 0 && n < 1000; n++ {
			put(n)
		}
		const most = disk - disk/16
		for range 3 {
			if used := bytesIn(t, files); warnings != 1 || used > most || used < disk/2 {
				t.Fatalf("of %d bytes, the cache has %d, after %d warnings", disk, used, warnings)
			}
			<-time.After(rest)
			for range 300 {
				n++
				put(n)
			}
		}
		last := ID{Kind: folder.Table, Number: uint64(n)}
		if !wantRight(t, c, last, 0, pieceBytes) {
			t.Error("it takes nothing any more")
		}
	})
}
