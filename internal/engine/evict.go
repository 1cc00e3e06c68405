package engine

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/superversion"
)

// Evict removes tables and value files from the folder, which opens them all the same
// ([vfs.Sparse]): the caller knows that they stay elsewhere for as long as the newest version names
// them. Files that it does not name are left alone. Evict returns the numbers of those that the
// folder lacks now, even after an error, and why others could not be removed.
//
// Transactions that have one of them open go on with it, so it takes its space until they end. All
// others open what is elsewhere. Nothing waits while files are removed, which may take a second if
// they are large.
func (e *Engine) Evict(numbers []uint64) (evicted []uint64, kept map[uint64]error, err error) {
	e.evicting.Lock()
	defer e.evicting.Unlock()
	names, err := e.beginEviction(numbers)
	if err != nil {
		return nil, nil, err
	}
	defer e.jobs.Done()
	kept = make(map[uint64]error)
	for _, number := range numbers {
		name, isNamed := names[number]
		if !isNamed {
			continue
		}
		err := e.folder.Remove(filepath.Join(e.dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			kept[number] = fmt.Errorf("remove a file that is elsewhere, too: %w", err)
			continue
		}
		evicted = append(evicted, number)
		delete(names, number)
	}
	e.endEviction(names, evicted)
	return evicted, kept, nil
}

// beginEviction returns the names of the files to remove. Until endEviction, nobody else removes
// them, and until e.jobs.Done, Close waits: after it, the folder may be another's.
func (e *Engine) beginEviction(numbers []uint64) (names map[uint64]string, err error) {
	e.installing.Lock()
	defer e.installing.Unlock()
	if err := cmp.Or(e.whyPoisoned(), e.ownedInstalling()); err != nil {
		return nil, err
	}
	e.mu.Lock()
	closed := e.closed.Load()
	if !closed {
		e.jobs.Add(1)
	}
	e.mu.Unlock()
	if closed {
		return nil, ErrClosed
	}
	names = namesOf(e.state.Load().Levels.Version, numbers)
	e.installing.evicted = make(map[string]bool, len(names))
	for _, name := range names {
		e.installing.evicted[name] = true
	}
	return names, nil
}

// endEviction has readers open what was evicted elsewhere, and removes what is left and not named
// any more.
func (e *Engine) endEviction(left map[uint64]string, evicted []uint64) {
	stale := make(map[uint64]bool, len(evicted))
	for _, number := range evicted {
		stale[number] = true
	}
	// All files are looked at, so not while others wait, unless an edit comes between.
	old := e.state.Load().Levels
	levels := e.anew(old, stale)
	e.installing.Lock()
	defer e.installing.Unlock()
	e.installing.evicted = nil
	if now := e.state.Load().Levels; now != old {
		old, levels = now, e.anew(now, stale)
	}
	if len(stale) > 0 {
		e.reopenInstalling(old, levels, stale)
	}
	if len(left) == 0 {
		return
	}
	named := namesOf(old.Version, slices.Collect(maps.Keys(left)))
	for number, name := range left {
		if _, isNamed := named[number]; !isNamed {
			e.removeFileInstalling(name)
		}
	}
}

// namesOf returns the names of those of some tables and value files that a version names, by their
// numbers.
func namesOf(v *manifest.Version, numbers []uint64) map[uint64]string {
	wanted := make(map[uint64]bool, len(numbers))
	for _, number := range numbers {
		wanted[number] = true
	}
	names := make(map[uint64]string, len(numbers))
	for t := range v.Tables() {
		if wanted[t.Number] {
			names[t.Number] = folder.Table.Name(t.Number)
		}
	}
	for _, f := range v.ValueFiles {
		if wanted[f.Number] {
			names[f.Number] = f.Name()
		}
	}
	return names
}

// anew returns levels with new readers of some files.
func (e *Engine) anew(l *superversion.Levels, files map[uint64]bool) *superversion.Levels {
	if len(files) == 0 {
		return l
	}
	return superversion.NewLevels(l.Version, l.Without(files), e.opener())
}

// reopenInstalling has all who begin to read from now on open files anew: by other levels.
func (e *Engine) reopenInstalling(old, levels *superversion.Levels, stale map[uint64]bool) {
	e.mu.Lock()
	e.publishLocked(func(next *superversion.Superversion) { next.Levels = levels })
	e.mu.Unlock()
	old.Each(func(h superversion.Handle) {
		if stale[h.Meta.Number] {
			h.Table.Forget()
		}
	})
	for number := range stale {
		if f := old.Values(number); f != nil {
			f.Forget()
		}
	}
}
