package cryptfs

import (
	"io"
	"io/fs"

	"github.com/stoatdb/stoat/internal/vfs"
)

// sealed is what all encrypted files have in common. Those that are read take no writes.
type sealed struct {
	inner vfs.File
	name  string
}

func (s *sealed) refuse(op string, err error) error {
	return &fs.PathError{Op: op, Path: s.name, Err: err}
}

func (s *sealed) WriteAt([]byte, int64) (int, error) {
	return 0, s.refuse("write", fs.ErrPermission)
}

func (s *sealed) Truncate(int64) error { return s.refuse("truncate", fs.ErrPermission) }

func (s *sealed) Preallocate(int64) error { return s.refuse("preallocate", fs.ErrPermission) }

func (s *sealed) Close() error { return s.inner.Close() }

func (s *sealed) Sync() error { return s.inner.Sync() }

func (s *sealed) StartSync(int64, int64) {}

// Map implements vfs.File. The system could only map ciphertext.
func (s *sealed) Map(int64) (data []byte, unmap func() error, err error) {
	return nil, nil, s.refuse("map", vfs.ErrNoMap)
}

func (s *sealed) Named() error { return s.inner.Named() }

// blank is a file whose first sector a crash kept from the disk.
type blank struct{ sealed }

func (b *blank) ReadAt([]byte, int64) (int, error) { return 0, io.EOF }

func (b *blank) Size() (int64, error) { return 0, nil }
