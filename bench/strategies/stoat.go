package strategies

import (
	"errors"
	"iter"

	"github.com/stoatdb/stoat"
)

// stoatDB is Stoat.
type stoatDB struct{ db *stoat.DB }

func openStoat(dir string, synced bool) (DB, error) {
	mode := stoat.SyncAlways
	if !synced {
		mode = stoat.SyncNever
	}
	db, err := stoat.Open(dir, &stoat.Options{Sync: mode})
	if err != nil {
		return nil, err
	}
	return stoatDB{db}, nil
}

func (d stoatDB) View(fn func(root Bucket) error) error {
	return d.db.View(func(tx *stoat.Tx) error { return fn(stoatBucket[*stoat.Tx]{tx}) })
}

func (d stoatDB) Update(fn func(root Bucket) error) error {
	return d.db.Update(func(tx *stoat.Tx) error { return fn(stoatBucket[*stoat.Tx]{tx}) })
}

func (d stoatDB) Close() error { return d.db.Close() }

// stoatSpace is what a transaction, which is the root bucket, and a bucket have in common.
type stoatSpace interface {
	*stoat.Tx | *stoat.Bucket
	Get(key []byte) ([]byte, error)
	Put(key, value []byte) error
	Delete(key []byte) error
	Scan(r stoat.Range) iter.Seq2[[]byte, []byte]
	Heads(r stoat.Range, n int) iter.Seq2[[]byte, []byte]
	Bucket(name []byte) (*stoat.Bucket, error)
	CreateBucket(name []byte) (*stoat.Bucket, error)
}

// stoatBucket is the root bucket or a bucket within it.
type stoatBucket[S stoatSpace] struct{ space S }

func (b stoatBucket[S]) Get(key []byte) ([]byte, error) {
	value, err := b.space.Get(key)
	if errors.Is(err, stoat.ErrNotFound) {
		return nil, nil
	}
	return value, err
}

func (b stoatBucket[S]) Put(key, value []byte) error { return b.space.Put(key, value) }

func (b stoatBucket[S]) Delete(key []byte) error { return b.space.Delete(key) }

// Scan leaves errors to the transaction, whose end reports them.
func (b stoatBucket[S]) Scan(start, end []byte) iter.Seq2[[]byte, []byte] {
	return b.space.Scan(stoat.Range{Start: start, End: end})
}

func (b stoatBucket[S]) Heads(start, end []byte, n int) iter.Seq2[[]byte, []byte] {
	return b.space.Heads(stoat.Range{Start: start, End: end}, n)
}

func (b stoatBucket[S]) Bucket(name []byte) (Bucket, error) {
	bucket, err := b.space.Bucket(name)
	return stoatBucket[*stoat.Bucket]{bucket}, err
}

func (b stoatBucket[S]) CreateBucket(name []byte) (Bucket, error) {
	bucket, err := b.space.CreateBucket(name)
	return stoatBucket[*stoat.Bucket]{bucket}, err
}
