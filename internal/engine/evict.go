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
// others open what is elsewhere.
func (e *Engine) Evict(numbers []uint64) (evicted []uint64, err error) {
	e.installing.Lock()
	defer e.installing.Unlock()
	if e.closed.Load() {
		return nil, ErrClosed // the folder may be another's
	}
	if err := cmp.Or(e.whyPoisoned(), e.ownedInstalling()); err != nil {
		return nil, err
	}
	names := fileNames(e.state.Load().Levels.Version)
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
	}
	if len(evicted) > 0 {
		e.reopenInstalling(evicted)
	}
	if err != nil {
		err = fmt.Errorf("remove a file that is elsewhere, too: %w", err)
	}
	return evicted, err
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
