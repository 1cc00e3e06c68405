package stoat

import (
	"fmt"

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

// like returns the file system in which backups of the database go to files. Without a key, it is
// files itself, so that those who do not encrypt pay nothing.
func (db *DB) like(files vfs.FS) vfs.FS {
	if db.sealed == nil {
		return files
	}
	return cryptfs.NewLike(files, db.sealed)
}

// Rekey makes newKey the [Options.Key] of the encrypted database or backup in dir, in the place of
// key. It writes two small files, whatever the size of the database, which must be closed: the
// error is [ErrLocked] if it is not, and matches [ErrKey] if key is not its key, or if it is not
// encrypted.
//
// Once Rekey returns nil, dir opens with newKey only. After an error or a crash, it opens with one
// of the keys or both: call Rekey again, which finishes what it has begun. With the same key twice,
// it replaces damaged key files.
//
// The data stays encrypted with a key of its own, which a Rekey does not change. So whoever has the
// old key and an old copy of the directory, or of its files KEY-*, can read what is written later,
// and backups keep the key that they were made with. If the old key may be known to others, back up
// to a new directory with [DB.BackupWithKey], and use that.
func Rekey(dir string, key, newKey []byte) error {
	from, err := namedKey("key", key)
	if err != nil {
		return fmt.Errorf("change the key of %s: %w", dir, err)
	}
	to, err := namedKey("newKey", newKey)
	if err != nil {
		return fmt.Errorf("change the key of %s: %w", dir, err)
	}
	if err := cryptfs.Rekey(vfs.OS(), dir, from, to); err != nil {
		return fmt.Errorf("change the key of %s: %w", dir, err)
	}
	return nil
}

// namedKey returns the key that a parameter has. The error does not quote it.
func namedKey(name string, secret []byte) (*cryptfs.Key, error) {
	key, err := cryptfs.NewKey(secret)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return key, nil
}

// sealedWith returns a file system that encrypts with the key that a parameter has.
func sealedWith(name string, secret []byte, files vfs.FS) (vfs.FS, error) {
	key, err := namedKey(name, secret)
	if err != nil {
		return nil, err
	}
	return cryptfs.New(files, key), nil
}
