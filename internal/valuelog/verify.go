package valuelog

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"

	"github.com/stoatdb/stoat/internal/checksum"
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

// Anew returns another File for the file as it is now, which is open, and whose header is verified.
// If the file was removed or its directory closed since f was opened, it returns f. The caller must
// call release when nothing uses it any more.
func (f *File) Anew() (again *File, release func(), err error) {
	r, err := openReader(f.config)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrClosed) {
		return f, func() {}, f.Open()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("open values %06d: %w", f.config.Number, err)
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
