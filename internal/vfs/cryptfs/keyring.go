package cryptfs

import (
	"path/filepath"
	"sync"

	"github.com/stoatdb/stoat/internal/corrupt"
	names "github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
)

// keyring finds the data key of a folder, and makes it before the first file is encrypted. Safe for
// concurrent use.
type keyring struct {
	files vfs.Files // not encrypted
	dir   string
	key   *Key
	seed  *dataKey // what a new folder gets; nil for a random one

	mu     sync.Mutex
	data   *dataKey // nil if not known yet
	relied bool     // its wrappings are durable
}

// load returns the data key, or nil if the folder has none yet.
func (r *keyring) load() (*dataKey, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.loadLocked()
}

func (r *keyring) loadLocked() (*dataKey, error) {
	if r.data != nil {
		return r.data, nil
	}
	all, err := readWrappings(r.files, r.dir)
	if err != nil {
		return nil, err
	}
	data, err := unwrap(all, r.key)
	r.data = data
	return data, err
}

// known returns the data key, or nil if it is not known yet.
func (r *keyring) known() *dataKey {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.data
}

// require returns the data key for a file that is to be read.
func (r *keyring) require() (*dataKey, error) {
	data, err := r.load()
	if err == nil && data == nil {
		err = lostWrappings(r.dir)
	}
	return data, err
}

func lostWrappings(dir string) error {
	return corrupt.New(filepath.Join(dir, names.KeyName(1)), 0, "the key files %s* are lost, and "+
		"without them nobody can decrypt the others; copy those of a backup that Backup made", keyPrefix)
}

// establish returns the data key for a file that is to be written. The caller holds the lock of the
// folder. Before the first file is encrypted, the wrappings are durable; those that a killed
// process has left may not be.
func (r *keyring) establish() (*dataKey, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	data, err := r.loadLocked()
	if err != nil || r.relied {
		return data, err
	}
	name, err := r.anyEncrypted()
	switch {
	case err != nil:
		return nil, err
	case name != "" && data == nil:
		return nil, lostWrappings(r.dir)
	case name != "":
		r.relied = true
		return data, nil
	}
	if data == nil {
		data = r.seed
	}
	if data == nil {
		secret, err := random(KeyBytes)
		if err != nil {
			return nil, err
		}
		if data, err = r.key.newDataKey(secret); err != nil {
			return nil, err
		}
	}
	if err := replaceWrappings(r.files, r.dir, r.key, data); err != nil {
		return nil, err
	}
	r.data, r.relied = data, true
	return data, nil
}

// anyEncrypted returns the name of an encrypted file in the folder, or none.
func (r *keyring) anyEncrypted() (string, error) {
	all, err := r.files.List(r.dir)
	if err != nil {
		return "", err
	}
	for _, name := range all {
		name = filepath.Join(r.dir, name)
		if _, ok := layoutOf(name); ok && isEncrypted(r.files, name) {
			return name, nil
		}
	}
	return "", nil
}

// check returns all that is wrong with the wrappings.
func (r *keyring) check() (found []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.data == nil {
		return nil // nothing is encrypted yet
	}
	all, err := readWrappings(r.files, r.dir)
	if err != nil {
		return []error{err}
	}
	whole := 0
	for _, w := range all {
		switch err := w.verify(r.key, r.data); {
		case err != nil:
			found = append(found, err)
		default:
			whole++
		}
	}
	if whole < copies {
		found = append(found, corrupt.New(filepath.Join(r.dir, names.KeyName(1)), 0,
			"of %d key files, %d are whole: write new ones with \"stoat rekey\", with the key that the "+
				"database has", copies, whole))
	}
	return found
}
