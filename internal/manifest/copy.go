package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Without its manifest a database is a heap of tables, so each manifest has a copy beside it for
// repairs; opening a database for writing does not rely on it. The copy is synced when a manifest
// is created, which includes closing a database, unless the database has no files yet. Edits are
// written to it without a sync. A copy that cannot be written is abandoned until the next manifest
// is created: it must not make anything else fail.

// sectorBytes is the unit that a disk writes completely or not at all.
const sectorBytes = 512

// LoadCopy is [Load] for the copies of the manifests in dir.
func LoadCopy(files vfs.ReadOnly, dir string) (*State, error) {
	found, err := folder.List(files, dir)
	if err != nil {
		return nil, err
	}
	return loadAmong(files, dir, folder.ManifestCopy, found.Of(folder.ManifestCopy))
}

// CopyGoesOn reports whether the copy of a manifest has an edit after s, the content of the
// manifest. Edits become durable in the manifest first, so this is damage, unless the manifest has
// been written to since s was read.
func CopyGoesOn(files vfs.Files, dir string, s *State) (bool, error) {
	copied, err := readImage(files, dir, folder.ManifestCopy.Name(s.Number), s.Number)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	seed := fileheader.New(fileheader.Manifest, s.Number, s.Database).Seed()
	_, _, ok := readFrame(copied.data, seed, s.End)
	return ok, nil
}

// CheckCopy returns an error if a manifest and its copy differ by more than a crash explains: it
// can lose the copy, or parts of it, which read as zeros: the ends of sectors, or any, if the copy
// is encrypted. Neither may be written meanwhile.
func CheckCopy(files vfs.Files, dir string, number uint64) error {
	original, err := readImage(files, dir, folder.Manifest.Name(number), number)
	if err != nil {
		return err
	}
	copied, err := readImage(files, dir, folder.ManifestCopy.Name(number), number)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(copied.data) > len(original.data) {
		return corrupt.New(copied.path, int64(len(original.data)), "it is longer than the manifest")
	}
	unit := sectorBytes
	if copied.pieced {
		unit = 1
	}
	at := 0
	for want := range slices.Chunk(original.data[:len(copied.data)], unit) {
		got := copied.data[at : at+len(want)]
		if !bytes.HasPrefix(want, bytes.TrimRight(got, "\x00")) {
			return corrupt.New(copied.path, int64(at), "it differs from the manifest")
		}
		at += len(want)
	}
	return nil
}

// startCopy creates the copy of the manifest, with image as its content.
func (j *Journal) startCopy(files vfs.Files, dir string, number uint64, image []byte, sync bool) {
	var err error
	if j.copy, err = files.Create(filepath.Join(dir, folder.ManifestCopy.Name(number))); err != nil {
		j.abandonCopy(err)
		return
	}
	if j.writeCopy(image, 0); j.copy == nil || !sync {
		return
	}
	if err := j.copy.Sync(); err != nil {
		j.abandonCopy(err)
	}
}

// writeCopy writes p to the copy, if it exists, at the same offset as in the manifest.
func (j *Journal) writeCopy(p []byte, at int64) {
	if j.copy == nil {
		return
	}
	if _, err := j.copy.WriteAt(p, at); err != nil {
		j.abandonCopy(err)
	}
}

// abandonCopy closes the copy after an error.
func (j *Journal) abandonCopy(err error) {
	if j.copy != nil {
		err = errors.Join(err, j.copy.Close())
		j.copy = nil
	}
	j.copyErr = fmt.Errorf("write %s: %w", folder.ManifestCopy.Name(j.number), err)
}

// CopyFailure returns the error that made the journal abandon the copy; each error once.
func (j *Journal) CopyFailure() error {
	err := j.copyErr
	j.copyErr = nil
	return err
}
