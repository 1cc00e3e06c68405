package items

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/replica"
)

// stoatStore is a store on Stoat's packages record and replica, with a collection for each
// repository. The tags of [item] name its key and its index.
type stoatStore struct {
	db    *stoat.DB
	space *replica.Space              // nil without replication
	open  map[string]*stoatRepository // by path
}

// stoatRepository is a repository of a stoatStore.
type stoatRepository struct {
	db    *stoat.DB
	items *record.Collection[item]
}

// replication says whether and how a store is replicated.
type replication int

const (
	notReplicated replication = iota
	signed
	trusted
)

func stoatImplementations() []implementation {
	about := func(name, layer string) engine.About {
		return engine.About{Name: name, Module: "github.com/stoatdb/stoat",
			Settings: layer + ", one collection per repository, with an index of the tags"}
	}
	return []implementation{
		{about("stoat", "none; package record"),
			func(dir string, sync bool) (store, error) { return openStoat(dir, sync, notReplicated) }},
		{about("stoat-signed", "package replica, one signed space"),
			func(dir string, sync bool) (store, error) { return openStoat(dir, sync, signed) }},
		{about("stoat-trusted", "package replica, one trusted space"),
			func(dir string, sync bool) (store, error) { return openStoat(dir, sync, trusted) }},
	}
}

func openStoat(dir string, sync bool, r replication) (store, error) {
	mode := stoat.SyncAlways
	if !sync {
		mode = stoat.SyncNever
	}
	db, err := stoat.Open(filepath.Join(dir, "db"), &stoat.Options{Sync: mode})
	if err != nil {
		return nil, err
	}
	s := &stoatStore{db: db, open: make(map[string]*stoatRepository)}
	if r == notReplicated {
		return s, nil
	}
	if s.space, err = openSpace(db, filepath.Join(dir, "device"), r); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// openSpace opens the space of a database, and creates it if necessary. The file has the key of its
// device.
func openSpace(db *stoat.DB, file string, r replication) (*replica.Space, error) {
	const name = "bench"
	key, err := os.ReadFile(file)
	if err == nil {
		device, err := replica.LoadDevice(key)
		if err != nil {
			return nil, err
		}
		return replica.Open(db, name, &replica.Options{Device: device})
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	device, err := replica.NewDevice()
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(file, device.Key(), 0o600); err != nil {
		return nil, err
	}
	return replica.Create(db, name, &replica.Options{Device: device, Trusted: r == trusted})
}

func (s *stoatStore) repository(path string) (repository, error) {
	var items *record.Collection[item]
	var err error
	if s.space == nil {
		items, err = record.Open[item](s.db, path, nil)
	} else {
		items, err = replica.Collection[item](s.space, path, nil)
	}
	if err != nil {
		return nil, err
	}
	r := &stoatRepository{db: s.db, items: items}
	s.open[path] = r
	return r, nil
}

func (s *stoatStore) read(path string) (it item, err error) {
	name, id, err := split(path)
	if err != nil {
		return it, err
	}
	r, ok := s.open[name]
	if !ok {
		return it, notOpen(name)
	}
	err = s.db.View(func(tx *stoat.Tx) error { return absent(r.items.GetInto(tx, id, &it)) })
	return it, err
}

func (s *stoatStore) close() error { return s.db.Close() }

// absent translates an error of the package.
func absent(err error) error {
	if errors.Is(err, stoat.ErrNotFound) {
		return errNotFound
	}
	return err
}

func (r *stoatRepository) create(items ...item) error {
	return r.db.Update(func(tx *stoat.Tx) error {
		for i := range items {
			if err := r.items.Insert(tx, &items[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *stoatRepository) update(it item) error {
	return r.db.Update(func(tx *stoat.Tx) error {
		return absent(r.items.Update(tx, it.ID, func(stored *item) error {
			stored.Title, stored.Count, stored.Tags = it.Title, it.Count, it.Tags
			return nil
		}))
	})
}

func (r *stoatRepository) readMany(ids []string) ([]item, error) {
	found := make([]item, len(ids))
	err := r.db.View(func(tx *stoat.Tx) error {
		for i, id := range ids {
			if err := r.items.GetInto(tx, id, &found[i]); err != nil {
				return absent(err)
			}
		}
		return nil
	})
	return found, err
}

func (r *stoatRepository) readAll() ([]item, error) { return r.all(r.items.Query()) }

// all returns the result of a query.
func (r *stoatRepository) all(q record.Query[item]) (found []item, err error) {
	err = r.db.View(func(tx *stoat.Tx) error {
		for it, err := range q.All(tx) {
			if err != nil {
				return err
			}
			found = append(found, *it)
		}
		return nil
	})
	return found, err
}

func (r *stoatRepository) query(q query) ([]item, error) {
	wanted := r.items.Query().Where(record.Gt("count", q.above))
	if q.below != 0 {
		wanted = wanted.Where(record.Lt("count", q.below))
	}
	if q.tag != "" {
		wanted = wanted.Where(record.Has("tags", q.tag))
	}
	if q.byCount {
		wanted = wanted.OrderBy("count").Desc()
	}
	return r.all(wanted)
}

func (r *stoatRepository) count() (n int, err error) {
	err = r.db.View(func(tx *stoat.Tx) error {
		count, err := r.items.Count(tx)
		n = int(count)
		return err
	})
	return n, err
}

func (r *stoatRepository) keys() (ids []string, err error) {
	err = r.db.View(func(tx *stoat.Tx) error {
		for key, err := range r.items.Keys(tx) {
			if err != nil {
				return err
			}
			id, ok := key[0].(string)
			if !ok {
				return fmt.Errorf("the key %v is not a string", key)
			}
			ids = append(ids, id)
		}
		return nil
	})
	return ids, err
}
