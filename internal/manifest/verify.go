package manifest

import (
	"bytes"

	"github.com/stoatdb/stoat/internal/vfs"
)

// LoadFile reads one manifest: the file of that name in dir, which was written as the manifest with
// the number. Unlike [Load] it takes one that is not complete for damaged.
func LoadFile(files vfs.Files, dir, name string, number uint64) (*State, error) {
	m, err := readImage(files, dir, name, number)
	if err != nil {
		return nil, err
	}
	return Parse(m.path, number, m.data)
}

// Equal reports whether two versions say the same.
func (v *Version) Equal(w *Version) bool {
	return v == w || bytes.Equal(appendVersion(nil, v), appendVersion(nil, w))
}

// Verify returns an error if v is not a version that could have been made: if tables of a run
// overlap, or if what is said of a table is out of order.
func (v *Version) Verify() error { return v.check() }
