package torture

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/model"
)

// modelStore is a store in the model. It defines what is right.
type modelStore struct {
	clock *model.Clock
	db    *model.DB
}

func (r *modelStore) open() error { r.db = model.New(r.clock); return nil }

func (r *modelStore) close() error { return nil }

func (r *modelStore) between() error { return nil }

func (r *modelStore) begin(writable bool) (txn, error) {
	if writable {
		tx := r.db.Begin()
		return modelTxn{tx, tx.Root()}, nil
	}
	return modelTxn{nil, r.db.Root()}, nil
}

func (r *modelStore) view(fn func(b txn) error) error {
	return fn(modelTxn{nil, r.db.Root()})
}

func (r *modelStore) update(fn func(b txn) error) error {
	tx := r.db.Begin()
	err := fn(modelTxn{tx, tx.Root()})
	if err == nil {
		tx.Commit()
	}
	return err
}

func (r *modelStore) load(pairs []model.Entry) error {
	tx := r.db.Begin()
	for _, e := range pairs {
		tx.Root().Put(e.Key, e.Value)
	}
	tx.Commit()
	return nil
}

func (r *modelStore) keepUp(string) error { return nil }

func (r *modelStore) reopen() (*model.Bucket, error) { return r.db.Root(), nil }

func (r *modelStore) backup() (*model.Bucket, error) { return r.db.Root(), nil }

// modelTxn is a transaction of the model.
type modelTxn struct {
	tx   *model.Tx // nil if read-only
	root *model.Bucket
}

func (b modelTxn) space(path string) (space, error) {
	at := b.root
	for name := range names(path) {
		if at = at.Bucket(name); at == nil {
			return nil, stoat.ErrBucketNotFound
		}
	}
	return modelSpace{at}, nil
}

// names iterates over the names in a path.
func names(path string) iter.Seq[string] {
	if path == "" {
		return func(func(string) bool) {}
	}
	return strings.SplitSeq(path, "/")
}

func (b modelTxn) dump() (*model.Bucket, error) { return b.root, nil }

func (b modelTxn) end(commit bool) error {
	if commit {
		b.tx.Commit()
	}
	return nil
}

// modelSpace is a bucket of the model.
type modelSpace struct{ b *model.Bucket }

// valid returns an error if key is invalid.
func valid(key string) error {
	if key == "" {
		return stoat.ErrInvalidKey
	}
	return nil
}

func (s modelSpace) get(key string) (string, error) {
	value, ok := s.b.Get(key)
	switch {
	case key == "":
		return "", stoat.ErrInvalidKey
	case !ok:
		return "", stoat.ErrNotFound
	}
	return value, nil
}

func (s modelSpace) has(key string) (bool, error) {
	_, ok := s.b.Get(key)
	return ok, valid(key)
}

func (s modelSpace) put(key, value string, ttl time.Duration) error {
	switch {
	case key == "":
		return stoat.ErrInvalidKey
	case ttl == 0:
		s.b.Put(key, value)
	default:
		s.b.PutTTL(key, value, ttl)
	}
	return nil
}

func (s modelSpace) delete(key string) error { s.b.Delete(key); return valid(key) }

func (s modelSpace) deleteRange(r stoat.Range) error {
	s.b.DeleteRange(string(r.Start), string(r.End), r.Reverse, max(r.Limit, 0))
	return nil
}

func (s modelSpace) swap(key string, old *string, value string) (bool, error) {
	if valid(key) != nil || !s.matches(key, old) {
		return false, valid(key)
	}
	s.b.Swap(key, value)
	return true, nil
}

func (s modelSpace) remove(key string, old *string) (bool, error) {
	if old == nil || valid(key) != nil || !s.matches(key, old) {
		return false, valid(key)
	}
	s.b.Delete(key)
	return true, nil
}

// matches reports whether old is the value of key.
func (s modelSpace) matches(key string, old *string) bool {
	value, ok := s.b.Get(key)
	return ok == (old != nil) && (!ok || value == *old)
}

func (s modelSpace) scan(r stoat.Range) ([]model.Entry, error) {
	return s.b.Scan(string(r.Start), string(r.End), r.Reverse, max(r.Limit, 0)), nil
}

func (s modelSpace) keys(r stoat.Range) (keys []string, err error) {
	entries, err := s.scan(r)
	for _, e := range entries {
		keys = append(keys, e.Key)
	}
	return keys, err
}

func (s modelSpace) buckets() ([]string, error) { return s.b.Buckets(), nil }

func (s modelSpace) create(name string) error {
	switch {
	case name == "":
		return stoat.ErrInvalidKey
	case s.b.CreateBucket(name) == nil:
		return stoat.ErrBucketExists
	}
	return nil
}

func (s modelSpace) drop(name string) error {
	switch {
	case name == "":
		return stoat.ErrInvalidKey
	case !s.b.DeleteBucket(name):
		return stoat.ErrBucketNotFound
	}
	return nil
}

func (s modelSpace) move(old string, to space, name string) error {
	return moveIn(s.b, old, to.(modelSpace).b, name)
}

// intoItself is part of the error of moving a bucket into itself, which has no sentinel.
const intoItself = "cannot be moved into itself"

// moveIn is MoveBucket in the model.
func moveIn(from *model.Bucket, old string, to *model.Bucket, name string) error {
	moved := from.Bucket(old)
	switch there := to.Bucket(name); {
	case old == "":
		return stoat.ErrInvalidKey
	case moved == nil:
		return fmt.Errorf("bucket %q: %w", old, stoat.ErrBucketNotFound)
	case moved.Holds(to):
		return fmt.Errorf("bucket %q %s", old, intoItself)
	case name == "":
		return stoat.ErrInvalidKey
	case there == moved:
		return nil
	case there != nil:
		return fmt.Errorf("bucket %q: %w", name, stoat.ErrBucketExists)
	}
	from.DeleteBucket(old)
	to.Adopt(name, moved)
	return nil
}

func (s modelSpace) ttl(key string) (time.Duration, bool, error) {
	ttl, ok := s.b.TTL(key)
	switch {
	case key == "":
		return 0, false, stoat.ErrInvalidKey
	case !ok:
		return 0, false, stoat.ErrNotFound
	}
	return ttl, ttl > 0, nil
}

func (s modelSpace) next() (uint64, error) { return s.b.NextSequence(), nil }

func (s modelSpace) sequence() (uint64, error) { return s.b.Sequence(), nil }

func (s modelSpace) setSequence(n uint64) error { s.b.SetSequence(n); return nil }

func (s modelSpace) cursor() cursor { return &modelCursor{b: s.b} }

// modelCursor is a cursor of the model. First, last, seek and the first move take a new copy of the
// entries.
type modelCursor struct {
	b *model.Bucket
	c *model.Cursor
}

func (c *modelCursor) delete() error {
	if c.c == nil {
		return stoat.ErrNotFound
	}
	e, ok := c.c.Current()
	if !ok {
		return stoat.ErrNotFound
	}
	c.b.Delete(e.Key)
	return nil
}

func (c *modelCursor) move(verb, key string) (e model.Entry, ok bool, err error) {
	steps := verb == "movenext" || verb == "moveprev"
	if c.c == nil || !steps {
		c.c = c.b.Cursor()
	}
	switch verb {
	case "first":
		e, ok = c.c.First()
	case "last":
		e, ok = c.c.Last()
	case "seek":
		e, ok = c.c.Seek(key)
	case "movenext":
		e, ok = c.c.Next()
	default:
		e, ok = c.c.Prev()
	}
	return e, ok, nil
}
