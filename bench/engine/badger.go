package engine

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

// badgerStore is Badger.
type badgerStore struct {
	db    *badger.DB
	order Order
}

func badgerEngines() []Engine {
	with := func(name, settings string, c options.CompressionType) Engine {
		return Engine{
			About: About{
				Name:     name,
				Module:   "github.com/dgraph-io/badger/v4",
				Settings: "SyncWrites with -sync always, no logger, no PrefetchValues" + settings,
			},
			ValueFiles: "*.vlog",
			Open: func(dir string, o Options) (Store, error) {
				return openBadger(dir, o, c)
			},
		}
	}
	return []Engine{
		with("badger", ", Compression none", options.None),
		with("badger-snappy", "", options.Snappy),
		with("badger-zstd", ", Compression zstd (level 1)", options.ZSTD),
	}
}

func openBadger(dir string, o Options, c options.CompressionType) (Store, error) {
	settings := badger.DefaultOptions(dir).
		WithSyncWrites(o.Sync).
		WithCompression(c).
		WithLogger(nil)
	if o.Cache > 0 {
		const least = 8 << 20 // of a memtable, with room for everything outside the value log
		settings = settings.WithBlockCacheSize(o.Cache).WithMemTableSize(max(o.Cache, least))
	}
	db, err := badger.Open(settings)
	if err != nil {
		return nil, err
	}
	return &badgerStore{db: db, order: o.Order}, nil
}

func (s *badgerStore) Append(values [][]byte) error {
	return s.db.Update(func(txn *badger.Txn) error {
		next, err := s.next(txn)
		if err != nil {
			return err
		}
		keys := make([]byte, KeyBytes*len(values)) // the transaction retains keys and values
		for i, value := range values {
			key := keys[i*KeyBytes : (i+1)*KeyBytes]
			s.order.Put(key, next)
			if err := txn.Set(key, value); err != nil {
				return err
			}
			next++
		}
		return txn.Set(counterKey(), binary.LittleEndian.AppendUint64(nil, next))
	})
}

// next returns the next sequence number.
func (s *badgerStore) next(txn *badger.Txn) (next uint64, err error) {
	item, err := txn.Get(counterKey())
	if errors.Is(err, badger.ErrKeyNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	err = item.Value(func(value []byte) error {
		next, err = counter(value)
		return err
	})
	return next, err
}

func (s *badgerStore) Put(key, value []byte, _ Writers) error {
	return s.db.Update(func(txn *badger.Txn) error { return txn.Set(key, value) })
}

func (s *badgerStore) View() error {
	return s.db.View(func(*badger.Txn) error { return nil })
}

func (s *badgerStore) Get(key []byte) (size int, err error) {
	err = s.db.View(func(txn *badger.Txn) error {
		item, err := txn.Get(key)
		if err != nil {
			return err
		}
		return item.Value(func(value []byte) error {
			size = len(value)
			return nil
		})
	})
	return size, err
}

func (s *badgerStore) GetMany(keys [][]byte) (size int, err error) {
	err = s.db.View(func(txn *badger.Txn) error {
		add := func(value []byte) error {
			size += len(value)
			return nil
		}
		for _, key := range keys {
			item, err := txn.Get(key)
			if err != nil {
				return err
			}
			if err := item.Value(add); err != nil {
				return err
			}
		}
		return nil
	})
	return size, err
}

func (s *badgerStore) Iterate(start []byte, n int, look Look) (w Walk, err error) {
	err = s.db.View(func(txn *badger.Txn) error {
		visit := func(value []byte) error {
			w.Bytes += len(value)
			if look == TouchValues {
				w.Sum += Touch(value)
			}
			return nil
		}
		it := txn.NewIterator(badgerIteration())
		defer it.Close()
		for it.Seek(start); it.Valid() && w.Entries < n; it.Next() {
			w.Entries++
			if err := it.Item().Value(visit); err != nil {
				return err
			}
		}
		return nil
	})
	return w, err
}

func (s *badgerStore) Write(pairs []Pair) error {
	return s.db.Update(func(txn *badger.Txn) error {
		for _, p := range pairs {
			var err error
			if p.Value == nil {
				err = txn.Delete(p.Key)
			} else {
				err = txn.Set(p.Key, p.Value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *badgerStore) Copy(key, buf []byte) (value []byte, found bool, err error) {
	value = buf[:0]
	err = s.db.View(func(txn *badger.Txn) error {
		item, err := txn.Get(key)
		if errors.Is(err, badger.ErrKeyNotFound) {
			return nil
		}
		if err == nil {
			value, err = item.ValueCopy(value)
			found = err == nil
		}
		return err
	})
	return value, found, err
}

func (s *badgerStore) CopyAll(n int, part Part) (Walk, error) {
	var c copier
	err := s.db.View(func(txn *badger.Txn) error {
		it := txn.NewIterator(badgerIteration())
		defer it.Close()
		for it.Rewind(); it.Valid() && c.walk.Entries < n; it.Next() {
			key := it.Item().Key()
			if part == KeysOnly {
				c.copy(key, nil)
				continue
			}
			err := it.Item().Value(func(value []byte) error {
				c.copy(key, value)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return c.walk, err
}

func (s *badgerStore) Each(fn func(key, value []byte) error) error {
	return s.db.View(func(txn *badger.Txn) error {
		it := txn.NewIterator(badgerIteration())
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			key := it.Item().Key()
			if bytes.Equal(key, counterKey()) {
				return nil
			}
			err := it.Item().Value(func(value []byte) error { return fn(key, value) })
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// badgerIteration returns the options of an iterator. Prefetching is meant for values in the value
// log: it copies each value beside its key and takes four times as long for ours.
func badgerIteration() badger.IteratorOptions {
	options := badger.DefaultIteratorOptions
	options.PrefetchValues = false
	return options
}

func (s *badgerStore) Close() error { return s.db.Close() }
