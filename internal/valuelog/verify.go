package valuelog

import (
	"fmt"
	"runtime"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/vfs"
)

// verifyBytes is how much of a value is read at a time.
const verifyBytes = 256 << 10

// Verify reads the value that p points to, whatever was verified before, and returns an error if it
// is not within the file or if its checksum does not match. It keeps little in memory, however long
// the value is.
func (f *File) Verify(p Pointer) error {
	r, err := f.opened()
	if err != nil {
		return err
	}
	err = r.verifyAnew(p)
	runtime.KeepAlive(r)
	return err
}

// Anew returns another File for the file as it is now, which is open, and whose header is verified,
// unless each read asks a store for it. If the file has left its directory since f was opened
// there, it returns f, because no store need have what is obsolete. The caller must call release
// when nothing uses it any more.
func (f *File) Anew() (again *File, release func(), err error) {
	r, err := f.load()
	isHere := err == nil && r.far == nil
	used := f.reader.Load()
	if !isHere && used != nil && used.far == nil && vfs.HasLeft(f.config.FS, f.config.Path) {
		if err == nil {
			r.close()
		}
		return f, func() {}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	again = New(f.config)
	again.reader.Store(r)
	return again, r.close, nil
}

func (r *reader) verifyAnew(p Pointer) error {
	if !r.has(p) {
		return r.outside(p)
	}
	if r.file == nil {
		return r.verifyMapped(p)
	}
	sum, buffer := uint32(0), make([]byte, min(p.Length, verifyBytes))
	for at, end := p.Offset, p.Offset+uint64(p.Length); at < end; {
		part := buffer[:min(end-at, verifyBytes)]
		if _, err := r.file.ReadAt(part, int64(at)); err != nil {
			return fmt.Errorf("read %s at offset %d: %w", r.path, at, err)
		}
		sum = checksum.Extend(sum, part)
		at += uint64(len(part))
	}
	return r.verify(p, sum)
}
