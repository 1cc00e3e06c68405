package torture

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/model"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
)

// dbStore is a store in a real database.
type dbStore struct {
	setting
	fs      vfs.FS
	dir     string
	db      *stoat.DB
	rng     *rand.Rand // draws what is forced between actions
	backups int
}

func (d *dbStore) open() (err error) { d.db, err = d.openAs(d.dir, false); return err }

func (d *dbStore) openAs(dir string, readOnly bool) (*stoat.DB, error) {
	options := d.options
	if d.volatile {
		return tuned.OpenMemory(&options, d.tuning)
	}
	options.ReadOnly = readOnly
	return tuned.Open(d.fs, dir, &options, d.tuning)
}

func (d *dbStore) close() error { return d.db.Close() }

func (d *dbStore) between() error {
	switch {
	case d.forced == 0 || d.rng.IntN(d.forced) > 0:
		return nil
	case d.rng.IntN(4) == 0:
		return d.keepUp("compact")
	}
	return d.keepUp("flush")
}

func (d *dbStore) begin(writable bool) (txn, error) {
	tx, err := d.db.Begin(writable)
	return dbTxn{tx}, err
}

func (d *dbStore) view(fn func(b txn) error) error {
	return d.db.View(func(tx *stoat.Tx) error { return fn(dbTxn{tx}) })
}

func (d *dbStore) update(fn func(b txn) error) error {
	return d.db.Update(func(tx *stoat.Tx) error { return fn(dbTxn{tx}) })
}

func (d *dbStore) load(pairs []model.Entry) error {
	return d.db.Load(context.Background(), bytePairs(pairs))
}

// bytePairs iterates over entries as keys and values.
func bytePairs(pairs []model.Entry) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for _, e := range pairs {
			if !yield([]byte(e.Key), []byte(e.Value)) {
				return
			}
		}
	}
}

func (d *dbStore) keepUp(verb string) error {
	switch verb {
	case "flush":
		return d.db.Flush()
	case "sync":
		return d.db.Sync()
	case "compact":
		return d.db.Compact(context.Background())
	}
	return d.db.Check(context.Background())
}

func (d *dbStore) reopen() (*model.Bucket, error) {
	if d.volatile {
		return dumpDB(d.db)
	}
	if err := d.db.Close(); err != nil {
		return nil, err
	}
	var before *model.Bucket
	if d.readOnly {
		var err error
		if before, err = d.contents(d.dir, true); err != nil {
			return nil, fmt.Errorf("read-only: %w", err)
		}
	}
	if err := d.open(); err != nil {
		return nil, err
	}
	after, err := dumpDB(d.db)
	if before != nil && err == nil {
		if diff := model.Diff(before, after); diff != "" {
			return nil, fmt.Errorf("read-only, and then writable: %s", diff)
		}
	}
	return after, err
}

// contents returns the contents of the database in dir, which must be closed.
func (d *dbStore) contents(dir string, readOnly bool) (*model.Bucket, error) {
	db, err := d.openAs(dir, readOnly)
	if err != nil {
		return nil, err
	}
	all, err := dumpDB(db)
	return all, errors.Join(err, db.Close())
}

func (d *dbStore) backup() (*model.Bucket, error) {
	if d.volatile {
		return dumpDB(d.db)
	}
	d.backups++
	dir := filepath.Join(filepath.Dir(d.dir), fmt.Sprint("backup", d.backups))
	if err := tuned.Backup(context.Background(), d.db, d.fs, dir, d.backups%3 == 0); err != nil {
		return nil, err
	}
	return d.contents(dir, d.backups%2 == 0)
}

// dbTxn is a transaction of a real database.
type dbTxn struct{ tx *stoat.Tx }

func (t dbTxn) space(path string) (space, error) {
	var s stoat.KeySpace = t.tx
	for name := range names(path) {
		b, err := s.Bucket([]byte(name))
		if err != nil {
			return nil, err
		}
		s = b
	}
	return dbSpace{s, t.tx}, nil
}

func (t dbTxn) dump() (*model.Bucket, error) { return dump(t.tx) }

func (t dbTxn) end(commit bool) error {
	if commit {
		return t.tx.Commit()
	}
	return t.tx.Rollback()
}

// dbSpace is a bucket of a real database.
type dbSpace struct {
	s  stoat.KeySpace
	tx *stoat.Tx
}

func (b dbSpace) get(key string) (string, error) {
	value, err := b.s.Get([]byte(key))
	if err == nil && value == nil {
		err = errors.New("the value is nil")
	}
	return string(value), err
}

func (b dbSpace) has(key string) (bool, error) { return b.s.Has([]byte(key)) }

func (b dbSpace) put(key, value string, ttl time.Duration) error {
	if ttl == 0 {
		return b.s.Put([]byte(key), []byte(value))
	}
	return b.s.PutTTL([]byte(key), []byte(value), ttl)
}

func (b dbSpace) delete(key string) error { return b.s.Delete([]byte(key)) }

func (b dbSpace) deleteRange(r stoat.Range) error { return b.s.DeleteRange(r) }

func (b dbSpace) swap(key string, old *string, value string) (bool, error) {
	return b.s.CompareAndSwap([]byte(key), bytesOf(old), []byte(value))
}

func (b dbSpace) remove(key string, old *string) (bool, error) {
	return b.s.CompareAndDelete([]byte(key), bytesOf(old))
}

// bytesOf returns the bytes of s, or nil if s is nil.
func bytesOf(s *string) []byte {
	if s == nil {
		return nil
	}
	return append([]byte{}, *s...)
}

func (b dbSpace) scan(r stoat.Range) (entries []model.Entry, err error) {
	for key, value := range b.s.Scan(r) {
		entries = append(entries, model.Entry{Key: string(key), Value: string(value)})
	}
	return entries, b.tx.Err()
}

func (b dbSpace) keys(r stoat.Range) ([]string, error) {
	return keysOf(b.s.Keys(r)), b.tx.Err()
}

func (b dbSpace) buckets() ([]string, error) { return keysOf(b.s.Buckets()), b.tx.Err() }

func (b dbSpace) create(name string) error {
	_, err := b.s.CreateBucket([]byte(name))
	return err
}

func (b dbSpace) drop(name string) error { return b.s.DeleteBucket([]byte(name)) }

func (b dbSpace) move(old string, to space, name string) error {
	return b.s.MoveBucket([]byte(old), to.(dbSpace).s, []byte(name))
}

func (b dbSpace) ttl(key string) (time.Duration, bool, error) { return b.s.TTL([]byte(key)) }

func (b dbSpace) next() (uint64, error) { return b.s.NextSequence() }

func (b dbSpace) sequence() (uint64, error) { return b.s.Sequence() }

func (b dbSpace) setSequence(n uint64) error { return b.s.SetSequence(n) }

func (b dbSpace) cursor() cursor { return dbCursor{b.s.Cursor()} }

// dbCursor is a cursor of a real database.
type dbCursor struct{ c *stoat.Cursor }

func (c dbCursor) delete() error { return c.c.Delete() }

func (c dbCursor) move(verb, key string) (e model.Entry, ok bool, err error) {
	var k, v []byte
	switch verb {
	case "first":
		k, v = c.c.First()
	case "last":
		k, v = c.c.Last()
	case "seek":
		k, v = c.c.Seek([]byte(key))
	case "movenext":
		k, v = c.c.Next()
	default:
		k, v = c.c.Prev()
	}
	return model.Entry{Key: string(k), Value: string(v)}, k != nil, c.c.Err()
}
