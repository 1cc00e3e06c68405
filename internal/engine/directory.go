package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/wal"
)

// directory is the folder of a database. Immutable.
type directory struct {
	folder vfs.Folder
	dir    string // the path that folder was opened by
}

func (d directory) survey() (folder.Listing, error) { return survey(d.folder, d.dir) }

// loadManifest reads the manifest of a folder. It returns nil if the folder has none and is empty,
// or holds only the first files of a new database, which a crash cut off.
func (d directory) loadManifest(found folder.Listing) (*manifest.State, error) {
	state, err := manifest.LoadAmong(d.folder, d.dir, found.Of(folder.Manifest))
	if !errors.Is(err, fs.ErrNotExist) {
		return state, err
	}
	data, err := d.hasData(found)
	switch {
	case err != nil:
		return nil, err
	case found.Unfinished:
		return nil, fmt.Errorf("the directory holds a backup or a restore that has not come to its end: "+
			"run that again, or choose an empty directory: %w", corrupt.ErrFormat)
	case found.Other != "" && data:
		return nil, fmt.Errorf("the directory holds %q: %w; if it was a database, %w", found.Other,
			corrupt.ErrFormat, corrupt.New(d.dir, 0, "it has no manifest: run stoat salvage"))
	case strings.HasSuffix(found.Other, folder.CacheSuffix):
		return nil, fmt.Errorf("the directory is the cache of what was read of a database in object "+
			"storage, and no database; read the store with \"stoat remote get\" or \"stoat remote scan\", "+
			"or choose an empty directory: %w", corrupt.ErrFormat)
	case found.Other != "":
		return nil, fmt.Errorf("the directory holds %q and no Stoat database; "+
			"choose an empty directory: %w", found.Other, corrupt.ErrFormat)
	case data && len(found.Of(folder.Manifest)) > 0:
		last := d.manifestPath(found.Newest(folder.Manifest))
		return nil, corrupt.New(last, 0, "the manifest is cut off, and the directory "+
			"has data; restore the file, or run: stoat salvage")
	case data:
		return nil, corrupt.New(d.dir, 0, "the directory has data and no manifest; "+
			"restore the file MANIFEST-*, or run: stoat salvage")
	}
	return nil, nil
}

// hasData reports whether a folder without a manifest holds more than establishAsWriter writes
// before the manifest is durable.
func (d directory) hasData(found folder.Listing) (bool, error) {
	if len(found.Of(folder.Table))+len(found.Of(folder.Values)) > 0 {
		return true, nil
	}
	for _, number := range found.Of(folder.Log) {
		if blank, err := wal.Blank(d.folder, d.dir, number); err != nil || !blank {
			return true, err
		}
	}
	return false, nil
}

// tellCopy adds to the error of a damaged or missing manifest that there is a readable copy.
// Nothing is built on the copy, because its end may be missing: edits are not synced there, and an
// edit that only deletes leaves no other trace.
func (d directory) tellCopy(err error, found folder.Listing) error {
	if !errors.Is(err, corrupt.Err) {
		return err
	}
	copied, copyErr := d.newestCopy(found)
	if copyErr != nil {
		return err
	}
	return fmt.Errorf("%w; its copy %s is there, but may lack the newest changes: to look at what it "+
		"has, open the database read-only, and to write to it again, salvage it or restore a backup",
		err, folder.ManifestCopy.Name(copied.Number))
}

// errOlderCopy reports that the copy of a manifest is of an older one than there is.
var errOlderCopy = errors.New("the copy is of an older manifest")

// newestCopy reads the copy of the manifest. If manifests were found, it must be of the newest.
func (d directory) newestCopy(found folder.Listing) (*manifest.State, error) {
	copied, err := manifest.LoadCopy(d.folder, d.dir)
	if err == nil && copied.Number < found.Newest(folder.Manifest) {
		return nil, errOlderCopy
	}
	return copied, err
}

// wantEnd returns an error if the manifest lacks its end. Files that it does not name are a sign of
// that, or of a crash; the copy, which is written later, tells which.
func (d directory) wantEnd(state *manifest.State, found folder.Listing) error {
	if !state.Torn && !surplus(state.Version, found) {
		return nil
	}
	more, err := manifest.CopyGoesOn(d.folder, d.dir, state)
	if err != nil || !more {
		return err
	}
	return corrupt.New(d.manifestPath(state.Number), state.End,
		"its copy goes on behind its end; run: stoat salvage")
}

// surplus reports whether there are tables or value files that version does not name. If others are
// missing that it does name, version may be an older one: a crash leaves either, not both.
func surplus(version *manifest.Version, found folder.Listing) bool {
	tables := version.TableNumbers()
	for kind, number := range found.All() {
		if kind == folder.Table && !tables[number] {
			return true
		}
		if _, named := version.ValueFile(number); kind == folder.Values && !named {
			return true
		}
	}
	return false
}

// wantFiles returns an error if a table or a value file of the manifest is missing, and not kept
// elsewhere.
func (d directory) wantFiles(version *manifest.Version, found folder.Listing) error {
	for t := range version.Tables() {
		if !found.Has(folder.Table, t.Number) && !d.isFar(t) {
			return corrupt.Missing(d.tablePath(t), found.Claim)
		}
	}
	for _, f := range version.ValueFiles {
		if !found.Has(f.Kind(), f.Number) && !vfs.Elsewhere(d.folder, d.valuePath(f)) {
			return corrupt.Missing(d.valuePath(f), found.Claim)
		}
	}
	return nil
}

// syncManifest syncs the manifest with the given number, and the names of all files. If it cannot
// open the manifest, the error matches manifest.ErrUnchanged.
func (d directory) syncManifest(number uint64) error {
	name := folder.Manifest.Name(number)
	file, err := d.folder.Open(d.manifestPath(number))
	if err != nil {
		return fmt.Errorf("%w: open %s: %w", manifest.ErrUnchanged, name, err)
	}
	if err := errors.Join(file.Sync(), file.Close(), d.folder.SyncDir(d.dir)); err != nil {
		return fmt.Errorf("sync %s: %w", name, err)
	}
	return nil
}

// syncFile syncs a file that another process may have written.
func (d directory) syncFile(name string) error {
	file, err := d.folder.Open(filepath.Join(d.dir, name))
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

func (d directory) fileSize(name string) (int64, error) {
	file, err := d.folder.Open(filepath.Join(d.dir, name))
	if err != nil {
		return 0, err
	}
	size, err := file.Size()
	return size, errors.Join(err, file.Close())
}

func (d directory) manifestPath(number uint64) string {
	return filepath.Join(d.dir, folder.Manifest.Name(number))
}

func (d directory) tablePath(t *manifest.Table) string {
	return filepath.Join(d.dir, folder.Table.Name(t.Number))
}

// isFar reports whether a table is not in the folder, and would be opened all the same.
func (d directory) isFar(t *manifest.Table) bool { return vfs.Elsewhere(d.folder, d.tablePath(t)) }

func (d directory) valuePath(f manifest.ValueFile) string {
	return filepath.Join(d.dir, f.Name())
}
