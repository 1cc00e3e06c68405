package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/wal"
)

// unfinishedText is the content of the file that marks an unfinished backup.
const unfinishedText = "This backup is not complete: make it again, into this directory or " +
	"another one.\n"

// examine lists the folder and returns an error if a backup must not go there.
func (f *Folder) examine() error {
	found, err := folder.List(f.folder, f.dir)
	if err != nil {
		return err
	}
	f.found, f.next = found, max(found.Highest+1, f.source.Version.NextNumber)
	f.earlier, err = manifest.LoadAmong(f.folder, f.dir, found.Of(folder.Manifest))
	begun := found.Unfinished && errors.Is(err, corrupt.Err) // its manifest was being written
	if begun || errors.Is(err, fs.ErrNotExist) {
		f.earlier = nil
		return f.checkEmpty()
	}
	if err != nil {
		return fmt.Errorf("the earlier backup cannot be read; choose another directory: %w", err)
	}
	return f.checkEarlier()
}

// checkEmpty returns an error if a folder without a manifest holds anything except the remains of
// an unfinished backup, or of a database whose first files were being written.
func (f *Folder) checkEmpty() error {
	if f.found.Other != "" {
		return fmt.Errorf("the directory %s holds %q and no backup; choose an empty directory: %w",
			f.dir, f.found.Other, corrupt.ErrFormat)
	}
	for kind, number := range f.found.All() {
		if !kind.HoldsData() || f.found.Unfinished {
			continue
		}
		blank, err := f.isBlank(kind, number)
		if err != nil {
			return err
		}
		if !blank {
			return corrupt.New(f.dir, 0, "the directory has %s and no manifest, so that it may be a "+
				"damaged database; choose another directory", kind.Name(number))
		}
	}
	return nil
}

// isBlank reports whether a file is a log without commits, which is written before the first
// manifest of a database.
func (f *Folder) isBlank(kind folder.Kind, number uint64) (bool, error) {
	if kind != folder.Log {
		return false, nil
	}
	return wal.Blank(f.folder, f.dir, number)
}

// errOther reports a folder with another database than the source.
var errOther = errors.New("another database")

// checkEarlier returns an error unless the folder holds an earlier backup of the source.
func (f *Folder) checkEarlier() error {
	v := f.earlier.Version
	if f.earlier.Database != f.source.Database {
		return fmt.Errorf("the directory %s holds %w; choose another directory", f.dir, errOther)
	}
	if !v.Backup || f.earlier.Torn || f.found.Newest(folder.Log) >= v.LogNumber {
		return fmt.Errorf("the directory %s holds a copy of the database that is no backup, or was "+
			"written to since; choose another directory", f.dir)
	}
	if v.Branch != f.source.Version.Branch {
		return fmt.Errorf("the backup in %s and the database are of different branches: one of them "+
			"comes from a restored backup that was written to; choose another directory", f.dir)
	}
	if v.LastCommit > f.source.LastCommit {
		return fmt.Errorf("the backup in %s has %d commits and the database %d, which is older; "+
			"choose another directory", f.dir, v.LastCommit, f.source.LastCommit)
	}
	return nil
}

// item is a file that a version names.
type item struct {
	kind   folder.Kind
	number uint64
	size   int64 // how much of it there is to copy; a log segment may be longer
}

// itemsOf returns the files of a version, tables first.
func itemsOf(v *manifest.Version) (items []item) {
	for t := range v.Tables() {
		items = append(items, item{folder.Table, t.Number, int64(t.Size)})
	}
	for _, file := range v.ValueFiles {
		items = append(items, item{file.Kind(), file.Number, int64(file.Size)})
	}
	return items
}

func (i item) name() string { return i.kind.Name(i.number) }

func (f *Folder) path(name string) string { return filepath.Join(f.dir, name) }

// discard removes a file that an unfinished backup may have left.
func (f *Folder) discard(kind folder.Kind, number uint64) error {
	if !f.found.Has(kind, number) {
		return nil
	}
	if err := f.folder.Remove(f.path(kind.Name(number))); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// create makes a file with what write puts into it, durable except for its name.
func (f *Folder) create(name string, write func(vfs.File) error) error {
	file, err := f.folder.Create(f.path(name))
	if err != nil {
		return err
	}
	if err = write(file); err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// sweep removes all database files except those that the manifest names and those in keep.
func (f *Folder) sweep(keep map[string]bool) error {
	found, err := folder.List(f.folder, f.dir)
	if err != nil {
		return err
	}
	if f.earlier != nil {
		for _, i := range itemsOf(f.earlier.Version) {
			keep[i.name()] = true
		}
	}
	var errs []error
	remove := func(name string) {
		if !keep[name] {
			errs = append(errs, f.folder.Remove(f.path(name)))
		}
	}
	for kind, number := range found.All() {
		remove(kind.Name(number))
	}
	if found.Unfinished {
		remove(folder.UnfinishedName)
	}
	return errors.Join(append(errs, f.folder.SyncDir(f.dir))...)
}

// abandon removes what was copied, and the mark of an unfinished backup last.
func (f *Folder) abandon() error {
	keep := map[string]bool{folder.UnfinishedName: true}
	if f.earlier != nil {
		for _, number := range append(slices.Clone(f.found.Of(folder.Manifest)), f.earlier.Number) {
			keep[folder.Manifest.Name(number)], keep[folder.ManifestCopy.Name(number)] = true, true
		}
		return f.sweep(keep)
	}
	if err := f.sweep(keep); err != nil {
		return err
	}
	return f.folder.Remove(f.path(folder.UnfinishedName))
}
