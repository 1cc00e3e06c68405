package engine

import (
	"errors"

	"github.com/stoatdb/stoat"
)

// stoatStore is Stoat, with the messages in the root bucket.
type stoatStore struct {
	db    *stoat.DB
	order Order
}

func stoatEngines() []Engine {
	with := func(name, settings string, c stoat.Compression) Engine {
		return Engine{
			About: About{
				Name:     name,
				Module:   "github.com/stoatdb/stoat",
				Settings: settings,
				Extra:    c != stoat.CompressionAuto,
			},
			Open: func(dir string, o Options) (Store, error) {
				return openStoat(dir, o, c)
			},
		}
	}
	return []Engine{
		with("stoat", "none", stoat.CompressionAuto),
		with("stoat-none", "Compression none", stoat.CompressionNone),
		with("stoat-zstd", "Compression zstd", stoat.CompressionZstd),
	}
}

func openStoat(dir string, o Options, c stoat.Compression) (Store, error) {
	mode := stoat.SyncAlways
	if !o.Sync {
		mode = stoat.SyncNever
	}
	limit := 2 * o.Cache // for caches and memtables; blocks get up to half of it
	db, err := stoat.Open(dir, &stoat.Options{Sync: mode, MemoryLimit: limit, Compression: c})
	if err != nil {
		return nil, err
	}
	return &stoatStore{db: db, order: o.Order}, nil
}

func (s *stoatStore) Append(values [][]byte) error {
	return s.db.Update(func(tx *stoat.Tx) error {
		var key [KeyBytes]byte
		for _, value := range values {
			next, err := tx.NextSequence()
			if err != nil {
				return err
			}
			s.order.Put(key[:], next-1)
			if err := tx.Put(key[:], value); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *stoatStore) Put(key, value []byte, _ Writers) error { return s.db.Put(key, value) }

func (s *stoatStore) View() error {
	return s.db.View(func(*stoat.Tx) error { return nil })
}

func (s *stoatStore) Get(key []byte) (size int, err error) {
	err = s.db.View(func(tx *stoat.Tx) error {
		value, err := tx.Get(key)
		size = len(value)
		return err
	})
	return size, err
}

func (s *stoatStore) GetMany(keys [][]byte) (size int, err error) {
	err = s.db.View(func(tx *stoat.Tx) error {
		for _, key := range keys {
			value, err := tx.Get(key)
			if err != nil {
				return err
			}
			size += len(value)
		}
		return nil
	})
	return size, err
}

func (s *stoatStore) Iterate(start []byte, n int, look Look) (w Walk, err error) {
	err = s.db.View(func(tx *stoat.Tx) error {
		for _, value := range tx.Scan(stoat.Range{Start: start, Limit: n}) {
			w.Entries++
			w.Bytes += len(value)
			if look == TouchValues {
				w.Sum += Touch(value)
			}
		}
		return tx.Err()
	})
	return w, err
}

func (s *stoatStore) Write(pairs []Pair) error {
	return s.db.Update(func(tx *stoat.Tx) error {
		for _, p := range pairs {
			err := error(nil)
			if p.Value == nil {
				err = tx.Delete(p.Key)
			} else {
				err = tx.Put(p.Key, p.Value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *stoatStore) Copy(key, buf []byte) (value []byte, found bool, err error) {
	value = buf[:0]
	err = s.db.View(func(tx *stoat.Tx) error {
		stored, err := tx.Get(key)
		if errors.Is(err, stoat.ErrNotFound) {
			return nil
		}
		value, found = append(value, stored...), err == nil
		return err
	})
	return value, found, err
}

func (s *stoatStore) CopyAll(n int, part Part) (Walk, error) {
	var c copier
	err := s.db.View(func(tx *stoat.Tx) error {
		if part == KeysOnly {
			for key := range tx.Keys(stoat.Range{Limit: n}) {
				c.copy(key, nil)
			}
		} else {
			for key, value := range tx.Scan(stoat.Range{Limit: n}) {
				c.copy(key, value)
			}
		}
		return tx.Err()
	})
	return c.walk, err
}

func (s *stoatStore) Each(fn func(key, value []byte) error) error {
	return s.db.View(func(tx *stoat.Tx) error {
		for key, value := range tx.Scan(stoat.Range{}) {
			if err := fn(key, value); err != nil {
				return err
			}
		}
		return tx.Err()
	})
}

func (s *stoatStore) Memory() (memtables, cache int64) {
	stats := s.db.Stats()
	return stats.MemtableBytes, stats.CacheBytes
}

func (s *stoatStore) Close() error { return s.db.Close() }
