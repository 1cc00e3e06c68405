package engine

import (
	"path/filepath"
	"slices"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/table"
	"github.com/stoatdb/stoat/internal/valuelog"
	"github.com/stoatdb/stoat/internal/wal"
)

// maxWhole is the size up to which a table of the catalog is read as a whole, as every program that
// opens the database looks its buckets up. So large a one has about two thousand.
const maxWhole = 64 << 10

// opener returns what makes the readers of the database's files.
func (e *Engine) opener() superversion.Opener {
	return superversion.Opener{Table: e.openTable, Values: e.openValues, Now: e.now}
}

// openTable returns the reader of a table of the manifest.
func (e *Engine) openTable(t *manifest.Table, dictionaries []*block.Dictionary) *table.Table {
	return table.New(table.Config{
		FS:       e.folder,
		Path:     e.tablePath(t),
		Number:   t.Number,
		Database: e.database,
		Size:     int64(t.Size),
		Cache:    e.memory.cache,
		Whole:    wantsWhole(t),

		Dictionaries: dictionaries,
	})
}

// wantsWhole reports whether all of a table is read when it is opened.
func wantsWhole(t *manifest.Table) bool {
	return t.Size <= maxWhole && !keyspace.IsData(t.Smallest)
}

// openValues returns the reader of a value file of the manifest.
func (e *Engine) openValues(f manifest.ValueFile) *valuelog.File {
	return valuelog.New(valuelog.Config{
		FS:       e.folder,
		Path:     e.valuePath(f),
		Number:   f.Number,
		Database: e.database,
		Size:     int64(f.Size),
		Log:      f.Log,
	})
}

func (e *Engine) tablePath(t *manifest.Table) string {
	return filepath.Join(e.dir, run.Name(t.Number))
}

func (e *Engine) valuePath(f manifest.ValueFile) string {
	return filepath.Join(e.dir, valueName(f))
}

// valueName returns the name of a value file, which may be a log segment.
func valueName(f manifest.ValueFile) string {
	if f.Log {
		return wal.Name(f.Number)
	}
	return valuelog.Name(f.Number)
}

// now returns the time by which entries expire, in milliseconds since 1970.
func (e *Engine) now() uint64 { return uint64(e.options.Tuning.Now().UnixMilli()) }

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
