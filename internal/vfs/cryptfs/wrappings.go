package cryptfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	names "github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
)

// copies is how many wrappings of the data key a folder has: without any, the data is lost.
const copies = 2

// keyNumbers returns the numbers of the wrappings in a folder, ascending.
func keyNumbers(files vfs.ReadOnly, dir string) (numbers []uint64, err error) {
	all, err := files.List(dir)
	for _, name := range all {
		if number, ok := names.ParseKey(name); ok {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return numbers, err
}

// listRetries bounds how often the wrappings are listed again because they were replaced meanwhile.
const listRetries = 20

// readWrappings reads all wrappings in a folder.
func readWrappings(files vfs.ReadOnly, dir string) (all []wrapping, err error) {
	for range listRetries {
		numbers, listErr := keyNumbers(files, dir)
		if listErr != nil {
			return nil, listErr
		}
		all = all[:0]
		for _, number := range numbers {
			var w wrapping
			if w, err = readWrapping(files, filepath.Join(dir, names.KeyName(number))); err != nil {
				break
			}
			all = append(all, w)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return all, err
}

// unwrap returns the data key in the wrappings, or nil if there is none because none was ever
// complete. One that the key opens is enough.
func unwrap(all []wrapping, key *Key) (data *dataKey, err error) {
	var from string
	var damage, other error
	for _, w := range all {
		if w.raw == nil && w.unreadable == nil {
			continue
		}
		one, err := w.open(key)
		switch {
		case errors.Is(err, corrupt.ErrKey):
			other = err
		case err != nil:
			damage = errors.Join(damage, err)
		case data != nil && one.id != data.id:
			return nil, fmt.Errorf("%s and %s are of two databases, remove the one that is not of this: %w",
				from, w.name, corrupt.ErrKey)
		default:
			data, from = one, w.name
		}
	}
	if data != nil {
		return data, nil
	}
	if other != nil {
		return nil, other
	}
	return nil, damage
}

// replaceWrappings makes wrappings of a data key with a key the only ones in the folder. Until it
// returns, what opened the earlier ones may or may not still do so, and so may the key.
func replaceWrappings(files vfs.Files, dir string, key *Key, data *dataKey) error {
	old, err := keyNumbers(files, dir)
	if err != nil {
		return err
	}
	var made []string
	for number := uint64(1); len(made) < copies; number++ {
		if slices.Contains(old, number) {
			continue
		}
		name := filepath.Join(dir, names.KeyName(number))
		made = append(made, name)
		if err := writeWrapping(files, name, key, data); err != nil {
			for _, name := range made {
				_ = files.Remove(name) // what stays does no harm
			}
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	if err := files.SyncDir(dir); err != nil || len(old) == 0 {
		return err
	}
	for _, number := range old {
		err := files.Remove(filepath.Join(dir, names.KeyName(number)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return files.SyncDir(dir)
}

// writeWrapping writes a wrapping, durable except for its name, and reads it back.
func writeWrapping(files vfs.Files, name string, key *Key, data *dataKey) error {
	p, err := key.wrap(data)
	if err != nil {
		return err
	}
	file, err := files.Create(name)
	if err != nil {
		return err
	}
	if _, err = file.WriteAt(p, 0); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	w, err := readWrapping(files, name)
	if err == nil {
		_, err = w.open(key)
	}
	return err
}
