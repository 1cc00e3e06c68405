package engine

import (
	"encoding/binary"
	"errors"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/iterator"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/util"
)

// goleveldbStore is goleveldb. Its read transactions are snapshots, and each iterator is one too.
// It writes batches; its transactions are for writes larger than the write buffer, and large
// batches use them automatically.
type goleveldbStore struct {
	db    *leveldb.DB
	order Order
	write *opt.WriteOptions
}

func goleveldbEngine() Engine {
	return Engine{
		About: About{
			Name:     "goleveldb",
			Module:   "github.com/syndtr/goleveldb",
			Settings: "none; compression is Snappy by default",
		},
		Open: openGoleveldb,
	}
}

func openGoleveldb(dir string, o Options) (Store, error) {
	db, err := leveldb.OpenFile(dir, &opt.Options{BlockCacheCapacity: int(o.Cache)})
	if err != nil {
		return nil, err
	}
	return &goleveldbStore{db: db, order: o.Order, write: &opt.WriteOptions{Sync: o.Sync}}, nil
}

func (s *goleveldbStore) Append(values [][]byte) error {
	next, err := s.next()
	if err != nil {
		return err
	}
	batch := new(leveldb.Batch)
	var key [KeyBytes]byte
	for _, value := range values {
		s.order.Put(key[:], next)
		batch.Put(key[:], value)
		next++
	}
	batch.Put(counterKey(), binary.LittleEndian.AppendUint64(nil, next))
	return s.db.Write(batch, s.write)
}

// next returns the next sequence number.
func (s *goleveldbStore) next() (uint64, error) {
	value, err := s.db.Get(counterKey(), nil)
	if errors.Is(err, leveldb.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return counter(value)
}

func (s *goleveldbStore) Put(key, value []byte, _ Writers) error {
	return s.db.Put(key, value, s.write)
}

func (s *goleveldbStore) View() error {
	snapshot, err := s.db.GetSnapshot()
	if err != nil {
		return err
	}
	snapshot.Release()
	return nil
}

func (s *goleveldbStore) Get(key []byte) (int, error) {
	value, err := s.db.Get(key, nil)
	return len(value), err
}

func (s *goleveldbStore) GetMany(keys [][]byte) (size int, err error) {
	snapshot, err := s.db.GetSnapshot()
	if err != nil {
		return 0, err
	}
	defer snapshot.Release()
	for _, key := range keys {
		value, err := snapshot.Get(key, nil)
		if err != nil {
			return 0, err
		}
		size += len(value)
	}
	return size, nil
}

func (s *goleveldbStore) Iterate(start []byte, n int, look Look) (w Walk, err error) {
	it := s.db.NewIterator(nil, nil)
	for ok := it.Seek(start); ok && w.Entries < n; ok = it.Next() {
		value := it.Value()
		w.Entries++
		w.Bytes += len(value)
		if look == TouchValues {
			w.Sum += Touch(value)
		}
	}
	return w, release(it)
}

// release ends an iterator and returns its error.
func release(it iterator.Iterator) error {
	err := it.Error()
	it.Release()
	return err
}

func (s *goleveldbStore) Write(pairs []Pair) error {
	batch := new(leveldb.Batch)
	for _, p := range pairs {
		if p.Value == nil {
			batch.Delete(p.Key)
		} else {
			batch.Put(p.Key, p.Value)
		}
	}
	return s.db.Write(batch, s.write)
}

// Copy returns the engine's own copy of the value: it makes one for each get.
func (s *goleveldbStore) Copy(key, buf []byte) (value []byte, found bool, err error) {
	value, err = s.db.Get(key, nil)
	if errors.Is(err, leveldb.ErrNotFound) {
		return buf[:0], false, nil
	}
	return value, err == nil, err
}

func (s *goleveldbStore) CopyAll(n int, part Part) (Walk, error) {
	var c copier
	it := s.db.NewIterator(nil, nil)
	for ok := it.First(); ok && c.walk.Entries < n; ok = it.Next() {
		var value []byte
		if part == KeysAndValues {
			value = it.Value()
		}
		c.copy(it.Key(), value)
	}
	return c.walk, release(it)
}

func (s *goleveldbStore) Each(fn func(key, value []byte) error) error {
	it := s.db.NewIterator(&util.Range{Limit: counterKey()}, nil)
	for ok := it.First(); ok; ok = it.Next() {
		if err := fn(it.Key(), it.Value()); err != nil {
			it.Release()
			return err
		}
	}
	return release(it)
}

func (s *goleveldbStore) Close() error { return s.db.Close() }
