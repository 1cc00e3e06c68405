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

// Without its manifest a database is a heap of tables. Each manifest therefore has a copy beside it
// for who repairs what is damaged: opening a database for writing builds nothing on it. It is as
// durable as the manifest when that is started, which is when a database is closed, too; edits, and
// the manifest of a database that has no files yet, reach it when the system pleases. A copy that
// cannot be written is given up until the next manifest is started: it must not be why something
// fails.

// sectorBytes is how much the disk writes as a whole or not at all.
const sectorBytes = 512

// LoadCopy is [Load] of the copies of manifests in dir in place of the manifests.
func LoadCopy(files vfs.ReadOnly, dir string) (*State, error) {
	found, err := folder.List(files, dir)
	if err != nil {
		return nil, err
	}
	return loadAmong(files, dir, folder.ManifestCopy, found.Of(folder.ManifestCopy))
}

// CopyGoesOn reports whether the copy of a manifest has an edit that the manifest, which says s,
// has not. As each is written to the manifest first, durably, that is damage, unless the manifest
// has been written to since s was read.
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

// CheckCopy returns an error if a manifest and its copy differ by more than what a crash can have
// kept from the copy: all of it, or the ends of some sectors. Neither may be written meanwhile.
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
	at := 0
	for want := range slices.Chunk(original.data[:len(copied.data)], sectorBytes) {
		got := copied.data[at : at+len(want)]
		if !bytes.HasPrefix(want, bytes.TrimRight(got, "\x00")) {
			return corrupt.New(copied.path, int64(at), "it differs from the manifest")
		}
		at += len(want)
	}
	return nil
}

// startCopy starts the copy of the manifest with image, all of it so far.
func (j *Journal) startCopy(files vfs.Files, dir string, number uint64, image []byte, sync bool) {
	var err error
	if j.copy, err = files.Create(filepath.Join(dir, folder.ManifestCopy.Name(number))); err != nil {
		j.giveUpCopy(err)
		return
	}
	if j.writeCopy(image, 0); j.copy == nil || !sync {
		return
	}
	if err := j.copy.Sync(); err != nil {
		j.giveUpCopy(err)
	}
}

// writeCopy writes p, which is in the manifest at the offset at, to the copy, if there is one.
func (j *Journal) writeCopy(p []byte, at int64) {
	if j.copy == nil {
		return
	}
	if _, err := j.copy.WriteAt(p, at); err != nil {
		j.giveUpCopy(err)
	}
}

// giveUpCopy writes no more to the copy.
func (j *Journal) giveUpCopy(err error) {
	if j.copy != nil {
		err = errors.Join(err, j.copy.Close())
		j.copy = nil
	}
	j.copyErr = fmt.Errorf("write %s: %w", folder.ManifestCopy.Name(j.number), err)
}

// CopyFailure returns why the copy of the manifest was given up, once; nil if it was not.
func (j *Journal) CopyFailure() error {
	err := j.copyErr
	j.copyErr = nil
	return err
}
