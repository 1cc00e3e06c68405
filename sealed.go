package stoat

import (
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/cryptfs"
)

// key returns what files are encrypted with, or nil if they are not; o may be nil.
func (o *Options) key() (*cryptfs.Key, error) {
	if o == nil || o.Key == nil {
		return nil, nil
	}
	return cryptfs.NewKey(o.Key)
}

// sealed returns the file system in which a database with a key keeps its files. Without a key, it
// is files itself, so that those who do not encrypt pay nothing.
func sealed(files vfs.FS, key *cryptfs.Key) vfs.FS {
	if key == nil {
		return files
	}
	return cryptfs.New(files, key)
}
