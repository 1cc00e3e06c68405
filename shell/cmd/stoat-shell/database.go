package main

import (
	"errors"
	"io/fs"
	"iter"

	"github.com/stoatdb/stoat"
)

// bucket is what a transaction, as the root bucket, and any other bucket have in common.
type bucket interface {
	Bucket(name []byte) (*stoat.Bucket, error)
	Buckets() iter.Seq[[]byte]
	Keys(r stoat.Range) iter.Seq[[]byte]
}

// view runs fn with a snapshot of the database, without a lock. A database that is not there is
// empty: a command of the shell may create it.
func view(dir string, fn func(tx *stoat.Tx) error) error {
	db, err := stoat.Open(dir, &stoat.Options{ReadOnly: true})
	if errors.Is(err, fs.ErrNotExist) {
		db, err = stoat.OpenMemory(nil)
	}
	if err != nil {
		return err
	}
	return errors.Join(db.View(fn), db.Close())
}

// find returns the bucket at a path.
func find(tx *stoat.Tx, path []string) (bucket, error) {
	var b bucket = tx
	for _, name := range path {
		next, err := b.Bucket([]byte(name))
		if err != nil {
			return nil, err
		}
		b = next
	}
	return b, nil
}
