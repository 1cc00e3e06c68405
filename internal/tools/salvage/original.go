package salvage

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/table"
	"github.com/stoatdb/stoat/internal/vfs"
)

// original is the damaged database: a read-only file system that holds the regular files of one
// folder.
type original struct {
	files   vfs.Folder
	dir     string
	lock    vfs.Lock // nil if there is none to take
	regular map[string]bool
	found   folder.Listing // of the regular files
	ignored []ignored
	holes   map[string][]vfs.Hole // of manifests and their copies, as far as those were read
	denied  error                 // the first file that must not be read; what it has is not lost
}

// ignored is a name in the folder that was not looked at, and why.
type ignored struct{ name, reason string }

// openOriginal lists the folder and takes its lock. It is an error if another process has the lock,
// but not if it cannot be taken for another reason, as on a read-only medium.
func openOriginal(files vfs.FS, dir string) (*original, error) {
	opened, err := files.OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	f := &original{
		files: opened, dir: dir, regular: make(map[string]bool), holes: make(map[string][]vfs.Hole),
	}
	if err = f.list(); err == nil {
		f.lock, err = folder.Lock(opened, dir)
		if !errors.Is(err, vfs.ErrLocked) {
			err = nil
		}
	}
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return f, nil
}

func (f *original) list() error {
	names, err := f.files.List(f.dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", f.dir, err)
	}
	var files []string
	for _, name := range names {
		switch regular, err := f.files.IsRegular(f.path(name)); {
		case errors.Is(err, fs.ErrPermission):
			return denied(err)
		case err != nil:
			f.ignored = append(f.ignored, ignored{name, fmt.Sprintf("it cannot be looked at: %v", err)})
		case !regular:
			f.ignored = append(f.ignored, ignored{name, "it is no regular file, and was not looked at"})
		default:
			f.regular[name] = true
			files = append(files, name)
		}
	}
	f.found = folder.Classify(files)
	for kind := range f.found.All() {
		if kind != folder.Values { // which say nothing without a table
			return nil
		}
	}
	return fmt.Errorf("no file of a database in %s: %w", f.dir, fs.ErrNotExist)
}

// denied returns the error for a file that must not be read.
func denied(err error) error {
	return fmt.Errorf("%w: what is in it is not lost; give this user the right to read all files of "+
		"the directory, or be another one, and salvage again", err)
}

// isJournal reports whether a file is a log segment, a manifest or the copy of a manifest: if one
// of those is missing, the last commits may be lost.
func isJournal(name string) bool {
	kind, _ := folder.Parse(name)
	return kind == folder.Log || kind == folder.Manifest || kind == folder.ManifestCopy
}

func (f *original) close() error {
	var err error
	if f.lock != nil {
		err = f.lock.Close()
	}
	return errors.Join(err, f.files.Close())
}

func (f *original) path(name string) string { return filepath.Join(f.dir, name) }

// identity returns the database's identity that most files have in their header, or tables in
// their footer.
func (f *original) identity() ([16]byte, error) {
	votes := make(map[[16]byte]int)
	for name := range f.regular {
		for _, id := range f.identitiesIn(name) {
			votes[id]++
		}
	}
	var best [16]byte
	most := 0
	for id, n := range votes {
		if n > most || n == most && bytes.Compare(id[:], best[:]) < 0 {
			best, most = id, n
		}
	}
	if most == 0 {
		return best, corrupt.New(f.dir, 0, "no file has a header that is valid")
	}
	return best, nil
}

// identitiesIn returns the identities in a file's header and footer, if those are valid.
func (f *original) identitiesIn(name string) (found [][16]byte) {
	file, err := f.files.Open(f.path(name))
	if err != nil {
		return nil
	}
	var head [fileheader.Size]byte
	if n, _ := file.ReadAt(head[:], 0); n == len(head) {
		h := fileheader.ParseFields(head[:])
		if kinds := fileheader.Kinds(); h.Sealed && slices.Contains(kinds[:], h.Kind) {
			found = append(found, h.Database)
		}
	}
	var tail [table.FooterSize]byte
	if size, err := file.Size(); err == nil && size >= table.FooterSize {
		if n, _ := file.ReadAt(tail[:], size-table.FooterSize); n == len(tail) {
			if h, ok := table.HeaderInFooter(tail[:]); ok {
				found = append(found, h.Database)
			}
		}
	}
	_ = file.Close() // it was only read
	return found
}

// has reports whether there is a regular file of that kind and number.
func (f *original) has(kind folder.Kind, number uint64) bool { return f.found.Has(kind, number) }

// valueFile returns the kind of the file with that number that may hold values. ok is false if it
// is missing.
func (f *original) valueFile(number uint64) (kind folder.Kind, ok bool) {
	if f.has(folder.Values, number) {
		return folder.Values, true
	}
	return folder.Log, f.has(folder.Log, number)
}

// Open implements vfs.ReadOnly for the regular files of the folder. Where the disk cannot read a
// manifest, it has zeros.
func (f *original) Open(name string) (vfs.File, error) {
	base := filepath.Base(name)
	if filepath.Dir(name) != filepath.Clean(f.dir) || !f.regular[base] {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	file, err := f.files.Open(name)
	if f.denied == nil && errors.Is(err, fs.ErrPermission) {
		f.denied = denied(err)
	}
	kind, _ := folder.Parse(base)
	if err != nil || kind != folder.Manifest && kind != folder.ManifestCopy {
		return file, err
	}
	return manifestFile{vfs.NewPatient(file), f, base}, nil
}

// manifestFile is an open manifest, or a copy.
type manifestFile struct {
	*vfs.Patient
	original *original
	name     string
}

// Close implements io.Closer and notes what could not be read.
func (m manifestFile) Close() error {
	m.original.holes[m.name] = m.Holes()
	return m.Patient.Close()
}

// List implements vfs.ReadOnly.
func (f *original) List(string) ([]string, error) {
	return slices.Sorted(maps.Keys(f.regular)), nil
}
