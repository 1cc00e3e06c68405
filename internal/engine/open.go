package engine

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/vfs"
)

// recovered is what an engine starts with: what the manifest and the log of a folder say.
type recovered struct {
	store
	lock vfs.Lock // nil when read-only

	branch     uint64
	standing   standing
	marked     bool                 // the folder has the mark of an unfinished backup
	journalAt  uint64               // number of the manifest file; 0 if there is none yet
	edits      int                  // in the manifest, behind the version that it starts with
	copied     error                // why a copy of the manifest was read; nil if none was
	levels     *superversion.Levels // of the manifest's version
	replayed   []sealed             // what the log has beyond that, oldest first
	lastCommit uint64               // the newest commit in all of it
	nextNumber uint64               // no file has this number or a higher one
	obsolete   []string             // files to remove
}

// Open opens the database in dir, creating it if dir is missing or empty. What is in the log goes
// into sealed memtables, which are flushed in the background. A folder that is not a database, or
// a damaged one, is left as it is.
func Open(files vfs.FS, dir string, o Options) (*Engine, error) {
	if dir == "" {
		return nil, fmt.Errorf("no directory is named; \".\" is the current one: %w", fs.ErrInvalid)
	}
	o = o.withDefaults()
	if o.ReadOnly {
		return openReadOnly(files, dir, o)
	}
	d, lock, err := takeFolder(files, dir, o.LockTimeout)
	if err != nil {
		return nil, err
	}
	s, err := d.read(o)
	if err == nil {
		err = lock.Announce()
	}
	if err == nil && o.Shipper != nil {
		err = s.claim(o.Shipper)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close(), d.folder.Close())
	}
	s.lock = lock
	e := newEngine(o, s)
	for _, name := range s.obsolete {
		e.removeFileInstalling(name)
	}
	e.startJobs()
	return e, nil
}

// read returns what a locked folder says, or a new database if it has none.
func (d directory) read(o Options) (recovered, error) {
	found, err := d.survey()
	if err != nil {
		return recovered{}, err
	}
	state, err := d.loadManifest(found)
	switch {
	case err != nil:
		return recovered{}, d.tellCopy(err, found)
	case state == nil:
		return d.create(found, o)
	}
	return d.recover(state, found, o)
}

// create returns an empty database for a folder that holds at most what establishAsWriter had
// written before a crash. Its log number keeps such a log segment from being replayed, should it
// stay or come back. The database is only in memory until then.
func (d directory) create(found folder.Listing, o Options) (recovered, error) {
	id, err := NewIdentity()
	if err != nil {
		return recovered{}, err
	}
	branch, err := NewBranch()
	if err != nil {
		return recovered{}, err
	}
	s := recovered{store: newStore(d, id, o), branch: branch, standing: blank}
	s.nextNumber = found.Highest + 1
	s.levels = s.levelsOf(&manifest.Version{Branch: branch, LogNumber: s.nextNumber})
	s.obsolete = unnamed(found, nil)
	return s, nil
}

// recover returns what the manifest and the log of a folder say. If anything was recovered or is to
// be removed, it makes the manifest durable.
func (d directory) recover(
	state *manifest.State, found folder.Listing, o Options,
) (recovered, error) {
	if err := d.wantFiles(state.Version, found); err != nil {
		return recovered{}, err
	}
	if err := d.wantEnd(state, found); err != nil {
		return recovered{}, err
	}
	s, err := d.replay(state, found, o)
	if err != nil {
		return recovered{}, err
	}
	if s.branch, err = branchOver(state.Version); err != nil {
		return recovered{}, err
	}
	if err := d.syncLogs(s.replayed); err != nil {
		return recovered{}, err
	}
	s.standing, s.marked = unconfirmed, found.Unfinished
	s.obsolete = unnamed(found, s.numbers())
	if s.edits > 0 || len(s.replayed) > 0 || len(s.obsolete) > 0 {
		if err := d.syncManifest(s.journalAt); err != nil {
			return recovered{}, err
		}
		if s.standing = durable; s.marked {
			s.marked, s.obsolete = false, append(s.obsolete, folder.UnfinishedName)
		}
	}
	return s, nil
}

// numbers returns the numbers of all files that the database needs.
func (s *recovered) numbers() map[uint64]bool {
	needed := s.levels.Version.TableNumbers()
	for _, f := range s.levels.Version.ValueFiles {
		needed[f.Number] = true
	}
	for _, full := range s.replayed {
		needed[full.log] = true
	}
	needed[s.journalAt] = true
	return needed
}

// unnamed returns the names of the files whose numbers are not needed.
func unnamed(found folder.Listing, needed map[uint64]bool) (names []string) {
	for kind, number := range found.All() {
		if !needed[number] {
			names = append(names, kind.Name(number))
		}
	}
	return names
}
