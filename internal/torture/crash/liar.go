package crash

import "github.com/stoatdb/stoat/internal/vfs"

// Liar is a disk that says it has synced the files that were created on it, and has not.
type Liar struct{ vfs.FS }

// Create implements vfs.FS.
func (l Liar) Create(name string) (vfs.File, error) {
	f, err := l.FS.Create(name)
	if err != nil {
		return nil, err
	}
	return liarFile{f}, nil
}

// liarFile is a file of a Liar.
type liarFile struct{ vfs.File }

// Sync implements vfs.File.
func (liarFile) Sync() error { return nil }
