package items

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/bench/engine"
)

// stoatStore is Stoat, with a bucket for each repository. It stores the items as JSON, by id.
type stoatStore struct{ db *stoat.DB }

// stoatRepository is a repository of a stoatStore.
type stoatRepository struct {
	db   *stoat.DB
	name []byte // of the bucket: the repository's path
}

func stoatImplementation() implementation {
	return implementation{
		About: engine.About{
			Name:     "stoat",
			Module:   "github.com/stoatdb/stoat",
			Settings: "none; one bucket per repository, items as JSON, by id",
		},
		open: openStoat,
	}
}

func openStoat(dir string, sync bool) (store, error) {
	db, err := openDB(dir, sync)
	if err != nil {
		return nil, err
	}
	return &stoatStore{db: db}, nil
}

// openDB opens a Stoat database.
func openDB(dir string, sync bool) (*stoat.DB, error) {
	mode := stoat.SyncAlways
	if !sync {
		mode = stoat.SyncNever
	}
	return stoat.Open(dir, &stoat.Options{Sync: mode})
}

func (s *stoatStore) repository(path string) (repository, error) {
	r := &stoatRepository{db: s.db, name: []byte(path)}
	err := r.view(func(*stoat.Tx, *stoat.Bucket) error { return nil })
	if errors.Is(err, stoat.ErrBucketNotFound) {
		err = s.db.Update(func(tx *stoat.Tx) error {
			_, err := tx.CreateBucketIfNotExists(r.name)
			return err
		})
	}
	return r, err
}

func (s *stoatStore) read(path string) (it item, err error) {
	name, id, err := split(path)
	if err != nil {
		return it, err
	}
	err = s.db.View(func(tx *stoat.Tx) error {
		b, err := tx.Bucket([]byte(name))
		if err != nil {
			return err
		}
		it, err = stoatGet(b, id)
		return err
	})
	return it, err
}

func (s *stoatStore) close() error { return s.db.Close() }

// stoatGet reads an item from a repository's bucket.
func stoatGet(b *stoat.Bucket, id string) (it item, err error) {
	value, err := b.Get([]byte(id))
	if errors.Is(err, stoat.ErrNotFound) {
		return it, errNotFound
	}
	if err != nil {
		return it, err
	}
	it.ID = id
	return it, json.Unmarshal(value, &it)
}

// view runs fn in a read transaction.
func (r *stoatRepository) view(fn func(tx *stoat.Tx, b *stoat.Bucket) error) error {
	return r.db.View(func(tx *stoat.Tx) error {
		b, err := tx.Bucket(r.name)
		if err != nil {
			return err
		}
		return fn(tx, b)
	})
}

// change runs fn in a write transaction.
func (r *stoatRepository) change(fn func(b *stoat.Bucket) error) error {
	return r.db.Update(func(tx *stoat.Tx) error {
		b, err := tx.Bucket(r.name)
		if err != nil {
			return err
		}
		return fn(b)
	})
}

func (r *stoatRepository) create(items ...item) error {
	return r.change(func(b *stoat.Bucket) error {
		for _, it := range items {
			value, err := json.Marshal(&it)
			if err != nil {
				return err
			}
			created, err := b.CompareAndSwap([]byte(it.ID), nil, value)
			if err != nil {
				return err
			}
			if !created {
				return fmt.Errorf("item %s already exists", it.ID)
			}
		}
		return nil
	})
}

// update reads the item first, because a document may have fields other than those to set.
func (r *stoatRepository) update(it item) error {
	return r.change(func(b *stoat.Bucket) error {
		stored, err := stoatGet(b, it.ID)
		if err != nil {
			return err
		}
		stored.Title, stored.Count, stored.Tags = it.Title, it.Count, it.Tags
		value, err := json.Marshal(&stored)
		if err != nil {
			return err
		}
		return b.Put([]byte(it.ID), value)
	})
}

func (r *stoatRepository) readMany(ids []string) (found []item, err error) {
	found = make([]item, 0, len(ids))
	err = r.view(func(_ *stoat.Tx, b *stoat.Bucket) error {
		for _, id := range ids {
			it, err := stoatGet(b, id)
			if err != nil {
				return err
			}
			found = append(found, it)
		}
		return nil
	})
	return found, err
}

func (r *stoatRepository) readAll() (found []item, err error) {
	err = r.view(func(tx *stoat.Tx, b *stoat.Bucket) error {
		for id, value := range b.Scan(stoat.Range{}) {
			it := item{ID: string(id)}
			if err := json.Unmarshal(value, &it); err != nil {
				return err
			}
			found = append(found, it)
		}
		return tx.Err()
	})
	return found, err
}

// query decodes what the filter needs of each item first, and all of those that pass it.
func (r *stoatRepository) query(q query) (found []item, err error) {
	err = r.view(func(tx *stoat.Tx, b *stoat.Bucket) error {
		for id, value := range b.Scan(stoat.Range{}) {
			var head struct {
				Count int `json:"count"`
			}
			if err := json.Unmarshal(value, &head); err != nil {
				return err
			}
			if !q.counts(head.Count) {
				continue
			}
			it := item{ID: string(id)}
			if err := json.Unmarshal(value, &it); err != nil {
				return err
			}
			if q.tags(it.Tags) {
				found = append(found, it)
			}
		}
		return tx.Err()
	})
	q.sort(found)
	return found, err
}

func (r *stoatRepository) count() (n int, err error) {
	err = r.view(func(tx *stoat.Tx, b *stoat.Bucket) error {
		for range b.Keys(stoat.Range{}) {
			n++
		}
		return tx.Err()
	})
	return n, err
}

func (r *stoatRepository) keys() (ids []string, err error) {
	err = r.view(func(tx *stoat.Tx, b *stoat.Bucket) error {
		for id := range b.Keys(stoat.Range{}) {
			ids = append(ids, string(id))
		}
		return tx.Err()
	})
	return ids, err
}
