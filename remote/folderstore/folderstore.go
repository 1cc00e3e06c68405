// Package folderstore is a [objstore.Store] in a folder, which may be shared by processes, and by
// machines over NFS. The object a/b is the file b in the folder a, byte for byte, so a copy of the
// folder is a copy of the store, in any other kind of store too.
//
// An object is written and synced as a temporary file in the folder .unfinished, and then linked to
// its name. A link to a taken name fails, on every client of NFS too; that is all that arbitrates.
// So the file system must have hard links, as those of Linux, macOS, the BSDs and NTFS have; FAT
// has none. No clock and no lock is involved.
//
// A store that finds a name taken syncs its folder before it says so: what one process builds on
// another one's object is never more durable than that. Only Get and List may find an object
// shortly before a power cut that takes it away again; the Create or Put that stored it had not
// returned then.
//
// A folder that cannot be written to, such as one on a disk that is full or mounted read-only, can
// be read. One that is gone, such as one on a disk that was unmounted, is not an empty store: each
// operation fails until it is back.
//
// A crash may leave temporary files, which take space and do nothing else. They may be removed
// while no process uses the store, but not the folder that they are in.
package folderstore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/remote/objstore"
)

const (
	// unfinished is the folder of the temporary files. No part of a name starts with a dot.
	unfinished = ".unfinished"
	// chunkBytes are copied at a time, between two looks at the context.
	chunkBytes = 1 << 20
)

// Store is a store in a folder. Safe for concurrent use.
type Store struct {
	files vfs.FS
	root  string
	mark  string // a folder that is there as long as the store is
	// lingers says that a file which is removed while it is read keeps its name until that has ended,
	// and that nobody is permitted anything with it meanwhile.
	lingers bool

	preparing sync.Mutex
	prepared  bool // it can be written to

	mu    sync.Mutex
	ready map[string]bool // folders that exist durably
}

var _ objstore.Store = (*Store)(nil)

// Open returns the store in a folder, which is made if it does not exist. The error matches
// objstore.ErrUnfit if the file system has no hard links. If the folder cannot be written to, the
// store can be read, and whatever writes to it fails, as long as that is so.
func Open(folder string) (*Store, error) { return open(vfs.OS(), folder) }

func open(files vfs.FS, folder string) (*Store, error) {
	if folder == "" {
		return nil, errors.New("open a store: the folder has no name")
	}
	s := &Store{files: files, root: filepath.Clean(folder), ready: map[string]bool{}}
	s.lingers = runtime.GOOS == "windows" // on shares, on FAT, and before Windows 10
	s.mark = filepath.Join(s.root, unfinished)
	err := s.prepare()
	if err != nil && !errors.Is(err, objstore.ErrUnfit) {
		if _, missing := files.IsRegular(s.mark); missing != nil { // it is a copy
			s.mark = s.root
		}
		if _, unreadable := files.List(s.mark); unreadable == nil {
			return s, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open the store %s: %w", folder, s.told(err))
	}
	return s, nil
}

// prepare makes sure that the store can be written to.
func (s *Store) prepare() error {
	s.preparing.Lock()
	defer s.preparing.Unlock()
	if s.prepared {
		return nil
	}
	err := s.provide(filepath.Join(s.root, unfinished))
	if err == nil {
		err = s.checkLinks()
	}
	s.prepared = err == nil
	return err
}

// wantPresent returns an error if the store is not there, so that nothing is known of its objects.
// The error is no fs.ErrNotExist, since no object is missing.
func (s *Store) wantPresent() error {
	if _, err := s.files.IsRegular(s.mark); err != nil {
		return fmt.Errorf("the store is not there, or not mounted: %v", err)
	}
	return nil
}

// checkLinks returns an error unless the file system has hard links. Without the check, each Create
// would fail with an unknown outcome.
func (s *Store) checkLinks() error {
	dir := filepath.Join(s.root, unfinished)
	name, second := filepath.Join(dir, rand.Text()), filepath.Join(dir, rand.Text())
	f, err := s.files.Create(name)
	if err != nil {
		return err
	}
	defer func() { _ = s.files.Remove(name) }()
	folder, err := s.files.OpenFolder(dir)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	linked := folder.Link(name, folder, second)
	ours := linked == nil || folder.Same(name, folder, second) // see link
	if err := errors.Join(folder.Close(), f.Close()); err != nil {
		return err
	}
	if !ours {
		return fmt.Errorf("%w: the file system cannot link files: %w", objstore.ErrUnfit, linked)
	}
	return s.files.Remove(second)
}

// provide makes sure that a folder exists durably. One that exists may be the work of a process
// that has not synced it yet, so the first time, the folders above it are synced, up to the one
// that the store is in.
func (s *Store) provide(folder string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ready[folder] {
		if _, err := s.files.IsRegular(folder); err == nil { // or else, it was removed by hand
			return nil
		}
	}
	if err := s.files.MkdirAll(folder); err != nil {
		return err
	}
	for at := folder; at != s.root; at = filepath.Dir(at) {
		if err := s.files.SyncDir(filepath.Dir(at)); err != nil {
			return err
		}
	}
	// A process that may not read the folder above the store cannot sync it either.
	err := s.files.SyncDir(filepath.Dir(s.root))
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	s.ready[folder] = true
	return nil
}

// Create implements [objstore.Store]. An error of the file system after the object may have got its
// name is ErrUnknown.
func (s *Store) Create(ctx context.Context, name string, body []byte) error {
	err := s.store(ctx, name, bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return fmt.Errorf("create %s: %w", name, s.told(err))
	}
	return nil
}

// Put implements [objstore.Store]. If the name is taken, the older object stays.
func (s *Store) Put(ctx context.Context, name string, body io.ReaderAt, size int64) error {
	err := s.store(ctx, name, body, size)
	if err != nil && !errors.Is(err, objstore.ErrExists) {
		return fmt.Errorf("put %s: %w", name, s.told(err))
	}
	return nil
}

func (s *Store) store(ctx context.Context, name string, body io.ReaderAt, size int64) error {
	if err := objstore.CheckName(name); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.prepare(); err != nil {
		return err
	}
	temporary := filepath.Join(s.root, unfinished, rand.Text())
	if err := s.write(ctx, temporary, body, size); err != nil {
		return err
	}
	// A failed removal leaves a file that nobody minds. The object is what it is.
	defer func() { _ = s.files.Remove(temporary) }()
	// The store is there, or else this would make folders where it was mounted.
	if err := s.provide(filepath.Dir(s.path(name))); err != nil {
		return err
	}
	return s.look(ctx, func() error { return s.link(temporary, name) })
}

// write makes a synced file of size bytes. After an error there is none.
func (s *Store) write(ctx context.Context, file string, body io.ReaderAt, size int64) error {
	f, err := s.files.Create(file)
	if err != nil {
		return err
	}
	err = fill(ctx, f, body, size)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, s.files.Remove(file))
	}
	return nil
}

func fill(ctx context.Context, f vfs.File, body io.ReaderAt, size int64) error {
	chunk := make([]byte, min(size, chunkBytes))
	for at := int64(0); at < size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := chunk[:min(int64(len(chunk)), size-at)]
		if n, err := body.ReadAt(part, at); n < len(part) {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("read the %d bytes: %w", size, err)
		}
		if _, err := f.WriteAt(part, at); err != nil {
			return err
		}
		at += int64(len(part))
	}
	return nil
}

// link gives a file the name of an object, durably.
func (s *Store) link(temporary, name string) (err error) {
	from, err := s.files.OpenFolder(filepath.Dir(temporary))
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	target := s.path(name)
	to, err := s.files.OpenFolder(filepath.Dir(target))
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }()
	linked := from.Link(temporary, to, target)
	// Over NFS, a link that was made can seem to have failed, if the first answer was lost.
	ours := linked == nil || from.Same(temporary, to, target)
	switch {
	case ours, errors.Is(linked, fs.ErrExist):
	case isDenied(linked): // there is no link, nor will there be
		return linked
	default:
		return fmt.Errorf("%w: %w", objstore.ErrUnknown, linked)
	}
	if !ours {
		if regular, err := s.files.IsRegular(target); err == nil && !regular {
			return errors.New("names of other objects go on after this one and a slash")
		}
	}
	if err := to.SyncDir(filepath.Dir(target)); err != nil {
		return fmt.Errorf("%w: %w", objstore.ErrUnknown, err)
	}
	if !ours {
		return objstore.ErrExists
	}
	return nil
}

// Get implements [objstore.Store].
func (s *Store) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	if err := objstore.CheckName(name); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	body, err := s.read(ctx, name, off, n)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", name, s.told(err))
	}
	return body, nil
}

func (s *Store) read(ctx context.Context, name string, off, n int64) (body []byte, err error) {
	f, size, err := s.find(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	start, end := objstore.Range(size, off, n)
	body = make([]byte, end-start)
	if read, err := f.ReadAt(body, start); read < len(body) {
		return nil, err
	}
	return body, nil
}

// find opens an object, and returns its size.
func (s *Store) find(ctx context.Context, name string) (f vfs.File, size int64, err error) {
	err = s.look(ctx, func() error {
		exists, err := s.exists(name)
		if err == nil && exists {
			f, err = s.files.Open(s.path(name))
		}
		if err == nil && !exists || errors.Is(err, fs.ErrNotExist) {
			return cmp.Or(s.wantPresent(), objstore.ErrNotExist)
		}
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	size, err = f.Size()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, size, nil
}

// exists reports whether there is an object.
func (s *Store) exists(name string) (bool, error) {
	regular, err := s.files.IsRegular(s.path(name))
	if err == nil {
		return regular, nil
	}
	if above := path.Dir(name); !errors.Is(err, fs.ErrNotExist) && above != "." {
		if object, aboveErr := s.exists(above); object && aboveErr == nil {
			return false, nil // what systems say of a file in a file differs
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return false, err
}

// Delete implements [objstore.Store].
func (s *Store) Delete(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := objstore.CheckName(name); err != nil {
			return err
		}
	}
	folders := map[string]bool{}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := s.look(ctx, func() error {
			exists, err := s.exists(name)
			if exists {
				folders[filepath.Dir(s.path(name))] = true
				err = s.files.Remove(s.path(name))
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("delete %s: %w", name, s.told(err))
		}
	}
	for folder := range folders {
		if err := s.files.SyncDir(folder); err != nil {
			return fmt.Errorf("delete: %w", s.told(err))
		}
	}
	if err := s.wantPresent(); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	return nil
}

// path returns the file of an object.
func (s *Store) path(name string) string {
	return filepath.Join(s.root, filepath.FromSlash(name))
}
