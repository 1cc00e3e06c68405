package remote

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote/internal/diskcache"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/objectfs"
	"github.com/stoatdb/stoat/remote/internal/retry"
	"github.com/stoatdb/stoat/remote/internal/sparse"
	"github.com/stoatdb/stoat/remote/objstore"
)

const (
	defaultCache       = 1 << 30
	defaultMemoryCache = 32 << 20
	// sealedShare of the limit of an encrypted cache, as a divisor, is kept free for what encryption
	// adds: most to small pieces, of which a cache has few.
	sealedShare = 8
)

// farConfig says how files in a store are read.
type farConfig struct {
	store    objstore.Store
	patience time.Duration
	files    vfs.FS // with the folder of the cache; nil: the operating system's
	dir      string // that folder; "": the cache is in memory
	limit    int64  // of the cache; 0: a default
	key      []byte // with which the cache is encrypted, unless it is in memory; may be nil
	database [16]byte
	first    [16]byte       // the id of the first object of its log
	claims   history.Claims // as far as they are known
	logger   *slog.Logger   // may be nil
	missing  func()         // is called when an object is missing
}

// far is the files of a database in a store, read through a cache.
type far struct {
	*objectfs.Folder
	store  objstore.Store                 // with no patience
	claims atomic.Pointer[history.Claims] // all of those that have made files
	ended  chan struct{}                  // closed once requests are not made again
	ending sync.Once
}

// openFar makes the files in a store readable.
func openFar(c farConfig) (*far, error) {
	cache, err := c.openCache()
	if err != nil {
		return nil, err
	}
	f := &far{store: c.store, ended: make(chan struct{})}
	f.claims.Store(&c.claims)
	patient := &retry.Patient{Store: c.store, Patience: c.patience, Ended: f.ended}
	f.Folder = objectfs.New(patient, cache, f.maker, c.missing)
	return f, nil
}

// openCache opens the cache of the files.
func (c *farConfig) openCache() (*diskcache.Cache, error) {
	limit := int64(defaultCache)
	if c.dir == "" {
		c.dir, c.files, c.key, limit = "cache", memfs.New(), nil, defaultMemoryCache
	}
	if c.limit > 0 {
		limit = c.limit
	}
	if c.logger == nil {
		c.logger = slog.New(slog.DiscardHandler)
	}
	if c.files == nil {
		c.files = vfs.OS()
	}
	files, err := sealedWith(c.files, c.key)
	if err != nil {
		return nil, err
	}
	if c.key != nil {
		limit -= limit / sealedShare
	}
	logger := c.logger // and not c, which leads to who reads; see Unwatch
	config := diskcache.Config{
		Files: files, Dir: c.dir, Limit: limit,
		Owner: [32]byte(append(c.database[:], c.first[:]...)),
		Warn:  func(err error) { logger.Warn("the cache of files in a store fails", "err", err) },
		Now:   time.Now,
	}
	cache, err := diskcache.Open(config)
	if err == nil || !corrupt.IsLasting(err) {
		return cache, err
	}
	// It is of another key, or of none, and nobody needs it.
	if cleared := diskcache.Clear(c.files, c.dir); cleared != nil {
		return nil, errors.Join(err, cleared)
	}
	return diskcache.Open(config)
}

// maker returns the id of the claim under which a file was made, as far as the cache has to know.
func (f *far) maker(number uint64) [16]byte { return f.claims.Load().Maker(number) }

// hurry has requests that fail not made again.
func (f *far) hurry() { f.ending.Do(func() { close(f.ended) }) }

// stop lets go of the cache. Files stay readable, and requests that fail are not made again.
func (f *far) stop() error {
	f.hurry()
	f.Unwatch()
	return f.Stop()
}

// lazyFar is a far that is opened when a file in it is. Safe for concurrent use.
type lazyFar struct {
	// open opens it, with its cache in the folder, or in memory.
	open func(inMemory bool) (*far, error)

	mu      sync.Mutex
	far     *far
	hurried bool
	stopped bool
}

var _ sparse.Far = (*lazyFar)(nil)

// Open implements [sparse.Far].
func (l *lazyFar) Open(name string) (vfs.File, error) {
	f, err := l.opened()
	if err != nil {
		return nil, err
	}
	return f.Open(name)
}

// OpenSized implements [vfs.Sized].
func (l *lazyFar) OpenSized(name string, size int64) (vfs.File, error) {
	f, err := l.opened()
	if err != nil {
		return nil, err
	}
	return f.OpenSized(name, size)
}

// opened returns the far. Once stopped, only transactions that go on ask for it, and the folder of
// the cache may be another's by then.
func (l *lazyFar) opened() (*far, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.far != nil {
		return l.far, nil
	}
	opened, err := l.open(l.stopped)
	if err == nil && l.stopped {
		err = opened.stop()
	}
	if err != nil {
		return nil, err
	}
	if l.far = opened; l.hurried {
		opened.hurry()
	}
	return opened, nil
}

// hurry is that of the far, now or when it is opened.
func (l *lazyFar) hurry() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hurried = true; l.far != nil {
		l.far.hurry()
	}
}

// fetch is [objectfs.Folder.Fetch], with requests that may take longer than a read waits.
func (l *lazyFar) fetch(
	ctx context.Context, kind folder.Kind, number uint64, size int64, here io.ReaderAt,
	pass func(bytes int) error, needed func(kind folder.Kind, number uint64) bool,
) (room bool, err error) {
	f, err := l.opened()
	if err != nil {
		return false, err
	}
	return f.Fetch(ctx, f.store, here, kind.Name(number), size, pass, needed)
}

// claimed says whose files there are, once this process is their writer.
func (l *lazyFar) claimed(claims history.Claims) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.far != nil {
		l.far.claims.Store(&claims)
	}
}

// stop is that of the far, if it was opened: its files stay readable, and more of them can be
// opened.
func (l *lazyFar) stop() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return nil
	}
	l.stopped = true
	if l.far == nil {
		return nil
	}
	return l.far.stop()
}
