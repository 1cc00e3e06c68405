// Package memstore is a [objstore.Store] in memory: a map of objects and the sorted list of their
// names. It is for tests, and for trying things out. It does not survive the process.
package memstore

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/stoatdb/stoat/remote/objstore"
)

// Store is a store in memory. Safe for concurrent use.
type Store struct {
	mu      sync.RWMutex
	objects map[string][]byte // never changed once stored
	names   []string          // of all objects, sorted
}

var _ objstore.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store { return &Store{objects: map[string][]byte{}} }

// Create implements [objstore.Store].
func (s *Store) Create(ctx context.Context, name string, body []byte) error {
	if err := check(ctx, name); err != nil {
		return err
	}
	if !s.add(name, bytes.Clone(body)) {
		return fmt.Errorf("create %s: %w", name, objstore.ErrExists)
	}
	return nil
}

// Put implements [objstore.Store]. A repeated one has no effect.
func (s *Store) Put(ctx context.Context, name string, body io.ReaderAt, size int64) error {
	if err := check(ctx, name); err != nil {
		return err
	}
	object, err := io.ReadAll(io.NewSectionReader(body, 0, size))
	if err == nil && int64(len(object)) < size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("put %s: read the %d bytes: %w", name, size, err)
	}
	s.add(name, object)
	return nil
}

// add stores an object, unless one has the name.
func (s *Store) add(name string, object []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, taken := slices.BinarySearch(s.names, name)
	if taken {
		return false
	}
	s.names = slices.Insert(s.names, at, name)
	s.objects[name] = object
	return true
}

// Get implements [objstore.Store].
func (s *Store) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	if err := check(ctx, name); err != nil {
		return nil, err
	}
	s.mu.RLock()
	object, found := s.objects[name]
	s.mu.RUnlock()
	if !found {
		return nil, fmt.Errorf("get %s: %w", name, objstore.ErrNotExist)
	}
	start, end := objstore.Range(int64(len(object)), off, n)
	return bytes.Clone(object[start:end]), nil
}

// List implements [objstore.Store].
func (s *Store) List(
	ctx context.Context, prefix, after string, limit int,
) ([]objstore.Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if limit <= 0 {
		return nil, fmt.Errorf("list %s: the limit is %d", prefix, limit)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	at, found := slices.BinarySearch(s.names, max(prefix, after))
	if found && after >= prefix {
		at++
	}
	var listed []objstore.Object
	for _, name := range s.names[at:] {
		if len(listed) == limit || !strings.HasPrefix(name, prefix) {
			break
		}
		listed = append(listed, objstore.Object{Name: name, Size: int64(len(s.objects[name]))})
	}
	return listed, nil
}

// Delete implements [objstore.Store].
func (s *Store) Delete(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := check(ctx, name); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		if at, found := slices.BinarySearch(s.names, name); found {
			s.names = slices.Delete(s.names, at, at+1)
			delete(s.objects, name)
		}
	}
	return nil
}

func check(ctx context.Context, name string) error {
	if err := objstore.CheckName(name); err != nil {
		return err
	}
	return ctx.Err()
}
