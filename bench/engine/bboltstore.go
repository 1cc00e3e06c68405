package engine

import (
	"errors"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// bboltStore is a database with the messages in one bucket.
type bboltStore struct {
	db    *bbolt.DB
	order Order
	codec codec
}

func openBbolt(dir string, o Options, c codec) (Store, error) {
	options := *bbolt.DefaultOptions
	options.NoSync = !o.Sync
	db, err := bbolt.Open(filepath.Join(dir, "bbolt.db"), 0o600, &options)
	if err != nil {
		return nil, err
	}
	return &bboltStore{db: db, order: o.Order, codec: c}, nil
}

func (s *bboltStore) Append(values [][]byte) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		bucket, err := tx.CreateBucketIfNotExists(bboltBucket())
		if err != nil {
			return err
		}
		var key [KeyBytes]byte
		for _, value := range values {
			next, err := bucket.NextSequence()
			if err != nil {
				return err
			}
			s.order.Put(key[:], next-1)
			if err := bucket.Put(key[:], s.stored(value)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *bboltStore) Put(key, value []byte, writers Writers) error {
	put := func(tx *bbolt.Tx) error {
		bucket, err := tx.CreateBucketIfNotExists(bboltBucket())
		if err != nil {
			return err
		}
		return bucket.Put(key, s.stored(value))
	}
	if writers == ManyWriters {
		return s.db.Batch(put)
	}
	return s.db.Update(put)
}

func (s *bboltStore) View() error {
	return s.db.View(func(*bbolt.Tx) error { return nil })
}

func (s *bboltStore) Get(key []byte) (size int, err error) {
	err = s.view(func(bucket *bbolt.Bucket) error {
		value, err := s.get(bucket, key)
		size = len(value)
		return err
	})
	return size, err
}

func (s *bboltStore) GetMany(keys [][]byte) (size int, err error) {
	err = s.view(func(bucket *bbolt.Bucket) error {
		for _, key := range keys {
			value, err := s.get(bucket, key)
			if err != nil {
				return err
			}
			size += len(value)
		}
		return nil
	})
	return size, err
}

func (s *bboltStore) Iterate(start []byte, n int, look Look) (w Walk, err error) {
	err = s.view(func(bucket *bbolt.Bucket) error {
		cursor := bucket.Cursor()
		for key, stored := cursor.Seek(start); key != nil && w.Entries < n; key, stored = cursor.Next() {
			value, err := s.value(stored)
			if err != nil {
				return err
			}
			w.Entries++
			w.Bytes += len(value)
			if look == TouchValues {
				w.Sum += Touch(value)
			}
		}
		return nil
	})
	return w, err
}

func (s *bboltStore) Write(pairs []Pair) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		bucket, err := tx.CreateBucketIfNotExists(bboltBucket())
		if err != nil {
			return err
		}
		for _, p := range pairs {
			if p.Value == nil {
				err = bucket.Delete(p.Key)
			} else {
				err = bucket.Put(p.Key, s.stored(p.Value))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *bboltStore) Copy(key, buf []byte) (value []byte, found bool, err error) {
	value = buf[:0]
	err = s.view(func(bucket *bbolt.Bucket) error {
		stored := bucket.Get(key)
		if stored == nil {
			return nil
		}
		v, err := s.value(stored)
		value, found = append(value, v...), err == nil
		return err
	})
	return value, found, err
}

func (s *bboltStore) CopyAll(n int, part Part) (Walk, error) {
	var c copier
	err := s.view(func(bucket *bbolt.Bucket) error {
		cursor := bucket.Cursor()
		for key, stored := cursor.First(); key != nil && c.walk.Entries < n; key, stored = cursor.Next() {
			if part == KeysOnly {
				c.copy(key, nil)
				continue
			}
			value, err := s.value(stored)
			if err != nil {
				return err
			}
			c.copy(key, value)
		}
		return nil
	})
	return c.walk, err
}

func (s *bboltStore) Each(fn func(key, value []byte) error) error {
	return s.view(func(bucket *bbolt.Bucket) error {
		return bucket.ForEach(func(key, stored []byte) error {
			value, err := s.value(stored)
			if err != nil {
				return err
			}
			return fn(key, value)
		})
	})
}

func (s *bboltStore) Close() error { return s.db.Close() }

// view runs fn with the bucket in a read transaction.
func (s *bboltStore) view(fn func(bucket *bbolt.Bucket) error) error {
	return s.db.View(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(bboltBucket())
		if bucket == nil {
			return errors.New("bucket not found")
		}
		return fn(bucket)
	})
}

func (s *bboltStore) get(bucket *bbolt.Bucket, key []byte) ([]byte, error) {
	stored := bucket.Get(key)
	if stored == nil {
		return nil, errors.New("key not found")
	}
	return s.value(stored)
}

// stored returns the stored form of a value.
func (s *bboltStore) stored(value []byte) []byte {
	if s.codec.encode == nil {
		return value
	}
	return s.codec.encode(value)
}

// value returns the value of a stored form.
func (s *bboltStore) value(stored []byte) ([]byte, error) {
	if s.codec.decode == nil {
		return stored, nil
	}
	return s.codec.decode(stored)
}
