package strategies

import (
	"bytes"
	"errors"
	"iter"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// bboltDB is bbolt. Its root bucket is a bucket within bbolt's own root, which holds only buckets.
type bboltDB struct{ db *bbolt.DB }

func openBbolt(dir string, synced bool) (DB, error) {
	options := *bbolt.DefaultOptions
	options.NoSync = !synced
	db, err := bbolt.Open(filepath.Join(dir, "bbolt.db"), 0o600, &options)
	if err != nil {
		return nil, err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bboltRoot())
		return err
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return bboltDB{db}, nil
}

func bboltRoot() []byte { return []byte("records") }

func (d bboltDB) View(fn func(root Bucket) error) error {
	return d.db.View(func(tx *bbolt.Tx) error { return fn(bboltBucket{tx.Bucket(bboltRoot())}) })
}

func (d bboltDB) Update(fn func(root Bucket) error) error {
	return d.db.Update(func(tx *bbolt.Tx) error { return fn(bboltBucket{tx.Bucket(bboltRoot())}) })
}

func (d bboltDB) Close() error { return d.db.Close() }

// bboltBucket is the bucket of all records or a bucket within it.
type bboltBucket struct{ bucket *bbolt.Bucket }

func (b bboltBucket) Get(key []byte) ([]byte, error) { return b.bucket.Get(key), nil }

func (b bboltBucket) Put(key, value []byte) error { return b.bucket.Put(key, value) }

func (b bboltBucket) Delete(key []byte) error { return b.bucket.Delete(key) }

func (b bboltBucket) Scan(start, end []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		cursor := b.bucket.Cursor()
		for key, value := cursor.Seek(start); key != nil; key, value = cursor.Next() {
			if len(end) > 0 && bytes.Compare(key, end) >= 0 || !yield(key, value) {
				return
			}
		}
	}
}

// Heads leaves nothing out: bbolt always finds the whole value.
func (b bboltBucket) Heads(start, end []byte, _ int) iter.Seq2[[]byte, []byte] {
	return b.Scan(start, end)
}

func (b bboltBucket) Bucket(name []byte) (Bucket, error) {
	bucket := b.bucket.Bucket(name)
	if bucket == nil {
		return nil, errors.New("no such bucket")
	}
	return bboltBucket{bucket}, nil
}

func (b bboltBucket) CreateBucket(name []byte) (Bucket, error) {
	bucket, err := b.bucket.CreateBucket(name)
	return bboltBucket{bucket}, err
}
