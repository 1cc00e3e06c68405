package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/vfs"
)

const (
	// openRetries bounds how often a read-only open starts over because a writer in another process
	// has replaced files under it, and sameRetries how often it does so though the folder is as it
	// was: then a file may have been written meanwhile.
	openRetries = 20
	sameRetries = 2
	openPause   = time.Millisecond // between two tries
)

// errReplaced reports that a writer has replaced what was about to be opened.
var errReplaced = errors.New("the files were replaced while they were opened")

// openReadOnly takes a picture of the files without a lock. All files are opened at once, so that a
// writer who removes them later does no harm. Tables and value files that are damaged or missing
// fail the reads that need them, and no others.
func (e *Engine) openReadOnly(files vfs.FS) (err error) {
	if e.folder, err = files.OpenFolder(e.dir); err != nil {
		return err
	}
	return e.openPicture()
}

// openPicture is openReadOnly in the open folder.
func (e *Engine) openPicture() error {
	var before files
	for tries, same := 0, 0; ; tries++ {
		err := e.loadReadOnly()
		retry := errors.Is(err, fs.ErrNotExist) || errors.Is(err, corrupt.Err) ||
			errors.Is(err, errReplaced)
		if !retry || tries == openRetries {
			return err
		}
		now, surveyErr := survey(e.folder, e.dir)
		if surveyErr != nil {
			return err // the folder itself is missing
		}
		if same++; !now.equal(before) {
			same = 0
		}
		if same == sameRetries {
			return err
		}
		before = now
		time.Sleep(openPause)
	}
}

func (e *Engine) loadReadOnly() error {
	state, found, err := e.readManifest()
	if err != nil {
		return err
	}
	e.installing.journalAt, e.branch = state.Number, state.Version.Branch
	version, full, err := e.replay(state, found.logs)
	if err != nil {
		return err
	}
	if e.installing.copied != nil && surplus(version, found) {
		return fmt.Errorf("the copy of the manifest may lack its end: %w", e.installing.copied)
	}
	e.publishRecovered(version, full)
	damage, err := openUsable(e.state.Load().Levels)
	if err != nil || damage == nil {
		return err
	}
	// A writer removes files only after it has recorded that they are not needed.
	now, found, err := e.readManifest()
	if err != nil {
		return err
	}
	if now.Number != state.Number || !now.Version.Equal(state.Version) {
		return fmt.Errorf("%w: %w", errReplaced, damage)
	}
	if lost := e.wantFiles(version, found); lost != nil && (now.Torn || surplus(version, found)) {
		return fmt.Errorf("the manifest may lack its end: %w", lost)
	}
	e.options.Logger.Warn("some of the database cannot be read", "dir", e.dir, "err", damage)
	return nil
}

// readManifest reads the manifest, or if that is damaged, its copy. There must be one.
func (e *Engine) readManifest() (*manifest.State, files, error) {
	found, err := survey(e.folder, e.dir)
	if err != nil {
		return nil, found, err
	}
	state, err := e.loadManifest(found)
	e.installing.copied = nil
	if errors.Is(err, corrupt.Err) {
		damage, n := err, len(found.manifests)
		state, err = manifest.LoadCopy(e.folder, e.dir)
		if n == 0 { // a manifest is made before its copy, so this look must come after that
			if now, err := survey(e.folder, e.dir); err == nil && len(now.manifests) > 0 {
				return nil, found, errReplaced
			}
		}
		if err != nil || n > 0 && state.Number < found.manifests[n-1] { // which would be an older state
			return nil, found, damage
		}
		e.installing.copied = damage
		e.options.Logger.Warn("the copy of the manifest is used", "dir", e.dir, "err", damage)
	}
	if err == nil && state == nil {
		err = fmt.Errorf("no database in %s: %w", e.dir, fs.ErrNotExist)
	}
	if err == nil && e.installing.copied == nil {
		state, err = e.withEnd(state, found)
	}
	return state, found, err
}

// withEnd returns state or, if the manifest lacks its end, what the copy says.
func (e *Engine) withEnd(state *manifest.State, found files) (*manifest.State, error) {
	damage := e.wantEnd(state, found)
	if !errors.Is(damage, corrupt.Err) {
		return state, damage
	}
	// Who writes writes to the manifest first.
	if now, err := e.loadManifest(found); err != nil || now == nil || now.End != state.End {
		return nil, errors.Join(errReplaced, err)
	}
	copied, err := manifest.LoadCopy(e.folder, e.dir)
	if err != nil || copied.Number != state.Number {
		return nil, damage
	}
	e.installing.copied = damage
	e.options.Logger.Warn("the copy of the manifest is used", "dir", e.dir, "err", damage)
	return copied, nil
}

// surplus reports whether there are tables or value files that version does not name. It may be the
// one before them then, if others are missing that it does name: a crash leaves either, not both.
func surplus(version *manifest.Version, found files) bool {
	tables := version.TableNumbers()
	return slices.ContainsFunc(found.tables, func(number uint64) bool { return !tables[number] }) ||
		slices.ContainsFunc(found.values, func(number uint64) bool {
			_, named := version.ValueFile(number)
			return !named
		})
}

// openUsable opens every file of the levels, as openAll does, and returns apart what is wrong with
// those that are damaged or missing.
func openUsable(levels *superversion.Levels) (damage, err error) {
	var errs, others []error
	eachOpened(levels, func(err error) {
		switch {
		case err == nil:
		case errors.Is(err, corrupt.Err) || errors.Is(err, vfs.ErrFault):
			errs = append(errs, err)
		default:
			others = append(others, err)
		}
	})
	return errors.Join(errs...), errors.Join(others...)
}
