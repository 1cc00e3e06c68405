package folderstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoatdb/stoat/remote/objstore"
)

// List implements [objstore.Store]. It reads the folders that may hold names in question, and the
// sizes of the files that it returns.
func (s *Store) List(
	ctx context.Context, prefix, after string, limit int,
) ([]objstore.Object, error) {
	if limit <= 0 {
		return nil, fmt.Errorf("list %s: the limit is %d", prefix, limit)
	}
	l := listing{store: s, ctx: ctx, prefix: prefix, after: after, limit: limit}
	err := l.walk("")
	if err != nil || len(l.objects) < limit {
		err = cmp.Or(s.wantPresent(), err)
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", prefix, err)
	}
	return l.objects, nil
}

// listing is the work of one List.
type listing struct {
	store         *Store
	ctx           context.Context
	prefix, after string
	limit         int
	objects       []objstore.Object
}

// walk lists the objects whose names start with within, which is empty or ends with a slash.
func (l *listing) walk(within string) error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	names, err := l.store.files.List(filepath.Join(l.store.root, filepath.FromSlash(within)))
	if errors.Is(err, fs.ErrNotExist) && within != "" {
		return nil // removed by hand, meanwhile
	}
	if err != nil {
		return err
	}
	entries, err := l.entries(within, names)
	if err != nil {
		return err
	}
	for _, name := range entries {
		if len(l.objects) == l.limit {
			return nil
		}
		if strings.HasSuffix(name, "/") {
			err = l.walk(name)
		} else {
			err = l.add(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entries returns the objects and folders in question among the base names in a folder, the folders
// with a slash, in the order of the names that they stand for.
func (l *listing) entries(within string, bases []string) ([]string, error) {
	var entries []string
	for _, base := range bases {
		name := within + base
		if objstore.CheckName(name) != nil || !l.reaches(name) {
			continue
		}
		regular, err := l.store.files.IsRegular(l.store.path(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !regular {
			name += "/"
		}
		entries = append(entries, name)
	}
	slices.Sort(entries)
	return entries, nil
}

// reaches reports whether the listing may hold the name, or names that go on after a slash.
func (l *listing) reaches(name string) bool {
	inside := name + "/"
	if strings.HasPrefix(l.prefix, inside) || strings.HasPrefix(inside, l.prefix) {
		return inside > l.after || strings.HasPrefix(l.after, inside)
	}
	return false
}

// add adds an object, unless it is gone.
func (l *listing) add(name string) error {
	if name <= l.after || !strings.HasPrefix(name, l.prefix) {
		return nil
	}
	f, size, err := l.store.find(name)
	if errors.Is(err, objstore.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	l.objects = append(l.objects, objstore.Object{Name: name, Size: size})
	return f.Close()
}
