package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/valuelog"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/wal"
)

const (
	// Unfinished is the file that stands in a folder whose first backup is not complete. Who writes
	// to a database there removes it: another backup would replace one whose manifest is damaged.
	Unfinished     = "UNFINISHED-BACKUP"
	unfinishedText = "This backup is not complete: make it again, into this folder or another one.\n"
)

// contents is what a folder holds.
type contents struct {
	manifests  []uint64        // ascending
	logs       []uint64        // likewise
	files      map[string]bool // the names of all that may go: but for manifests and the lock
	data       string          // a table, value file or log segment among them, if there is one
	foreign    string          // a name that is none of a database, if there is one
	unfinished bool            // the mark of an unfinished backup is there
	highest    uint64          // of all numbers
}

// list returns what the folder holds.
func list(files vfs.Files, dir string) (contents, error) {
	names, err := files.List(dir)
	if err != nil {
		return contents{}, err
	}
	c := contents{files: make(map[string]bool)}
	for _, name := range names {
		c.add(name)
	}
	slices.Sort(c.manifests)
	slices.Sort(c.logs)
	return c, nil
}

// add sorts one name in.
func (c *contents) add(name string) {
	if number, ok := manifest.ParseName(name); ok {
		c.manifests = append(c.manifests, number)
		c.highest = max(c.highest, number)
		return
	}
	if number, ok := manifest.ParseCopyName(name); ok {
		c.files[name] = true
		c.highest = max(c.highest, number)
		return
	}
	for _, parse := range []func(string) (uint64, bool){
		run.ParseName, valuelog.ParseName, wal.ParseName,
	} {
		if number, ok := parse(name); ok {
			c.files[name], c.data = true, name
			c.highest = max(c.highest, number)
			if number, ok := wal.ParseName(name); ok {
				c.logs = append(c.logs, number)
			}
			return
		}
	}
	switch name {
	case Unfinished:
		c.files[name], c.unfinished = true, true
	case lockName:
	default:
		c.foreign = name
	}
}

// examine finds out what the folder holds, and whether a backup may go there.
func (f *Folder) examine() error {
	found, err := list(f.folder, f.dir)
	if err != nil {
		return err
	}
	f.found, f.next = found, max(found.highest+1, f.source.Version.NextNumber)
	f.earlier, err = manifest.LoadAmong(f.folder, f.dir, found.manifests)
	begun := found.unfinished && errors.Is(err, corrupt.Err) // its manifest was being written
	if begun || errors.Is(err, fs.ErrNotExist) {
		f.earlier = nil
		return f.checkEmpty()
	}
	if err != nil {
		return fmt.Errorf("the earlier backup cannot be read; choose another folder: %w", err)
	}
	return f.checkEarlier()
}

// checkEmpty returns an error if a folder without a manifest holds anything but what an unfinished
// backup has left.
func (f *Folder) checkEmpty() error {
	switch {
	case f.found.foreign != "":
		return fmt.Errorf("the folder %s holds %q and no backup; choose an empty folder: %w",
			f.dir, f.found.foreign, corrupt.ErrFormat)
	case f.found.data != "" && !f.found.unfinished:
		return corrupt.New(f.dir, 0, "the folder has %s and no manifest, so that it may be a damaged "+
			"database; choose another folder", f.found.data)
	}
	return nil
}

// checkEarlier returns an error unless the folder holds an earlier backup of the source.
func (f *Folder) checkEarlier() error {
	v := f.earlier.Version
	if f.earlier.Database != f.source.Database {
		return fmt.Errorf("the folder %s holds another database; choose another folder", f.dir)
	}
	logs := f.found.logs
	if !v.IsBackup() || f.earlier.Torn ||
		len(logs) > 0 && logs[len(logs)-1] >= v.LogNumber {
		return fmt.Errorf("the folder %s holds a copy of the database that is no backup, or was "+
			"written to since; choose another folder", f.dir)
	}
	if v.Branch != f.source.Version.Branch {
		return fmt.Errorf("the backup in %s and the database are of different branches: one of them "+
			"comes from a restored backup that was written to; choose another folder", f.dir)
	}
	if v.LastCommit > f.source.LastCommit {
		return fmt.Errorf("the backup in %s has %d commits and the database %d, which is older; "+
			"choose another folder", f.dir, v.LastCommit, f.source.LastCommit)
	}
	return nil
}

// item is a file that a version names.
type item struct {
	name   string
	number uint64
	size   int64 // how much of it there is to copy
	log    bool  // a log segment: nobody changes what is to be copied of it, but it may be longer
}

// itemsOf returns the files of a version, tables first.
func itemsOf(v *manifest.Version) (items []item) {
	for t := range v.Tables() {
		items = append(items, item{run.Name(t.Number), t.Number, int64(t.Size), false})
	}
	for _, file := range v.ValueFiles {
		name := valuelog.Name(file.Number)
		if file.Log {
			name = wal.Name(file.Number)
		}
		items = append(items, item{name, file.Number, int64(file.Size), file.Log})
	}
	return items
}

// path returns the name of a file in the folder.
func (f *Folder) path(name string) string { return filepath.Join(f.dir, name) }

// sweep removes all that belongs to a database, except for what the manifest names and what is to
// be kept.
func (f *Folder) sweep(keep map[string]bool) error {
	found, err := list(f.folder, f.dir)
	if err != nil {
		return err
	}
	for _, number := range found.manifests {
		found.files[manifest.Name(number)] = true
	}
	if f.earlier != nil {
		for _, i := range itemsOf(f.earlier.Version) {
			delete(found.files, i.name)
		}
	}
	var errs []error
	for name := range found.files {
		if !keep[name] {
			errs = append(errs, f.folder.Remove(f.path(name)))
		}
	}
	return errors.Join(append(errs, f.folder.SyncDir(f.dir))...)
}

// abandon removes what was copied in vain. The mark of an unfinished backup goes last.
func (f *Folder) abandon() error {
	keep := map[string]bool{Unfinished: true}
	if f.earlier != nil {
		for _, number := range append(f.found.manifests, f.earlier.Number) {
			keep[manifest.Name(number)], keep[manifest.CopyName(number)] = true, true
		}
		return f.sweep(keep)
	}
	if err := f.sweep(keep); err != nil {
		return err
	}
	return f.folder.Remove(f.path(Unfinished))
}
