package cryptfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/vfs"
)

// WantPlain returns an error that matches corrupt.ErrKey if a file in dir is encrypted. It is for
// those who read damaged files and have no keys: to them, an encrypted file looks damaged. Files
// that cannot be read are left to the caller.
func WantPlain(files vfs.ReadOnly, dir string) error {
	all, err := files.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, name := range all {
		if _, ok := layoutOf(name); ok && isEncrypted(files, filepath.Join(dir, name)) {
			return fmt.Errorf("%s is encrypted: %w", name, corrupt.ErrKey)
		}
	}
	return err
}

func isEncrypted(files vfs.ReadOnly, name string) bool {
	file, err := files.Open(name)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }() // which was only read
	var magic [len(fileheader.Encrypted)]byte
	n, _ := file.ReadAt(magic[:], 0)
	return string(magic[:n]) == fileheader.Encrypted
}
