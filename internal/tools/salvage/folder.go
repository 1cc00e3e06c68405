package salvage

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/table"
	"github.com/stoatdb/stoat/internal/valuelog"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/wal"
)

const lockName = "LOCK"

// errReadOnly is what writing to the source returns. Nobody tries.
var errReadOnly = errors.New("the damaged database is only read")

// folder is the source: a file system that has nothing but the regular files of one folder, and
// that cannot be written.
type folder struct {
	files   vfs.Folder
	dir     string
	lock    vfs.Lock // nil if there is none to take
	regular map[string]bool
	ignored []ignored
	holes   map[string][]vfs.Hole // of manifests and their copies, as far as those were read
	denied  error                 // the first file that must not be read; what it has is not lost

	tables, logs, manifests, copies []uint64 // ascending
}

// ignored is a name in the folder that was not looked at, and why.
type ignored struct{ name, reason string }

var _ vfs.Files = (*folder)(nil)

// openFolder lists the folder and takes its lock. That another process has the lock is an error;
// that it cannot be taken for another reason, as on a medium that cannot be written, is none.
func openFolder(files vfs.FS, dir string) (*folder, error) {
	opened, err := files.OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	f, err := listFolder(opened, dir)
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return f, nil
}

// listFolder is openFolder of a folder that is open.
func listFolder(opened vfs.Folder, dir string) (*folder, error) {
	names, err := opened.List(dir)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	f := &folder{
		files: opened, dir: dir, regular: make(map[string]bool), holes: make(map[string][]vfs.Hole),
	}
	for _, name := range names {
		switch regular, err := opened.IsRegular(filepath.Join(dir, name)); {
		case errors.Is(err, fs.ErrPermission):
			return nil, denied(err)
		case err != nil:
			f.ignored = append(f.ignored, ignored{name, fmt.Sprintf("it cannot be looked at: %v", err)})
		case !regular:
			f.ignored = append(f.ignored, ignored{name, "it is no regular file, and was not looked at"})
		default:
			f.add(name)
		}
	}
	for _, numbers := range [][]uint64{f.tables, f.logs, f.manifests, f.copies} {
		slices.Sort(numbers)
	}
	if len(f.tables)+len(f.logs)+len(f.manifests)+len(f.copies) == 0 {
		return nil, fmt.Errorf("no file of a database in %s: %w", dir, fs.ErrNotExist)
	}
	if f.regular[lockName] {
		f.lock, err = opened.Lock(filepath.Join(dir, lockName))
		if errors.Is(err, vfs.ErrLocked) {
			return nil, err
		}
	}
	return f, nil
}

// denied returns the error of a file that must not be read.
func denied(err error) error {
	return fmt.Errorf("%w: what is in it is not lost; give this user the right to read all files of "+
		"the folder, or be another one, and salvage again", err)
}

func (f *folder) add(name string) {
	f.regular[name] = true
	if n, ok := run.ParseName(name); ok {
		f.tables = append(f.tables, n)
	} else if n, ok := wal.ParseName(name); ok {
		f.logs = append(f.logs, n)
	} else if n, ok := manifest.ParseName(name); ok {
		f.manifests = append(f.manifests, n)
	} else if n, ok := manifest.ParseCopyName(name); ok {
		f.copies = append(f.copies, n)
	}
}

// isJournal reports whether a name is that of a log, a manifest or its copy: without one of those
// the last commits may be lost.
func isJournal(name string) bool {
	_, isLog := wal.ParseName(name)
	_, isManifest := manifest.ParseName(name)
	_, isCopy := manifest.ParseCopyName(name)
	return isLog || isManifest || isCopy
}

// close lets go of the lock and the folder.
func (f *folder) close() error {
	var err error
	if f.lock != nil {
		err = f.lock.Close()
	}
	return errors.Join(err, f.files.Close())
}

// path returns the path of a file in the folder.
func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }

// identity returns the database's identity as most files have it at their beginning, or tables at
// their end: all kinds of files have the same header.
func (f *folder) identity() ([16]byte, error) {
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

// identitiesIn returns the identities that a file has in its header and its footer, as far as those
// are valid.
func (f *folder) identitiesIn(name string) (found [][16]byte) {
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

// has reports whether there is a regular file of that name.
func (f *folder) has(name string) bool { return f.regular[name] }

// hasValues reports whether there is a value file, or a log segment, of that number.
func (f *folder) hasValues(number uint64) (name string, ok bool) {
	for _, name := range []string{valuelog.Name(number), wal.Name(number)} {
		if f.regular[name] {
			return name, true
		}
	}
	return "", false
}

// Open implements vfs.Files for the regular files of the folder. Manifests, which are read as a
// whole, have zeros where the disk does not give anything.
func (f *folder) Open(name string) (vfs.File, error) {
	base := filepath.Base(name)
	if filepath.Dir(name) != filepath.Clean(f.dir) || !f.regular[base] {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	file, err := f.files.Open(name)
	if f.denied == nil && errors.Is(err, fs.ErrPermission) {
		f.denied = denied(err)
	}
	_, isLog := wal.ParseName(base)
	if err != nil || isLog || !isJournal(base) {
		return file, err
	}
	return manifestFile{vfs.NewPatient(file), f, base}, nil
}

// manifestFile is an open manifest, or a copy.
type manifestFile struct {
	*vfs.Patient
	folder *folder
	name   string
}

// Close implements io.Closer and notes what could not be read.
func (m manifestFile) Close() error {
	m.folder.holes[m.name] = m.Holes()
	return m.Patient.Close()
}

// List implements vfs.Files.
func (f *folder) List(string) ([]string, error) {
	var names []string
	for name := range f.regular {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

// IsRegular implements vfs.Files.
func (f *folder) IsRegular(name string) (bool, error) { return f.regular[filepath.Base(name)], nil }

// Create implements vfs.Files.
func (f *folder) Create(string) (vfs.File, error) { return nil, errReadOnly }

// Remove implements vfs.Files.
func (f *folder) Remove(string) error { return errReadOnly }

// SyncDir implements vfs.Files.
func (f *folder) SyncDir(string) error { return errReadOnly }

// Lock implements vfs.Files.
func (f *folder) Lock(string) (vfs.Lock, error) { return nil, errReadOnly }
