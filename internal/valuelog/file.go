package valuelog

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Config says which file a [File] is.
type Config struct {
	FS       vfs.Files
	Path     string
	Number   uint64
	Database [16]byte
	Size     int64 // of a value file; of a log segment, how much of it is flushed
	Log      bool  // a log segment, of which the first Size bytes never change any more
	// Claim is the name of the file that says that the folder is that of a database in object
	// storage; it is empty if there is none.
	Claim string
}

// File reads the values in one file. The file is opened by the first use. Safe for concurrent use.
type File struct {
	config Config
	reader atomic.Pointer[reader] // nil until first used
	mu     sync.Mutex             // held while the file is opened
}

// New returns a file without touching it on the disk.
func New(c Config) *File { return &File{config: c} }

// Open opens the file now, so that its values stay readable when it is removed. Of a value file the
// header is checked. Of a log segment nothing is but the length: the log's own checksums are for
// replay, and every value has one in its pointer.
func (f *File) Open() error {
	_, err := f.opened()
	return err
}

// Forget takes the file's map out of memory. Later reads bring it in again. It reports whether the
// file was open; if not, nothing of it is in memory.
func (f *File) Forget() bool {
	r := f.reader.Load()
	if r == nil {
		return false
	}
	r.unload()
	runtime.KeepAlive(r)
	return true
}

// Read returns the value that p points to. It may be part of a memory map: it must not be modified,
// nor used when f is unreachable. A value is verified when it is first read, a short one and one of
// a file that is not mapped each time. If the file is mapped, Read allocates nothing, save for one
// bit a KiB of the file once.
func (f *File) Read(p Pointer) (value []byte, err error) {
	r, err := f.opened()
	if err != nil {
		return nil, err
	}
	value, err = r.read(p)
	runtime.KeepAlive(r) // and with it the map, until nothing in it is looked at any more
	return value, err
}

// Cold reports whether the end of the value that p points to is on the disk only, as far as can be
// told. It costs a short system call.
func (f *File) Cold(p Pointer) bool {
	r, err := f.opened()
	if err != nil {
		return false
	}
	cold := r.cold(p)
	runtime.KeepAlive(r)
	return cold
}

// Prefetch asks the system to begin to read the values that ps point to, which are about to be
// read. It does not wait. What is wrong with the file or the pointers is left for Read to say. The
// order of ps does not matter. It costs a system call or more: [File.Cold] says whether it pays.
func (f *File) Prefetch(ps []Pointer) {
	r, err := f.opened()
	if err != nil {
		return
	}
	r.prefetch(ps)
	runtime.KeepAlive(r)
}

// opened returns the reader, opening the file if that has not been done yet.
func (f *File) opened() (*reader, error) {
	if r := f.reader.Load(); r != nil {
		return r, nil
	}
	return f.open()
}

func (f *File) open() (*reader, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.reader.Load(); r != nil {
		return r, nil
	}
	r, err := f.load()
	if err != nil {
		return nil, err
	}
	f.reader.Store(r)
	return r, nil
}

// load opens the file, whether or not it is open.
func (f *File) load() (*reader, error) {
	r, err := openReader(f.config)
	if errors.Is(err, fs.ErrNotExist) {
		err = corrupt.Missing(f.config.Path, f.config.Claim)
	}
	if err != nil {
		return nil, fmt.Errorf("open values %06d: %w", f.config.Number, err)
	}
	return r, nil
}
