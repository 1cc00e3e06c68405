package valuelog

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/vfs"
)

// reader is an open file with values. The file is let go when nothing reaches the reader. Safe for
// concurrent use.
type reader struct {
	path   string
	number uint64
	start  uint64 // where the first value can be
	end    uint64 // and the end of the last

	file     vfs.File    // nil if the file is mapped
	far      vfs.Distant // the file, if that is distant; else nil
	data     []byte      // the map
	verified bitmap      // of the values in the map
	sampler  vfs.Sampler
	unload   func()          // see vfs.Unloader
	release  func()          // lets go of the file
	cleanup  runtime.Cleanup // calls release
}

func openReader(c Config) (*reader, error) {
	file, err := vfs.OpenSized(c.FS, c.Path, c.Size)
	if err != nil {
		return nil, err
	}
	size, err := file.Size()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if err := c.checkSize(size); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	r := &reader{path: c.Path, number: c.Number, end: uint64(c.Size), file: file}
	r.unload = func() {}
	release := file.Close
	data, unmap, err := file.Map(c.Size)
	switch {
	case err == nil:
		r.file, r.data, release, r.unload = nil, data, unmap, vfs.Unloader(file, data)
		if err := file.Close(); err != nil {
			return nil, errors.Join(err, unmap())
		}
	case !errors.Is(err, vfs.ErrNoMap):
		return nil, errors.Join(err, file.Close())
	default:
		r.far, _ = file.(vfs.Distant)
	}
	if !c.Log {
		r.start = fileheader.Size
	}
	if !c.Log && r.far == nil { // each value has a checksum in its pointer, which belongs to the file
		if err := r.checkHeader(fileheader.New(fileheader.Values, c.Number, c.Database)); err != nil {
			return nil, errors.Join(err, release())
		}
	}
	// Nobody is left to tell if that fails, and nothing was written.
	r.release = func() { _ = release() }
	r.cleanup = runtime.AddCleanup(r, func(release func()) { release() }, r.release)
	return r, nil
}

// close lets go of the file at once. Nobody may use the reader, or what came from it, any more.
func (r *reader) close() {
	r.cleanup.Stop()
	r.release()
}

// checkSize reports what is wrong with the length of the file. A log segment may be longer than it
// need be: what was preallocated is cut off when it is closed, which a crash may prevent.
func (c Config) checkSize(size int64) error {
	fits := c.Size == size && size >= fileheader.Size
	if c.Log {
		fits = 0 <= c.Size && c.Size <= size
	}
	if fits {
		return nil
	}
	return corrupt.New(c.Path, 0, "file has %d bytes, want %d", size, c.Size)
}

func (r *reader) checkHeader(h fileheader.Header) error {
	p := Pointer{Offset: 0, Length: fileheader.Size}
	if r.file == nil {
		return r.catch(p, func() error { return h.Check(r.path, r.data[:fileheader.Size]) })
	}
	head, err := r.load(p)
	if err != nil {
		return err
	}
	return h.Check(r.path, head)
}

// read returns the value that p points to, as [File.Read] does.
func (r *reader) read(p Pointer) ([]byte, error) {
	if !r.has(p) {
		return nil, r.outside(p)
	}
	if r.file != nil {
		value, err := r.load(p)
		if err == nil {
			err = r.verify(p, checksum.Of(value))
		}
		if err != nil {
			return nil, err
		}
		return value, nil
	}
	value := r.part(p)
	if r.sampler.Due(p.Offset) {
		r.sampler.Warm(value)
	}
	if p.Length >= granuleBytes && r.verified.has(p.Offset) {
		return value, nil
	}
	if err := r.verifyMapped(p); err != nil {
		return nil, err
	}
	if p.Length >= granuleBytes {
		r.verified.add(p.Offset, r.end)
	}
	return value, nil
}

// verifyMapped verifies a value of the map. Its bytes may be touched for the first time here; an
// I/O error in them is an error, not a crash.
func (r *reader) verifyMapped(p Pointer) error {
	return r.catch(p, func() error { return r.verify(p, checksum.Of(r.part(p))) })
}

// has reports whether p points into this file.
func (r *reader) has(p Pointer) bool {
	return p.File == r.number && r.start <= p.Offset && p.Offset <= r.end &&
		uint64(p.Length) <= r.end-p.Offset
}

// part returns the bytes of the map that p, which points into it, points to.
func (r *reader) part(p Pointer) []byte {
	end := p.Offset + uint64(p.Length)
	return r.data[p.Offset:end:end]
}

// load reads what p points to into new memory.
func (r *reader) load(p Pointer) ([]byte, error) {
	value := make([]byte, p.Length)
	if _, err := r.file.ReadAt(value, int64(p.Offset)); err != nil {
		return nil, fmt.Errorf("read %s at offset %d: %w", r.path, p.Offset, err)
	}
	return value, nil
}

// outside returns the error of a pointer that does not point into this file.
func (r *reader) outside(p Pointer) error {
	return corrupt.New(r.path, int64(p.Offset),
		"pointer to %d bytes in file %06d, want it within bytes %d to %d of file %06d",
		p.Length, p.File, r.start, r.end, r.number)
}

// verify returns an error unless a value has the checksum that p says.
func (r *reader) verify(p Pointer, sum uint32) error {
	if sum != p.Checksum {
		return corrupt.New(r.path, int64(p.Offset),
			"checksum of a value of %d bytes does not match", p.Length)
	}
	return nil
}

// catch calls fn, which looks at what p points to. A fault of the map becomes an error.
func (r *reader) catch(p Pointer, fn func() error) error {
	err := vfs.CatchFaults(fn)
	if errors.Is(err, vfs.ErrFault) {
		err = fmt.Errorf("%s at offset %d: %w", r.path, p.Offset, err)
	}
	return err
}
