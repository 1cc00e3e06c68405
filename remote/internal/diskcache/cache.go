// Package diskcache keeps pieces of objects in a folder, up to a limit of bytes that is never
// passed.
//
// What is put goes, in pieces, to the end of the newest segment: a file of records that only grows.
// Where pieces are is in memory only, and read from the segments again when the folder is opened.
// If another segment would pass the limit, the oldest one is removed; of the pieces in it, some
// that were used since they were written are written again. Each session begins a segment, so short
// sessions leave small ones; once there are many, they are written again as one.
//
//	segment := magic:8 version:u32 checksum:u32 owner:[32] record*
//	record  := header:u32 sum:u32 number:u64 at:u64 length:u32 kind:u8 0:[3] maker:[16] data
//
// header is the checksum of the 44 bytes after it, and sum that of the last 40 of them and the
// data. The owner says which objects they are. Nothing is synced: a piece that a crash tore is
// not there when it is asked for, because its checksum does not match. Segments of other owners,
// and those without a valid beginning, are removed. Other files are left alone.
//
// A cache is safe for concurrent use. It returns what was put or nothing. If the disk fails, it
// takes nothing for a minute; if it is full, the cache also gives an eighth of its bytes back and
// takes no more than the rest: others need the disk more. It takes more again once there is much
// room, and tries that more and more rarely if the disk gets full again. It knows nothing of stores
// and of what is in an object.
package diskcache

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
)

const (
	// segmentShare of the limit, as a divisor, is the size of a segment, within bounds.
	segmentShare    = 64
	segmentBytesMin = 128 << 10
	segmentBytesMax = 64 << 20
	// LimitMin is the lowest limit: that of four segments.
	LimitMin = 4 * segmentBytesMin
	// pieceBytes is the most that a piece has, so that a small read verifies little. Most blocks of
	// tables are one piece.
	pieceBytes = 32 << 10
	// carryShare of a segment, as a divisor, is how much of removed segments is written again.
	carryShare = 4
	// countShare of a segment, as a divisor, is the size of segments on average once there are so many
	// that the small ones are written again as one. So there are at most countShare * segmentShare of
	// them up to a limit of 4 GiB, each an open file.
	countShare = 4
)

// ID is an object that a cache has pieces of.
type ID struct {
	Kind   folder.Kind
	Number uint64
	Maker  [16]byte // who has made it: others may make another one by that name elsewhere
}

// Config says where a cache is.
type Config struct {
	Files vfs.FS
	Dir   string   // is created if it is missing
	Limit int64    // of bytes in the folder, at least LimitMin
	Owner [32]byte // whose objects they are
	// Warn is called when the disk has failed, and not again until something was written.
	Warn func(err error)
	Now  func() time.Time
}

// Cache is an open cache.
type Cache struct {
	config Config
	folder vfs.Folder
	lock   vfs.Lock
	limit  atomic.Int64 // of bytes: the configured one, or less since the disk was full

	writing sync.Mutex // held to change segments; before mu
	growth  growth
	segment int64      // bytes of one
	next    uint64     // the number of the next segment
	total   int64      // bytes of all segments
	dropped []*segment // are closed, and their files not removed yet
	// failed is when the disk failed, if nothing was written since.
	failed atomic.Pointer[time.Time]

	mu       sync.RWMutex
	segments []*segment      // the oldest first; pieces go to the last one if it is current
	current  bool            // there is a segment that takes pieces
	objects  map[ID][]*piece // by their place in the object; they do not overlap
	closed   bool
}

// Open opens the cache in a folder, with what an earlier one has left there. While it is open, no
// other may use the folder: then the error matches [vfs.ErrLocked].
func Open(c Config) (*Cache, error) {
	c.Limit = max(c.Limit, LimitMin)
	cache := &Cache{config: c, next: 1, objects: map[ID][]*piece{}, growth: growth{pause: growAfter}}
	cache.setLimit(c.Limit)
	if err := c.Files.MkdirAll(c.Dir); err != nil {
		return nil, err
	}
	var err error
	if cache.folder, err = c.Files.OpenFolder(c.Dir); err != nil {
		return nil, err
	}
	if cache.lock, err = takeLock(cache.folder, c.Dir); err != nil {
		return nil, errors.Join(err, cache.folder.Close())
	}
	if err := cache.load(); err != nil {
		return nil, errors.Join(err, cache.Close())
	}
	return cache, nil
}

// Clear removes what a cache has left in a folder, and the files with its key, if there are any. It
// is for a folder that does not open with the key that there is. If it has any other file, that is
// an error, and nothing changes: the key files may be those of a database.
func Clear(files vfs.FS, dir string) (err error) {
	opened, err := files.OpenFolder(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	lock, err := takeLock(opened, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	names, err := opened.List(dir)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == folder.LockName })
	for _, name := range names {
		_, isSegment := segmentNumber(name)
		if _, isKey := folder.ParseKey(name); !isSegment && !isKey {
			return fmt.Errorf("the folder %s is not that of a cache, since it has %s", dir, name)
		}
	}
	for _, name := range names {
		err = errors.Join(err, opened.Remove(filepath.Join(dir, name)))
	}
	return err
}

// Limit returns how many bytes the cache takes, at most.
func (c *Cache) Limit() int64 { return c.limit.Load() }

// takeLock takes the lock of a folder, and creates its file if it is missing.
func takeLock(files vfs.Folder, dir string) (vfs.Lock, error) {
	lock, err := folder.Lock(files, dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = folder.CreateLock(files, dir); err == nil {
			lock, err = folder.Lock(files, dir)
		}
	}
	if err == nil {
		err = lock.Announce()
	}
	return lock, err
}

// load reads the segments that are in the folder.
func (c *Cache) load() error {
	names, err := c.folder.List(c.config.Dir)
	if err != nil {
		return err
	}
	var numbers []uint64
	for _, name := range names {
		if number, ok := segmentNumber(name); ok {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	for _, number := range numbers {
		c.next = number + 1
		s, pieces, err := c.readSegment(number)
		if errors.Is(err, errUnopened) {
			return err // and the segment stays: another time, it may open
		}
		if err != nil {
			if err := c.folder.Remove(c.path(number)); err != nil {
				return err
			}
			continue
		}
		c.segments = append(c.segments, s)
		c.total += s.size
		for _, p := range pieces {
			c.addLocked(p)
		}
	}
	for len(c.segments) > 0 && c.total > c.config.Limit {
		if err := c.remove(0); err != nil {
			return err
		}
	}
	return nil
}

// Get fills p with the bytes of an object from at on, if the cache has all of them.
func (c *Cache) Get(id ID, p []byte, at int64) bool {
	c.mu.RLock()
	damaged, ok := c.readLocked(id, p, uint64(at))
	c.mu.RUnlock()
	if damaged != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.forgetLocked(damaged)
	}
	return ok
}

// readLocked is Get, and returns a piece that cannot be read.
func (c *Cache) readLocked(id ID, p []byte, at uint64) (damaged *piece, ok bool) {
	pieces := c.objects[id]
	i := after(pieces, at)
	for len(p) > 0 {
		if i == 0 || i > len(pieces) || c.closed {
			return nil, false
		}
		has := pieces[i-1]
		if has.at > at || has.end() <= at {
			return nil, false
		}
		skip := at - has.at
		n := min(len(p), int(uint64(has.length)-skip))
		if err := has.read(p[:n], skip); err != nil {
			return has, false
		}
		if !has.used.Load() {
			has.used.Store(true)
		}
		p, at, i = p[n:], at+uint64(n), i+1
	}
	return nil, true
}

// Has reports whether the cache has all bytes of an object from from up to to.
func (c *Cache) Has(id ID, from, to int64) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.missingLocked(id, uint64(from), uint64(to))) == 0
}

// after returns the index of the first piece that begins after at.
func after(pieces []*piece, at uint64) int {
	i, _ := slices.BinarySearchFunc(pieces, at, func(p *piece, at uint64) int {
		if p.at > at {
			return 1
		}
		return -1
	})
	return i
}

// span is the bytes of an object from one place up to another.
type span struct{ from, to uint64 }

// missingLocked returns the parts of a span that the cache lacks.
func (c *Cache) missingLocked(id ID, from, to uint64) (missing []span) {
	pieces := c.objects[id]
	for _, has := range pieces[max(after(pieces, from)-1, 0):] {
		if has.at >= to || from >= to {
			break
		}
		if has.at > from {
			missing = append(missing, span{from, has.at})
		}
		from = max(from, has.end())
	}
	if from < to {
		missing = append(missing, span{from, to})
	}
	return missing
}

// addLocked adds a piece, unless it overlaps another one.
func (c *Cache) addLocked(p *piece) {
	if missing := c.missingLocked(p.id, p.at, p.end()); len(missing) != 1 ||
		missing[0] != (span{p.at, p.end()}) {
		return
	}
	p.of.pieces = append(p.of.pieces, p)
	pieces := c.objects[p.id]
	c.objects[p.id] = slices.Insert(pieces, after(pieces, p.at), p)
}

// forgetLocked removes a piece, if it is there.
func (c *Cache) forgetLocked(p *piece) {
	pieces := c.objects[p.id]
	i, found := slices.BinarySearchFunc(pieces, p.at, func(q *piece, at uint64) int {
		return cmp.Compare(q.at, at)
	})
	switch {
	case !found || pieces[i] != p:
	case len(pieces) == 1:
		delete(c.objects, p.id)
	default:
		c.objects[p.id] = slices.Delete(pieces, i, i+1)
	}
}

// Close lets go of the folder. Afterwards the cache has nothing and takes nothing.
func (c *Cache) Close() error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	var errs []error
	for _, s := range c.segments {
		errs = append(errs, s.file.Close())
	}
	c.segments, c.objects = nil, nil
	return errors.Join(append(errs, c.lock.Close(), c.folder.Close())...)
}

func (c *Cache) path(number uint64) string {
	return filepath.Join(c.config.Dir, segmentName(number))
}
