package engine

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/valuelog"
	"github.com/stoatdb/stoat/internal/wal"
)

// discard removes the files of an edit that was not installed, but not the tables that it was to
// move. The caller holds e.installing.
func (e *Engine) discard(edit *manifest.Edit) {
	kept := e.state.Load().Levels.Version.TableNumbers()
	for _, r := range append(slices.Clip(edit.AddYoung), manifest.Run{Tables: edit.AddBottom}) {
		for _, t := range r.Tables {
			if !kept[t.Number] {
				e.removeFile(run.Name(t.Number))
			}
		}
	}
	for _, f := range edit.AddValues {
		if !f.Log { // a log segment may be needed for recovery
			e.removeFile(valuelog.Name(f.Number))
		}
	}
}

// removeObsolete unlinks what the version that replaced old does not need. Readers of older
// superversions may still need the tables and value files: they are open by then, and stay
// readable. The caller holds e.installing.
func (e *Engine) removeObsolete(old *superversion.Levels, version *manifest.Version) {
	e.removeGarbage()
	e.removeUnneeded(old, version)
	for len(e.installing.logs) > 0 && e.installing.logs[0] < version.LogNumber {
		if _, ok := version.ValueFile(e.installing.logs[0]); !ok {
			e.removeFile(wal.Name(e.installing.logs[0]))
		}
		e.installing.logs = e.installing.logs[1:]
	}
}

// removeUnneeded unlinks the tables and value files of old that version does not name.
func (e *Engine) removeUnneeded(old *superversion.Levels, version *manifest.Version) {
	kept := version.TableNumbers()
	old.Each(func(h superversion.Handle) {
		if !kept[h.Meta.Number] {
			e.unlink(run.Name(h.Meta.Number), h.Table.Open)
		}
	})
	for _, f := range old.Version.ValueFiles {
		if _, ok := version.ValueFile(f.Number); !ok {
			e.unlink(valueName(f), old.Values(f.Number).Open)
		}
	}
}

// unlink removes a file that readers may still need, once it is open.
func (e *Engine) unlink(name string, open func() error) {
	if err := open(); err != nil {
		e.options.Logger.Warn("open obsolete file", "dir", e.dir, "file", name, "err", err)
	}
	e.removeFile(name)
}

// removeFile unlinks a file that nothing refers to. If that fails, or if a backup copies the file,
// the next install or Close tries again, or a timer does. The caller holds e.installing, or is
// alone.
func (e *Engine) removeFile(name string) {
	if e.disowned() {
		return // it may be another's
	}
	if e.installing.pinned[name] > 0 {
		e.installing.garbage = append(e.installing.garbage, name)
		return
	}
	err := e.folder.Remove(filepath.Join(e.dir, name))
	if errors.Is(err, fs.ErrClosed) {
		return // by Close; who opens the database next removes it
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.options.Logger.Warn("remove obsolete file", "dir", e.dir, "file", name, "err", err)
		e.installing.garbage = append(e.installing.garbage, name)
		e.undeleted.Store(true)
		e.rest.later()
	}
}

// removeGarbage tries again to remove what could not be removed. The caller holds e.installing, or
// is alone.
func (e *Engine) removeGarbage() {
	names := e.installing.garbage
	e.installing.garbage = nil
	for _, name := range names {
		e.removeFile(name)
	}
}

// removeAgain is removeGarbage if a removal has failed since the last time. It does nothing once
// the engine is closed: then the folder may be another's.
func (e *Engine) removeAgain() {
	e.installing.Lock()
	defer e.installing.Unlock()
	if e.undeleted.Swap(false) && !e.closed.Load() {
		e.removeGarbage()
	}
}
