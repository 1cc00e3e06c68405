package cryptfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

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

// WantEncrypted returns an error that matches corrupt.ErrKey if the files in dir are encrypted with
// another key, or are not, and corrupt.Err if no wrapping is left of their data key. It is the
// reverse of WantPlain.
func (f *FS) WantEncrypted(dir string) error {
	data, err := f.keyring(f.inner, dir).load()
	if err != nil || data != nil {
		return err
	}
	all, err := f.inner.List(dir)
	if err != nil {
		return err
	}
	var plain error
	for _, name := range all {
		if _, ok := layoutOf(name); !ok {
			continue
		}
		switch start := startOf(f.inner, filepath.Join(dir, name)); {
		case start == fileheader.Encrypted:
			return lostWrappings(dir)
		case isPlain(start):
			plain = notEncrypted(name)
		}
	}
	return plain
}

// isPlain reports whether a file of a database that is not encrypted starts so.
func isPlain(start string) bool {
	for _, kind := range fileheader.Kinds() {
		if strings.HasPrefix(start, string(kind)) {
			return true
		}
	}
	return false
}

func isEncrypted(files vfs.ReadOnly, name string) bool {
	return startOf(files, name) == fileheader.Encrypted
}

// startOf returns what a file starts with, as long as a magic, or less if it cannot be read.
func startOf(files vfs.ReadOnly, name string) string {
	file, err := files.Open(name)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }() // which was only read
	var magic [len(fileheader.Encrypted)]byte
	n, _ := file.ReadAt(magic[:], 0)
	return string(magic[:n])
}
