package engine

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/vfs"
)

// discardInstalling removes the files of an edit that was not installed, except tables that it was
// to move.
func (e *Engine) discardInstalling(edit *manifest.Edit) {
	kept := e.state.Load().Levels.Version.TableNumbers()
	for _, r := range append(slices.Clip(edit.AddYoung), manifest.Run{Tables: edit.AddBottom}) {
		for _, t := range r.Tables {
			if !kept[t.Number] {
				e.removeFileInstalling(folder.Table.Name(t.Number))
			}
		}
	}
	for _, f := range edit.AddValues {
		if !f.Log { // a log segment may be needed for recovery
			e.removeFileInstalling(folder.Values.Name(f.Number))
		}
	}
}

// removeObsoleteInstalling removes the files that version, which replaced old, does not need.
// Readers of older superversions may still need the tables and value files. These are open by then,
// and stay readable.
func (e *Engine) removeObsoleteInstalling(old *superversion.Levels, version *manifest.Version) {
	e.removeGarbageInstalling()
	e.removeUnneededInstalling(old, version)
	for len(e.installing.logs) > 0 && e.installing.logs[0] < version.LogNumber {
		if _, ok := version.ValueFile(e.installing.logs[0]); !ok {
			e.removeFileInstalling(folder.Log.Name(e.installing.logs[0]))
		}
		e.installing.logs = e.installing.logs[1:]
	}
}

// removeUnneededInstalling removes the tables and value files of old that version does not name.
func (e *Engine) removeUnneededInstalling(old *superversion.Levels, version *manifest.Version) {
	kept := version.TableNumbers()
	old.Each(func(h superversion.Handle) {
		if !kept[h.Meta.Number] {
			e.unlinkInstalling(folder.Table.Name(h.Meta.Number), h.Table.Open)
			h.Table.Forget()
		}
	})
	for _, f := range old.Version.ValueFiles {
		if _, ok := version.ValueFile(f.Number); !ok {
			e.unlinkInstalling(f.Name(), old.Values(f.Number).Open)
			old.Values(f.Number).Forget()
		}
	}
}

// unlinkInstalling opens a file that readers may still need, then removes it. One that is only
// elsewhere stays there for them, and one that cannot be opened now stays until it can; a damaged
// one is of no use to them.
func (e *Engine) unlinkInstalling(name string, open func() error) {
	if e.installing.evicted[name] || vfs.Elsewhere(e.folder, filepath.Join(e.dir, name)) {
		return
	}
	if err := open(); err != nil {
		e.options.Logger.Warn("open obsolete file", "dir", e.dir, "file", name, "err", err)
		if !errors.Is(err, corrupt.Err) {
			e.keepGarbageInstalling(garbage{name, open})
			return
		}
	}
	e.removeFileInstalling(name)
}

// removeFileInstalling removes a file that nothing refers to. If that fails, or a backup copies the
// file, the next install, Close or a timer tries again.
func (e *Engine) removeFileInstalling(name string) {
	if e.disowned() {
		return // it may be another's
	}
	if e.installing.pinned[name] > 0 {
		e.installing.garbage = append(e.installing.garbage, garbage{name: name})
		return
	}
	err := e.folder.Remove(filepath.Join(e.dir, name))
	if errors.Is(err, fs.ErrClosed) {
		return // by Close; the next Open removes the file
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.options.Logger.Warn("remove obsolete file", "dir", e.dir, "file", name, "err", err)
		e.keepGarbageInstalling(garbage{name: name})
	}
}

// garbage is a file that the manifest does not name and that could not be removed yet.
type garbage struct {
	name string
	open func() error // for readers, before it is removed; nil if none can need the file
}

// keepGarbageInstalling has the next install, Close or a timer try again. After Close, the next
// Open removes the file.
func (e *Engine) keepGarbageInstalling(g garbage) {
	e.installing.garbage = append(e.installing.garbage, g)
	e.undeleted.Store(true)
	e.rest.later()
}

// isGarbageInstalling reports whether the file waits to be removed.
func (e *Engine) isGarbageInstalling(name string) bool {
	named := func(g garbage) bool { return g.name == name }
	return slices.ContainsFunc(e.installing.garbage, named)
}

func (e *Engine) removeGarbageInstalling() {
	all := e.installing.garbage
	e.installing.garbage = nil
	for _, g := range all {
		if g.open != nil {
			e.unlinkInstalling(g.name, g.open)
		} else {
			e.removeFileInstalling(g.name)
		}
	}
}

// removeAgain is removeGarbageInstalling if a removal has failed since the last time. It does
// nothing once the engine is closed, because then the folder may belong to another process.
func (e *Engine) removeAgain() {
	e.installing.Lock()
	defer e.installing.Unlock()
	if e.undeleted.Swap(false) && !e.closed.Load() {
		e.removeGarbageInstalling()
	}
}
