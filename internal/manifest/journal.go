package manifest

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
)

// ErrUnchanged is matched by errors that left the manifest as it was.
var ErrUnchanged = errors.New("the manifest is unchanged")

// Journal is a manifest file that is being written, with its copy. It is for one goroutine at a
// time.
type Journal struct {
	file   vfs.File
	number uint64
	name   string
	seed   uint32
	start  int64 // offset of the first edit
	size   int64
	buffer []byte // for the last frame; reused
	err    error  // the first failed write or sync, which is final

	copy    vfs.File // nil after it failed
	copyErr error    // why it failed; nil once reported
}

// Create starts a manifest with the version v, durably, and its copy.
//
// If the error matches [ErrUnchanged], the manifest was not created. After any other error it is
// unknown whether the manifest is complete; until that is known, the previous one must not be used.
func Create(
	fs vfs.Files, dir string, number uint64, database [16]byte, v *Version,
) (*Journal, error) {
	name := folder.Manifest.Name(number)
	if err := v.Verify(); err != nil {
		return nil, fmt.Errorf("create %s: %w", name, err)
	}
	path := filepath.Join(dir, name)
	file, err := fs.Create(path)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w; %w", name, err, ErrUnchanged)
	}
	image, seed := newImage(number, database, v)
	j := &Journal{file: file, number: number, name: name, seed: seed}
	if err := j.reserve(len(image)); err != nil {
		return nil, errors.Join(err, file.Close(), fs.Remove(path))
	}
	if err := j.write(image); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	j.start = j.size
	j.startCopy(fs, dir, number, image, !v.empty())
	if err := fs.SyncDir(dir); err != nil {
		err = fmt.Errorf("sync the directory of %s: %w", name, err)
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// Image returns the bytes of a manifest that holds v and no edits.
func Image(number uint64, database [16]byte, v *Version) ([]byte, error) {
	if err := v.Verify(); err != nil {
		return nil, err
	}
	image, _ := newImage(number, database, v)
	return image, nil
}

// newImage is Image without a check of v. It also returns the seed of the frames.
func newImage(number uint64, database [16]byte, v *Version) (image []byte, seed uint32) {
	header := fileheader.New(fileheader.Manifest, number, database)
	p, seed := header.Bytes(), header.Seed()
	image = appendVersion(startFrame(p[:]), v)
	sealFrame(image[fileheader.Size:], seed, fileheader.Size)
	return image, seed
}

// Append records an edit, durably. The edit must fit the version that the manifest describes.
//
// If the error matches [ErrUnchanged], the caller may retry. After any other error it is unknown
// whether the edit is recorded, and the journal accepts no more.
func (j *Journal) Append(e *Edit) error {
	if j.err != nil {
		return j.err
	}
	j.buffer = appendEdit(startFrame(j.buffer[:0]), e)
	if err := j.reserve(len(j.buffer)); err != nil {
		return err
	}
	at := j.size
	sealFrame(j.buffer, j.seed, at)
	if err := j.write(j.buffer); err != nil {
		return err
	}
	j.writeCopy(j.buffer, at)
	return nil
}

// Named returns vfs.ErrReplaced if the file has lost its name.
func (j *Journal) Named() error { return j.file.Named() }

// Size returns the length of the manifest in bytes.
func (j *Journal) Size() int64 { return j.size }

// StartSize returns the length of the manifest without its edits.
func (j *Journal) StartSize() int64 { return j.start }

// Close closes the files. The manifest is durable already.
func (j *Journal) Close() error {
	err := j.file.Close()
	if j.copy != nil {
		err = errors.Join(err, j.copy.Close())
	}
	if err != nil {
		return fmt.Errorf("close %s: %w", j.name, err)
	}
	return nil
}

// reserve preallocates n more bytes, so that a full disk cannot fail a write.
func (j *Journal) reserve(n int) error {
	if int64(n) > maxFileBytes-j.size {
		return fmt.Errorf("write %s: %d more bytes after %d are too many; %w",
			j.name, n, j.size, ErrUnchanged)
	}
	if err := j.file.Preallocate(j.size + int64(n)); err != nil {
		return fmt.Errorf("write %s: %w; %w", j.name, err, ErrUnchanged)
	}
	return nil
}

func (j *Journal) write(p []byte) error {
	_, err := j.file.WriteAt(p, j.size)
	if err == nil {
		err = j.file.Sync()
	}
	if err == nil {
		err = j.file.Named()
	}
	if err != nil {
		j.err = fmt.Errorf("write %s: %w", j.name, err)
		return j.err
	}
	j.size += int64(len(p))
	return nil
}
