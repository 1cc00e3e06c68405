package engine

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/superversion"
)

// Evict removes tables and value files from the folder, which opens them all the same
// ([vfs.Sparse]): the caller knows that they stay elsewhere for as long as the newest version names
// them. Files that it does not name are left alone. Evict returns the numbers of those that the
// folder lacks now, even after an error.
//
// Transactions that have one of them open go on with it, so it takes its space until they end. All
// others open what is elsewhere. Nothing waits while files are removed, which may take a second if
// they are large.
func (e *Engine) Evict(numbers []uint64) (evicted []uint64, err error) {
	e.evicting.Lock()
	defer e.evicting.Unlock()
	names, err := e.beginEviction(numbers)
	if err != nil {
		return nil, err
	}
	defer e.jobs.Done()
	for _, number := range numbers {
		name, isNamed := names[number]
		if !isNamed {
			continue
		}
		err = e.folder.Remove(filepath.Join(e.dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			break
		}
		err, evicted = nil, append(evicted, number)
		delete(names, number)
	}
	e.endEviction(names, evicted)
	if err != nil {
		err = fmt.Errorf("remove a file that is elsewhere, too: %w", err)
	}
	return evicted, err
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
	defer e.mu.Unlock()
	if e.closed.Load() {
		return nil, ErrClosed
	}
	e.jobs.Add(1)
	all := fileNames(e.state.Load().Levels.Version)
	names, e.installing.evicted = make(map[uint64]string), make(map[string]bool)
	for _, number := range numbers {
		if name, isNamed := all[number]; isNamed {
			names[number], e.installing.evicted[name] = name, true
		}
	}
	return names, nil
}

// endEviction has readers open what was evicted elsewhere, and removes what is left and not named
// any more.
func (e *Engine) endEviction(left map[uint64]string, evicted []uint64) {
	e.installing.Lock()
	defer e.installing.Unlock()
	e.installing.evicted = nil
	if len(evicted) > 0 {
		e.reopenInstalling(evicted)
	}
	if len(left) == 0 {
		return
	}
	named := fileNames(e.state.Load().Levels.Version)
	for number, name := range left {
		if _, isNamed := named[number]; !isNamed {
			e.removeFileInstalling(name)
		}
	}
}

// fileNames returns the names of the tables and value files of a version, by their numbers.
func fileNames(v *manifest.Version) map[uint64]string {
	names := make(map[uint64]string)
	for t := range v.Tables() {
		names[t.Number] = folder.Table.Name(t.Number)
	}
	for _, f := range v.ValueFiles {
		names[f.Number] = f.Name()
	}
	return names
}

// reopenInstalling has all who begin to read from now on open files anew.
func (e *Engine) reopenInstalling(numbers []uint64) {
	stale := make(map[uint64]bool, len(numbers))
	for _, number := range numbers {
		stale[number] = true
	}
	old := e.state.Load().Levels
	levels := superversion.NewLevels(old.Version, old.Without(stale), e.opener())
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
