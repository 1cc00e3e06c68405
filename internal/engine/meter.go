package engine

import (
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/vfs"
)

// meter counts the bytes written to files that are created through it, whatever becomes of them.
// Safe for concurrent use.
type meter struct {
	vfs.Files
	bytes *atomic.Uint64
}

// Create makes a file whose bytes count.
func (m meter) Create(name string) (vfs.File, error) {
	file, err := m.Files.Create(name)
	if err != nil {
		return nil, err
	}
	return metered{file, m.bytes}, nil
}

// metered is a file of a meter.
type metered struct {
	vfs.File
	bytes *atomic.Uint64
}

// WriteAt counts what was written, even if that was not all.
func (f metered) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.File.WriteAt(p, off)
	f.bytes.Add(uint64(n))
	return n, err
}
