package remote

import (
	"bytes"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/cryptfs"
	"github.com/stoatdb/stoat/remote/objstore"
)

// errPlain refuses the key of a database before anything is asked of a store that does not
// encrypt: what is shipped could be read without it.
var errPlain = fmt.Errorf("option Database.Key is set, and the store does not encrypt; use "+
	"the one that cryptstore.Open returns: %w", stoat.ErrKey)

// wantSealed returns an error if a database has a key, and its store none.
func wantSealed(store objstore.Store, o *stoat.Options) error {
	if o.Key != nil && !objstore.Encrypts(store) {
		return errPlain
	}
	return nil
}

// ownOptions returns a copy of the options of a database, whose key is read later, too; nil means
// the defaults.
func ownOptions(o *stoat.Options) *stoat.Options {
	if o == nil {
		return new(stoat.Options)
	}
	own := *o
	own.Key = bytes.Clone(o.Key)
	return &own
}

// sealedWith returns the file system of a folder whose files are encrypted with a key, unless that
// is nil. Without a file system, it is that of the operating system.
func sealedWith(files vfs.FS, key []byte) (vfs.FS, error) {
	if files == nil {
		files = vfs.OS()
	}
	if key == nil {
		return files, nil
	}
	k, err := cryptfs.NewKey(key)
	if err != nil {
		return nil, fmt.Errorf("option Key: %w", err)
	}
	return cryptfs.New(files, k), nil
}
