package cryptfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/stoatdb/stoat/internal/corrupt"
	names "github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Rekey wraps the data key of the folder dir with another key. Files stay as they are. When it
// returns nil, the old key opens nothing any more; after an error or a crash, either key may, and
// at least one does. If the folder has the new key already, Rekey finishes what was begun.
//
// The error is vfs.ErrLocked if somebody writes to the folder, and matches corrupt.ErrKey if
// neither key opens it, or it is not encrypted.
func Rekey(files vfs.FS, dir string, from, to *Key) (err error) {
	folder, err := files.OpenFolder(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	if err := wantWrappings(folder, dir); err != nil {
		return err
	}
	lock, err := names.Lock(folder, dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = names.CreateLock(folder, dir); err == nil {
			lock, err = names.Lock(folder, dir)
		}
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	data, err := rewrapped(folder, dir, from, to)
	if err != nil {
		return err
	}
	return replaceWrappings(folder, dir, to, data)
}

// wantWrappings returns an error if the folder has none.
func wantWrappings(folder vfs.Folder, dir string) error {
	all, err := folder.List(dir)
	if err != nil {
		return err
	}
	found := names.Classify(all)
	if found.Key != "" {
		return nil
	}
	if found.Highest == 0 {
		return fmt.Errorf("no database in %s: %w", dir, fs.ErrNotExist)
	}
	for kind, number := range found.All() {
		if isEncrypted(folder, filepath.Join(dir, kind.Name(number))) {
			return lostWrappings(dir)
		}
	}
	return fmt.Errorf("%s is not encrypted; back it up with a key instead: %w", dir, corrupt.ErrKey)
}

// rewrapped returns the data key that either key opens. No wrapping may have another one: it would
// be removed.
func rewrapped(folder vfs.Folder, dir string, from, to *Key) (*dataKey, error) {
	all, err := readWrappings(folder, dir)
	if err != nil {
		return nil, err
	}
	data, err := unwrap(all, from)
	if errors.Is(err, corrupt.ErrKey) {
		if begun, _ := unwrap(all, to); begun != nil {
			data, err = begun, nil
		}
	}
	switch {
	case err != nil:
		return nil, err
	case data == nil:
		return nil, lostWrappings(dir)
	}
	for _, w := range all {
		switch {
		case errors.Is(w.unreadable, corrupt.ErrFormat):
			return nil, w.unreadable
		case w.raw != nil && w.data != data.id:
			return nil, fmt.Errorf("%s has the key of another database, remove it: %w", w.name,
				corrupt.ErrKey)
		}
	}
	return data, nil
}
