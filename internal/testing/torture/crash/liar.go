package crash

import "github.com/stoatdb/stoat/internal/vfs"

// Liar is a disk that reports syncs of new files without doing them.
type Liar struct{ vfs.FS }

// Create implements vfs.Files.
func (l Liar) Create(name string) (vfs.File, error) { return lie(l.FS.Create(name)) }

// OpenFolder implements vfs.FS.
func (l Liar) OpenFolder(dir string) (vfs.Folder, error) {
	f, err := l.FS.OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	return liarFolder{f}, nil
}

// liarFolder is a folder of a Liar.
type liarFolder struct{ vfs.Folder }

// Create implements vfs.Files.
func (l liarFolder) Create(name string) (vfs.File, error) { return lie(l.Folder.Create(name)) }

func lie(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return liarFile{f}, nil
}

// liarFile is a file of a Liar.
type liarFile struct{ vfs.File }

// Sync implements vfs.File.
func (liarFile) Sync() error { return nil }
