package folderstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
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
		return nil, fmt.Errorf("list %s: %w", prefix, s.told(err))
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

// walk lists the objects whose names start with within, which is empty or ends with a slash. It
// asks of no more files than it takes whether they are objects: a folder may have a million.
func (l *listing) walk(within string) error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	bases, err := l.store.files.List(filepath.Join(l.store.root, filepath.FromSlash(within)))
	if errors.Is(err, fs.ErrNotExist) && within != "" {
		return nil // removed by hand, meanwhile
	}
	if err != nil {
		return err
	}
	var folders []string // to be walked, the next one last: what is in a comes after a-b
	for _, base := range bases {
		name := within + base
		if !l.reaches(name) || objstore.CheckName(name) != nil {
			continue
		}
		if folders, err = l.walkBefore(folders, name); err != nil || l.isFull() {
			return err
		}
		regular := false
		err := l.store.look(l.ctx, func() (err error) {
			regular, err = l.store.files.IsRegular(l.store.path(name))
			return err
		})
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case !regular:
			folders = append(folders, name+"/")
		default:
			if err := l.add(name); err != nil {
				return err
			}
		}
	}
	_, err = l.walkBefore(folders, "")
	return err
}

// walkBefore walks the folders before a name, or all if that is empty, and returns the others.
func (l *listing) walkBefore(folders []string, name string) (rest []string, err error) {
	for n := len(folders) - 1; n >= 0 && (name == "" || folders[n] < name) && !l.isFull(); n-- {
		if err := l.walk(folders[n]); err != nil {
			return nil, err
		}
		folders = folders[:n]
	}
	return folders, nil
}

// isFull reports whether the listing has as many objects as were asked for.
func (l *listing) isFull() bool { return len(l.objects) == l.limit }

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
	f, size, err := l.store.find(l.ctx, name)
	if errors.Is(err, objstore.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	l.objects = append(l.objects, objstore.Object{Name: name, Size: size})
	return f.Close()
}
