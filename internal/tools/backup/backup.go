// Package backup copies the files of a database into a folder that is a database of its own.
//
// A [Folder] is such a folder while a backup is written into it:
//
//	f, err := backup.Begin(target, dir, source, meter) // takes the lock, changes nothing else
//	err = f.Copy(ctx, false)                           // the files that are not there yet
//	err = f.Commit(version)                            // from here on the new backup counts
//	err = f.Tidy()                                     // what only the earlier one needed
//	err = f.Close()
//
// Whatever happens in between, the folder is the earlier backup until Commit, and the new one after
// it: a file that the earlier manifest names is never touched before the new manifest is durable,
// and no name of a manifest is used twice. Three things need care for that. Log segments hold
// values that tables point to, but one that the earlier manifest does not cover would be replayed;
// so before any is copied, the earlier manifest is written anew as one that covers all of them. It
// is also written anew if it may not be durable, because the process that wrote it was killed, or
// failed. And a folder without a manifest, in which nothing is to be trusted, has a file that says
// so from before its first table to after its manifest.
//
// A manifest written here is tagged as a backup, and its log number is above all log segments, so
// that none is replayed. The first write to the database removes the tag: a copy that has gone its
// own way is left alone. It gets another branch, too, so that neither it nor its source is taken
// for the other in a third folder.
//
// A [Stream] is a backup that goes to a writer, as an archive, and [Folder.Receive] what makes a
// folder of it again. The manifest comes last there, too, so that what was cut off is none.
//
// A Folder is for one goroutine at a time, and so is a Stream. The package neither decides what is
// backed up nor reads what is in the files; whether they are sound is for the caller to say before
// it commits.
package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Source says what to back up.
type Source struct {
	Folder     vfs.Folder
	Dir        string            // the path that Folder was opened by
	Database   [16]byte          // the identity that all its files carry
	Version    *manifest.Version // the files, which nobody changes
	LastCommit uint64            // the newest commit that will be in the backup
	MayVanish  bool              // files may be removed meanwhile
}

// Meter counts what backups do while they do it. Safe for concurrent use.
type Meter struct {
	Files, Bytes    atomic.Uint64 // copied or linked
	Kept, KeptBytes atomic.Uint64 // found in the folder, and the same
}

// Folder is a backup that is being written. Close lets go of it.
type Folder struct {
	originals
	folder vfs.Folder
	dir    string
	meter  *Meter
	lock   vfs.Lock

	found   folder.Listing
	earlier *manifest.State // of the backup that there is; nil if there is none
	next    uint64          // no file has this number or a higher one
	begun   bool            // the folder has been changed
	decided bool            // the new manifest counts, or it is unknown whether it does

	uncopied error // why the newest manifest has no copy
}

// Begin locks the folder dir for a backup of the source, and makes it if it is missing. It is an
// error if the folder is not empty and holds something else than an earlier backup of the same
// database.
func Begin(target vfs.FS, dir string, source Source, meter *Meter) (*Folder, error) {
	f := &Folder{originals: originals{source: source}, dir: dir, meter: meter}
	if err := f.checkApart(target); err != nil {
		return nil, err
	}
	var err error
	f.folder, err = target.OpenFolder(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = target.MkdirAll(dir); err == nil {
			f.folder, err = target.OpenFolder(dir)
		}
	}
	if err != nil {
		return nil, err
	}
	err = f.examine()
	if err == nil {
		err = f.takeLock()
	}
	if err != nil {
		return nil, errors.Join(err, f.folder.Close())
	}
	if err := f.examine(); err != nil { // again, since nobody else can change it now
		return nil, errors.Join(err, f.lock.Close(), f.folder.Close())
	}
	return f, nil
}

// Files returns the folder itself, until Close.
func (f *Folder) Files() vfs.Folder { return f.folder }

// checkApart returns an error if the folder is the database's own, or within it.
func (f *Folder) checkApart(target vfs.FS) error {
	if f.source.Folder == nil {
		return nil
	}
	for at := f.dir; ; at = filepath.Dir(at) {
		if above, err := target.OpenFolder(at); err == nil { // else it is missing, or not ours to read
			own := f.source.Folder.Is(above)
			if err := above.Close(); err != nil {
				return err
			}
			if own {
				return fmt.Errorf("%s is the database's own folder or lies in it; choose another one",
					f.dir)
			}
		}
		if filepath.Dir(at) == at {
			return nil
		}
	}
}

// takeLock takes the lock of the folder, in which it writes nothing: it may be a symbolic link.
func (f *Folder) takeLock() error {
	var err error
	f.lock, err = folder.Lock(f.folder, f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = folder.CreateLock(f.folder, f.dir); err == nil {
			f.lock, err = folder.Lock(f.folder, f.dir)
		}
	}
	return err
}

// Reserve makes sure that the numbers from NextNumber on are at least first.
func (f *Folder) Reserve(first uint64) { f.next = max(f.next, first) }

// NextNumber hands out a number that no file of the folder or the source has.
func (f *Folder) NextNumber() uint64 {
	f.next++
	return f.next - 1
}

// Commit makes the folder a backup that consists of version, durably. All files that it names must
// be there and synced. After an error it is unknown whether the earlier backup counts or the new
// one, but it is one of them.
func (f *Folder) Commit(version *manifest.Version) error {
	if err := f.folder.SyncDir(f.dir); err != nil {
		return err
	}
	f.decided = true
	err := f.writeManifest(version)
	if errors.Is(err, manifest.ErrUnchanged) {
		f.decided = false
	}
	return err
}

// writeManifest writes a new manifest that says version, without a log to replay.
func (f *Folder) writeManifest(version *manifest.Version) error {
	if err := vfs.Owned(f.folder, f.lock); err != nil {
		return fmt.Errorf("write the manifest of the backup: %w; %w", err, manifest.ErrUnchanged)
	}
	number := f.NextNumber()
	next := *version
	next.LogNumber, next.NextNumber, next.Backup = number+1, number+1, true
	journal, err := manifest.Create(f.folder, f.dir, number, f.source.Database, &next)
	if err != nil {
		return err
	}
	f.uncopied = journal.CopyFailure()
	f.earlier = &manifest.State{Number: number, Database: f.source.Database, Version: &next}
	return journal.Close()
}

// CopyFailure returns why the manifest has no copy beside it; nil if it has one. That does not keep
// the backup from being one.
func (f *Folder) CopyFailure() error { return f.uncopied }

// Tidy removes the files that the backup does not need. It is no loss if that fails: the next
// backup does it.
func (f *Folder) Tidy() error {
	number := f.earlier.Number
	return f.sweep(map[string]bool{
		folder.Manifest.Name(number): true, folder.ManifestCopy.Name(number): true,
	})
}

// Close lets go of the folder. If nothing was committed, it removes what was copied, as far as it
// can, and leaves the earlier backup.
func (f *Folder) Close() error {
	errs := []error{f.release()}
	if f.begun && !f.decided {
		_ = f.abandon() // what stays is named by no manifest, and replaced by the next backup
	}
	return errors.Join(append(errs, f.lock.Close(), f.folder.Close())...)
}
