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

// subject is a database that plans are played on: a real one, or the reference.
type subject interface {
	open() error
	close() error
	between() error // called outside of transactions; it may do what nobody can see
	begin(writable bool) (branch, error)
	view(fn func(b branch) error) error
	update(fn func(b branch) error) error
	load(pairs []model.Entry) error
	keepUp(verb string) error // flush, compact, sync, check
	reopen() (*model.Bucket, error)
	backup() (*model.Bucket, error) // returns what is in it
}

// branch is a transaction.
type branch interface {
	space(path string) (space, error)
	dump() (*model.Bucket, error)
	end(commit bool) error
}

// space is a bucket within a branch.
type space interface {
	get(key string) (string, error)
	has(key string) (bool, error)
	put(key, value string, ttl time.Duration) error // for ever if ttl is 0
	delete(key string) error
	deleteRange(r stoat.Range) error
	swap(key string, old *string, value string) (bool, error) // old is nil for an absent key
	remove(key string, old *string) (bool, error)
	scan(r stoat.Range) ([]model.Entry, error)
	keys(r stoat.Range) ([]string, error)
	buckets() ([]string, error)
	create(name string) error
	drop(name string) error
	move(old string, to space, name string) error
	ttl(key string) (time.Duration, bool, error)
	next() (uint64, error)
	sequence() (uint64, error)
	setSequence(n uint64) error
	cursor() pointer
}

// pointer is a cursor.
type pointer interface {
	move(verb, key string) (e model.Entry, ok bool, err error)
	delete() error
}

// database is the subject that is real.
type database struct {
	setting
	fs      vfs.FS
	dir     string
	db      *stoat.DB
	rng     *rand.Rand // for what is forced between actions
	backups int
}

func (d *database) open() (err error) { d.db, err = d.openAs(d.dir, false); return err }

func (d *database) openAs(dir string, readOnly bool) (*stoat.DB, error) {
	options := d.options
	if d.volatile {
		return tuned.OpenMemory(&options, d.tuning)
	}
	options.ReadOnly = readOnly
	return tuned.Open(d.fs, dir, &options, d.tuning)
}

func (d *database) close() error { return d.db.Close() }

func (d *database) between() error {
	switch {
	case d.forced == 0 || d.rng.IntN(d.forced) > 0:
		return nil
	case d.rng.IntN(4) == 0:
		return d.keepUp("compact")
	}
	return d.keepUp("flush")
}

func (d *database) begin(writable bool) (branch, error) {
	tx, err := d.db.Begin(writable)
	return transaction{tx}, err
}

func (d *database) view(fn func(b branch) error) error {
	return d.db.View(func(tx *stoat.Tx) error { return fn(transaction{tx}) })
}

func (d *database) update(fn func(b branch) error) error {
	return d.db.Update(func(tx *stoat.Tx) error { return fn(transaction{tx}) })
}

func (d *database) load(pairs []model.Entry) error {
	return d.db.Load(context.Background(), bytePairs(pairs))
}

// bytePairs returns a loop over the entries as keys and values.
func bytePairs(pairs []model.Entry) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for _, e := range pairs {
			if !yield([]byte(e.Key), []byte(e.Value)) {
				return
			}
		}
	}
}

func (d *database) keepUp(verb string) error {
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

func (d *database) reopen() (*model.Bucket, error) {
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

// contents returns what is in the database in dir, which must be closed.
func (d *database) contents(dir string, readOnly bool) (*model.Bucket, error) {
	db, err := d.openAs(dir, readOnly)
	if err != nil {
		return nil, err
	}
	all, err := dumpDB(db)
	return all, errors.Join(err, db.Close())
}

func (d *database) backup() (*model.Bucket, error) {
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

// transaction is a branch of a real database.
type transaction struct{ tx *stoat.Tx }

func (t transaction) space(path string) (space, error) {
	var s stoat.KeySpace = t.tx
	for name := range names(path) {
		b, err := s.Bucket([]byte(name))
		if err != nil {
			return nil, err
		}
		s = b
	}
	return bucketSpace{s, t.tx}, nil
}

func (t transaction) dump() (*model.Bucket, error) { return dump(t.tx) }

func (t transaction) end(commit bool) error {
	if commit {
		return t.tx.Commit()
	}
	return t.tx.Rollback()
}

// bucketSpace is a space of a real database.
type bucketSpace struct {
	s  stoat.KeySpace
	tx *stoat.Tx
}

func (b bucketSpace) get(key string) (string, error) {
	value, err := b.s.Get([]byte(key))
	if err == nil && value == nil {
		err = errors.New("the value is nil")
	}
	return string(value), err
}

func (b bucketSpace) has(key string) (bool, error) { return b.s.Has([]byte(key)) }

func (b bucketSpace) put(key, value string, ttl time.Duration) error {
	if ttl == 0 {
		return b.s.Put([]byte(key), []byte(value))
	}
	return b.s.PutTTL([]byte(key), []byte(value), ttl)
}

func (b bucketSpace) delete(key string) error { return b.s.Delete([]byte(key)) }

func (b bucketSpace) deleteRange(r stoat.Range) error { return b.s.DeleteRange(r) }

func (b bucketSpace) swap(key string, old *string, value string) (bool, error) {
	return b.s.CompareAndSwap([]byte(key), bytesOf(old), []byte(value))
}

func (b bucketSpace) remove(key string, old *string) (bool, error) {
	return b.s.CompareAndDelete([]byte(key), bytesOf(old))
}

// bytesOf returns the bytes of s, which are nil only if s is.
func bytesOf(s *string) []byte {
	if s == nil {
		return nil
	}
	return append([]byte{}, *s...)
}

func (b bucketSpace) scan(r stoat.Range) (entries []model.Entry, err error) {
	for key, value := range b.s.Scan(r) {
		entries = append(entries, model.Entry{Key: string(key), Value: string(value)})
	}
	return entries, b.tx.Err()
}

func (b bucketSpace) keys(r stoat.Range) ([]string, error) {
	return keysOf(b.s.Keys(r)), b.tx.Err()
}

func (b bucketSpace) buckets() ([]string, error) { return keysOf(b.s.Buckets()), b.tx.Err() }

func (b bucketSpace) create(name string) error {
	_, err := b.s.CreateBucket([]byte(name))
	return err
}

func (b bucketSpace) drop(name string) error { return b.s.DeleteBucket([]byte(name)) }

func (b bucketSpace) move(old string, to space, name string) error {
	return b.s.MoveBucket([]byte(old), to.(bucketSpace).s, []byte(name))
}

func (b bucketSpace) ttl(key string) (time.Duration, bool, error) { return b.s.TTL([]byte(key)) }

func (b bucketSpace) next() (uint64, error) { return b.s.NextSequence() }

func (b bucketSpace) sequence() (uint64, error) { return b.s.Sequence() }

func (b bucketSpace) setSequence(n uint64) error { return b.s.SetSequence(n) }

func (b bucketSpace) cursor() pointer { return bucketCursor{b.s.Cursor()} }

// bucketCursor is a pointer of a real database.
type bucketCursor struct{ c *stoat.Cursor }

func (c bucketCursor) delete() error { return c.c.Delete() }

func (c bucketCursor) move(verb, key string) (e model.Entry, ok bool, err error) {
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
