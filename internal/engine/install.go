package engine

import (
	"cmp"
	"errors"
	"slices"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/superversion"
)

// restManifestBytes is the size up to which a manifest is renewed in a pause: that of some hundred
// tables.
const restManifestBytes = 64 << 10

// install makes a job's edit durable, then visible, then removes the files that it made obsolete.
// Readers see what change does at the same moment as the edit. After an error other than
// ErrPoisoned nothing has changed, and the job's files are gone.
func (e *Engine) install(edit *manifest.Edit, change func(next *superversion.Superversion)) error {
	if err := e.installEdit(edit, change); err != nil {
		return err
	}
	e.startJobs()
	return nil
}

// installEdit is install without starting jobs afterwards, for callers that hold a lock that
// commits need.
func (e *Engine) installEdit(
	edit *manifest.Edit, change func(next *superversion.Superversion),
) error {
	e.installing.Lock()
	defer e.installing.Unlock()
	old := e.state.Load().Levels
	version, err := e.applyInstalling(edit, old.Version)
	if err == nil {
		err = e.recordInstalling(edit, version)
		if err != nil && !errors.Is(err, manifest.ErrUnchanged) {
			return e.poison(err)
		}
	}
	if err != nil {
		e.discardInstalling(edit)
		return err
	}
	e.publishVersionInstalling(version, change)
	e.removeObsoleteInstalling(old, version)
	return nil
}

// publishVersionInstalling makes version, which the manifest says, what readers see, together with
// what change does.
func (e *Engine) publishVersionInstalling(
	version *manifest.Version, change func(next *superversion.Superversion),
) {
	levels := superversion.NewLevels(version, e.state.Load().Levels, e.opener())
	e.mu.Lock()
	defer e.mu.Unlock()
	e.publishLocked(func(next *superversion.Superversion) {
		next.Levels = levels
		change(next)
	})
	e.balanceLocked()
	if e.options.Shipper != nil {
		e.options.Shipper.Installed()
	}
}

// applyInstalling completes edit and returns the version that it makes of old. The edit can then be
// recorded: the names of its tables are durable.
func (e *Engine) applyInstalling(
	edit *manifest.Edit, old *manifest.Version,
) (*manifest.Version, error) {
	if err := e.whyPoisoned(); err != nil {
		return nil, err
	}
	edit.AddDictionaries = newDictionaries(edit.AddDictionaries, old)
	edit.NextNumber = e.numbers.Load()
	version, err := old.Apply(edit)
	if err != nil {
		return nil, err
	}
	if err := e.ownedInstalling(); err != nil {
		return nil, e.poison(err)
	}
	// The tables' names must be durable before the manifest refers to them.
	return version, e.folder.SyncDir(e.dir)
}

// newDictionaries returns the dictionaries that v does not have, once each.
func newDictionaries(all []manifest.Dictionary, v *manifest.Version) (added []manifest.Dictionary) {
	for i, d := range all {
		_, known := v.Dictionary(d.Number)
		again := slices.ContainsFunc(all[:i], func(other manifest.Dictionary) bool {
			return other.Number == d.Number
		})
		if !known && !again {
			added = append(added, d)
		}
	}
	return added
}

// recordInstalling appends edit to the manifest, or starts a new manifest with its outcome: for the
// first edit after opening, because the end of the old manifest may be torn; when the edits in it
// have become larger than the version that it starts with; and when closing.
func (e *Engine) recordInstalling(edit *manifest.Edit, outcome *manifest.Version) error {
	if e.installing.journal == nil || e.closed.Load() {
		return e.startManifestInstalling(outcome)
	}
	start := e.installing.journal.StartSize()
	if e.installing.journal.Size()-start >= max(start, e.options.Tuning.JournalBytes) {
		return e.startManifestInstalling(outcome)
	}
	e.installing.edits++
	err := e.installing.journal.Append(edit)
	e.noteCopyInstalling()
	return cmp.Or(err, e.ownedInstalling())
}

// noteCopyInstalling logs it if the manifest no longer has a copy.
func (e *Engine) noteCopyInstalling() {
	if err := e.installing.journal.CopyFailure(); err != nil {
		e.options.Logger.Warn("the manifest has no copy for now", "dir", e.dir, "err", err)
	}
}

// renewManifest replaces the manifest by one without edits. If that is cut short later, opening
// notices; a missing edit at the end could also be the work of a crash. A database that nobody has
// written to gets its first manifest.
func (e *Engine) renewManifest() error {
	e.installing.Lock()
	defer e.installing.Unlock()
	return e.renewManifestInstalling()
}

func (e *Engine) renewManifestInstalling() error {
	if e.installing.edits == 0 && e.installing.journalAt != 0 {
		return nil
	}
	version := *e.state.Load().Levels.Version
	if err := e.startManifestInstalling(&version); err != nil {
		return err
	}
	e.publishVersionInstalling(&version, func(*superversion.Superversion) {})
	return nil
}

// renewManifestAtRest renews the manifest in a pause of the commits, after the last job, so that
// Close need not. It leaves a large manifest to Close.
func (e *Engine) renewManifestAtRest() {
	e.mu.Lock()
	busy := e.mu.flushing || e.mu.compacting
	e.mu.Unlock()
	if busy || !e.rest.isPause() || e.options.Volatile {
		return
	}
	e.installing.Lock()
	defer e.installing.Unlock()
	journal := e.installing.journal
	// What a failed edit has left of the manifest stays for the next opening to read.
	if journal == nil || journal.StartSize() > restManifestBytes || e.writable() != nil {
		return
	}
	switch err := e.renewManifestInstalling(); {
	case err == nil:
	case errors.Is(err, manifest.ErrUnchanged):
		e.options.Logger.Warn("the manifest keeps its edits", "dir", e.dir, "err", err)
	default:
		_ = e.poison(err) // the next commit reports it
	}
}

// startManifestInstalling replaces the manifest by a new one that says outcome.
func (e *Engine) startManifestInstalling(outcome *manifest.Version) error {
	if err := e.ownedInstalling(); err != nil {
		return err
	}
	number := e.nextNumber()
	outcome.NextNumber, outcome.Branch, outcome.Backup = number+1, e.Branch(), false
	next, err := manifest.Create(e.folder, e.dir, number, e.database, outcome)
	if err != nil {
		return err
	}
	old := e.installing.journal
	previous := e.installing.journalAt
	e.installing.journal, e.installing.journalAt, e.installing.edits = next, number, 0
	if old != nil {
		if err := old.Close(); err != nil {
			e.options.Logger.Warn("close obsolete manifest", "dir", e.dir, "err", err)
		}
	}
	e.noteCopyInstalling()
	if err := e.ownedInstalling(); err != nil {
		return err
	}
	if previous != 0 {
		e.removeFileInstalling(folder.Manifest.Name(previous))
		e.removeFileInstalling(folder.ManifestCopy.Name(previous))
	}
	return nil
}
