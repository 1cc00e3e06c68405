package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/vfs"
)

// A read-only database takes no lock: a writer in another process may replace files at any moment.
// So all files are opened at once, and stay readable when the writer removes them. If one is gone
// before, or half written, opening starts over. Only what is damaged or missing although the writer
// has not moved on is really damaged. It then fails the reads that need it, and no others.

const (
	// openRetries bounds how often opening starts over, and sameRetries how often it does so though
	// the folder is as it was: then a file may have been written meanwhile.
	openRetries = 20
	sameRetries = 2
	openPause   = time.Millisecond // between two tries
)

// errReplaced reports that a writer has replaced what was about to be opened.
var errReplaced = errors.New("the files were replaced while they were opened")

// openReadOnly opens the database in dir without a lock.
func openReadOnly(files vfs.FS, dir string, o Options) (*Engine, error) {
	handle, err := files.OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	s, damage, err := directory{handle, dir}.readUnlocked(o)
	if err != nil {
		return nil, errors.Join(err, handle.Close())
	}
	if s.copied != nil {
		o.Logger.Warn("the copy of the manifest is used", "dir", dir, "err", s.copied)
	}
	if damage != nil {
		o.Logger.Warn("some of the database cannot be read", "dir", dir, "err", damage)
	}
	return newEngine(o, s), nil
}

// readUnlocked reads the database and opens its files, and starts over while a writer may have
// replaced some. It returns apart what is wrong with files that stay unreadable.
func (d directory) readUnlocked(o Options) (s recovered, damage, err error) {
	var before folder.Listing
	for tries, same := 0, 0; ; tries++ {
		s, damage, err = d.readOnce(o)
		replaced := errors.Is(err, fs.ErrNotExist) || errors.Is(err, corrupt.Err) ||
			errors.Is(err, errReplaced)
		if !replaced || tries == openRetries {
			return s, damage, err
		}
		now, surveyErr := d.survey()
		if surveyErr != nil {
			return s, damage, err // the folder itself is missing
		}
		if same++; !now.Equal(before) {
			same = 0
		}
		if same == sameRetries {
			return s, damage, err
		}
		before = now
		time.Sleep(openPause)
	}
}

// readOnce is readUnlocked without starting over.
func (d directory) readOnce(o Options) (s recovered, damage, err error) {
	r, err := d.readManifest()
	if err != nil {
		return s, nil, err
	}
	if s, err = d.replay(r.state, r.found, o); err != nil {
		return s, nil, err
	}
	if s.copied = r.copied; s.copied != nil && surplus(r.state.Version, r.found) {
		return s, nil, fmt.Errorf("the copy of the manifest may lack its end: %w", s.copied)
	}
	damage, err = d.openUsable(s.levels)
	if err == nil && damage != nil {
		err = d.confirmDamage(r, damage)
	}
	return s, damage, err
}

// confirmDamage returns an error unless damage in files of the manifest is real: a writer removes
// files only after it has recorded that they are not needed, and a manifest without its end names
// files that were removed.
func (d directory) confirmDamage(r manifestRead, damage error) error {
	now, err := d.readManifest()
	if err != nil {
		return err
	}
	if now.state.Number != r.state.Number || !now.state.Version.Equal(r.state.Version) {
		return fmt.Errorf("%w: %w", errReplaced, damage)
	}
	lost := d.wantFiles(r.state.Version, now.found)
	if lost != nil && (now.state.Torn || surplus(r.state.Version, now.found)) {
		return fmt.Errorf("the manifest may lack its end: %w", lost)
	}
	return nil
}

// manifestRead is what the manifest says at one moment, and what the folder holds.
type manifestRead struct {
	state  *manifest.State
	found  folder.Listing
	copied error // why the copy of the manifest was read; nil if it was not
}

// readManifest reads the manifest, or its copy if the manifest is damaged or lacks its end. There
// must be one.
func (d directory) readManifest() (manifestRead, error) {
	found, err := d.survey()
	if err != nil {
		return manifestRead{}, err
	}
	state, err := d.loadManifest(found)
	switch {
	case errors.Is(err, corrupt.Err):
		return d.readCopy(found, err)
	case err != nil:
		return manifestRead{}, err
	case state == nil:
		return manifestRead{}, fmt.Errorf("no database in %s: %w", d.dir, fs.ErrNotExist)
	}
	err = d.wantEnd(state, found)
	if errors.Is(err, corrupt.Err) {
		return d.readEnd(state, found, err)
	}
	return manifestRead{state: state, found: found}, err
}

func (d directory) readCopy(found folder.Listing, damage error) (manifestRead, error) {
	state, err := d.newestCopy(found)
	if len(found.Of(folder.Manifest)) == 0 {
		// A manifest is made before its copy, so this look comes after the copy was read.
		if now, err := d.survey(); err == nil && len(now.Of(folder.Manifest)) > 0 {
			return manifestRead{}, errReplaced
		}
	}
	if err != nil {
		return manifestRead{}, damage
	}
	return manifestRead{state, found, damage}, nil
}

// readEnd reads the copy of a manifest that lacks its end.
func (d directory) readEnd(
	state *manifest.State, found folder.Listing, damage error,
) (manifestRead, error) {
	// A writer writes to the manifest first, so the copy had more only if the manifest has no more.
	if now, err := d.loadManifest(found); err != nil || now == nil || now.End != state.End {
		return manifestRead{}, errors.Join(errReplaced, err)
	}
	copied, err := manifest.LoadCopy(d.folder, d.dir)
	if err != nil || copied.Number != state.Number {
		return manifestRead{}, damage
	}
	return manifestRead{copied, found, damage}, nil
}

// openUsable opens every file of the levels, as openAll does, and returns apart what is wrong with
// those that are damaged or missing. Of those that may be elsewhere, of which there may be
// thousands, it names one.
func (d directory) openUsable(levels *superversion.Levels) (damage, err error) {
	var errs, others []error
	elsewhere := 0
	d.eachOpened(levels, func(err error) {
		switch {
		case err == nil:
		case errors.Is(err, corrupt.ErrElsewhere):
			if elsewhere++; elsewhere == 1 {
				errs = append(errs, err)
			}
		case errors.Is(err, corrupt.Err) || errors.Is(err, vfs.ErrFault):
			errs = append(errs, err)
		default:
			others = append(others, err)
		}
	})
	if elsewhere > 1 {
		errs = append(errs, fmt.Errorf("in all, %d are missing: %w", elsewhere, corrupt.ErrElsewhere))
	}
	return errors.Join(errs...), errors.Join(others...)
}
