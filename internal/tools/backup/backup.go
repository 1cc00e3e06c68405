// Package backup copies the files of a database into a folder that is a database of its own.
//
// A [Folder] is such a folder while a backup is written to it:
//
//	f, err := backup.Begin(target, dir, source, meter) // takes the lock, changes nothing else
//	err = f.Copy(ctx, false)                           // the files that are not there yet
//	err = f.Commit(version)                            // from here on the new backup counts
//	err = f.Tidy()                                     // what only the earlier one needed
//	err = f.Close()
//
// The folder is the earlier backup until Commit, and the new one after it: a file that the earlier
// manifest names is never changed before the new manifest is durable, and no manifest's name is
// reused. Log segments hold values that tables point to, but a segment that the earlier manifest
// does not cover would be replayed; so before any is copied, the earlier manifest is rewritten to
// cover all of them. It is also rewritten if it may not be durable because its process failed or
// was killed. A folder without a manifest has a file that marks it as unfinished, from before its
// first table until after its manifest.
//
// A manifest written here is tagged as a backup, and its log number is above all log segments, so
// that none is replayed. The first write to the database removes the tag, so a copy that was
// written to is left alone. It also changes the branch, so that a third folder never mixes the two.
//
// A [Stream] is a backup written as an archive, and [Folder.Receive] makes a folder of it. There,
// too, the manifest comes last, so that a truncated stream is not a backup.
//
// A Folder is for one goroutine at a time, and so is a Stream. The package neither decides what is
// backed up nor reads what is in the files; the caller must verify them before it commits.
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
	MayVanish  bool              // files may be removed during the backup
	Seal       Sealing           // encrypts a stream; nil if it is not encrypted
}

// Meter counts the work of backups in progress. Safe for concurrent use.
type Meter struct {
	Files, Bytes    atomic.Uint64 // copied or linked
	Kept, KeptBytes atomic.Uint64 // already in the folder, with equal bytes
}

// Folder is a backup that is being written. Close releases it.
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

// Begin locks the folder dir for a backup of the source, and creates it if it is missing. It is an
// error if the folder holds anything except an earlier backup of the same database.
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

// checkApart returns an error if the folder is the database's own or lies within it.
func (f *Folder) checkApart(target vfs.FS) error {
	if f.source.Folder == nil {
		return nil
	}
	for at := f.dir; ; at = filepath.Dir(at) {
		if above, err := target.OpenFolder(at); err == nil { // else it is missing, or not ours to read
			own := f.source.Folder.Is(above) || above.Is(f.source.Folder) // one may encrypt what is below
			if err := above.Close(); err != nil {
				return err
			}
			if own {
				return fmt.Errorf("%s is the database's own directory or lies in it; choose another one",
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

// NextNumber returns a number that no file of the folder or the source has.
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

// Tidy removes the files that the backup does not need. If it fails, the next backup does it.
func (f *Folder) Tidy() error {
	number := f.earlier.Number
	return f.sweep(map[string]bool{
		folder.Manifest.Name(number): true, folder.ManifestCopy.Name(number): true,
	})
}

// Close releases the folder. If nothing was committed, it tries to remove what was copied and
// leaves the earlier backup.
func (f *Folder) Close() error {
	errs := []error{f.release()}
	if f.begun && !f.decided {
		_ = f.abandon() // what stays is named by no manifest, and replaced by the next backup
	}
	return errors.Join(append(errs, f.lock.Close(), f.folder.Close())...)
}
