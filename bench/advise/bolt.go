package advise

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// lockWait is how long to wait for a program that has the database open.
const lockWait = time.Second

// mostDepth is the maximum nesting depth of buckets. In a damaged file, a bucket may contain
// itself.
const mostDepth = 1000

// eachPair calls take with each pair of all buckets. Damage that makes bbolt panic or read beyond
// the end of the file becomes an error.
func (in input) eachPair(take func(e entry) bool) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("bbolt database %s is damaged: %v", in.path, p)
		}
	}()
	db, err := in.openBolt()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.View(func(tx *bbolt.Tx) error {
		w := boltWalk{in: in, take: take}
		_, err := w.bucket(tx.Cursor().Bucket(), 0)
		return err
	})
}

// openBolt opens the database for reading.
func (in input) openBolt() (*bbolt.DB, error) {
	options := *bbolt.DefaultOptions
	options.ReadOnly, options.Timeout = true, lockWait
	db, err := bbolt.Open(in.path, 0, &options)
	var system *fs.PathError
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("another program has %s open; stop it, or give a copy", in.path)
	case errors.As(err, &system):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%s is not a bbolt database: %w", in.path, err)
	}
	return db, nil
}

// boltWalk is a walk over all pairs of a database.
type boltWalk struct {
	in      input
	take    func(e entry) bool
	buckets int // that have pairs
}

// bucket walks over a bucket and the buckets in it, and reports whether to continue.
func (w *boltWalk) bucket(b *bbolt.Bucket, depth int) (more bool, err error) {
	if depth > mostDepth {
		return false, fmt.Errorf("%s nests more than %d buckets", w.in.path, mostDepth)
	}
	number := -1
	cursor := b.Cursor()
	for key, value := cursor.First(); key != nil; key, value = cursor.Next() {
		if value == nil {
			inner := b.Bucket(key)
			if inner == nil {
				continue // bbolt has no bucket under a key that should have one
			}
			if more, err := w.bucket(inner, depth+1); !more {
				return false, err
			}
			continue
		}
		if number < 0 {
			number = w.buckets
			w.buckets++
		}
		if !w.take(entry{key: key, value: value, bucket: number}) {
			return false, nil
		}
	}
	return true, nil
}
