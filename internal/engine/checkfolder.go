package engine

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/tools/check"
	"github.com/stoatdb/stoat/internal/vfs"
)

// checkNamed verifies that the files that version names are there, with their sizes. The caller
// holds evicting and installing, so no file is removed meanwhile. Files of a read-only database may
// be gone, because those that are open stay readable.
func (e *Engine) checkNamed(version *manifest.Version, dir folder.Listing, found *check.Findings) {
	for t := range version.Tables() {
		_, there := slices.BinarySearch(dir.Of(folder.Table), t.Number)
		e.checkSize(e.tablePath(t), t.Size, there, false, found)
	}
	for _, f := range version.ValueFiles {
		among := dir.Of(folder.Values)
		if f.Log {
			among = dir.Of(folder.Log)
		}
		_, there := slices.BinarySearch(among, f.Number)
		e.checkSize(e.valuePath(f), f.Size, there, f.Log, found)
	}
}

// checkSize verifies that a file is there and has size bytes, or at least as many if it may have
// more.
func (e *Engine) checkSize(path string, size uint64, there, more bool, found *check.Findings) {
	if !there && (e.options.ReadOnly || vfs.Elsewhere(e.folder, path)) {
		return // opening it tells whether it is readable
	}
	if !there {
		found.Lose(path, corrupt.Missing(path, e.claimed))
		return
	}
	got, err := e.fileSize(filepath.Base(path))
	switch {
	case errors.Is(err, fs.ErrNotExist) && e.options.ReadOnly:
	case err != nil:
		found.Lose(path, err)
	case got < 0 || uint64(got) < size || !more && uint64(got) > size:
		found.Lose(path, corrupt.New(path, 0, "file has %d bytes, want %d", got, size))
	}
}

// checkStrayInstalling verifies, as far as it can, that something refers to every file in the
// folder. A file gets its number before it is made, so files with numbers from handedOut on may
// have been in the making when dir was listed.
func (e *Engine) checkStrayInstalling(
	p picture, dir folder.Listing, handedOut uint64, found *check.Findings,
) {
	version := p.snapshot.Levels.Version
	known := version.TableNumbers()
	for _, f := range version.ValueFiles {
		known[f.Number] = true
	}
	for _, log := range p.logs {
		known[log.Number] = true
	}
	for _, number := range e.installing.logs {
		known[number] = true
	}
	known[e.installing.journalAt], known[p.active] = true, true
	now := e.numbers.Load()
	for kind, number := range dir.All() {
		making := number >= handedOut && number < now
		name := kind.Name(number)
		if known[number] || making || e.isGarbageInstalling(name) {
			continue
		}
		path := filepath.Join(e.dir, name)
		found.Add(path, corrupt.New(path, 0, "the manifest does not name the file; remove it"))
	}
}
