package stoat

import (
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/cryptfs"
)

// keys returns what files are encrypted with, or nil if they are not; o may be nil.
func (o *Options) keys() (*cryptfs.Keys, error) {
	if o == nil || o.Key == nil {
		return nil, nil
	}
	return cryptfs.NewKeys(o.Key)
}

// sealed returns the file system in which a database with keys keeps its files. Without keys, it is
// files itself, so that those who do not encrypt pay nothing.
func sealed(files vfs.FS, keys *cryptfs.Keys) vfs.FS {
	if keys == nil {
		return files
	}
	return cryptfs.New(files, keys)
}
