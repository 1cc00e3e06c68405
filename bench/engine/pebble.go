package engine

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/block"
)

// pebbleStore is Pebble. Its read transactions are snapshots, and each iterator is one too.
type pebbleStore struct {
	db    *pebble.DB
	order Order
	write *pebble.WriteOptions
}

func pebbleEngines() []Engine {
	with := func(name, settings string, c *block.CompressionProfile) Engine {
		return Engine{
			About: About{
				Name:     name,
				Module:   "github.com/cockroachdb/pebble/v2",
				Settings: "silent logger" + settings,
			},
			Open: func(dir string, o Options) (Store, error) {
				return openPebble(dir, o, c)
			},
		}
	}
	return []Engine{
		with("pebble-none", ", no compression on any level", block.NoCompression),
		with("pebble", "; compression is Snappy by default", nil),
		with("pebble-zstd", ", Compression zstd (level 3) on all levels", block.ZstdCompression),
	}
}

// openPebble opens a database with one compression on all levels, or with Pebble's defaults.
func openPebble(dir string, o Options, c *block.CompressionProfile) (Store, error) {
	options := &pebble.Options{Logger: silent{}, CacheSize: o.Cache}
	if c != nil {
		options.ApplyCompressionSettings(func() pebble.DBCompressionSettings {
			return pebble.UniformDBCompressionSettings(c)
		})
	}
	db, err := pebble.Open(dir, options)
	if err != nil {
		return nil, err
	}
	write := pebble.Sync
	if !o.Sync {
		write = pebble.NoSync
	}
	return &pebbleStore{db: db, order: o.Order, write: write}, nil
}

// silent is a logger that drops everything except fatal errors.
type silent struct{}

func (silent) Infof(string, ...any)              {}
func (silent) Errorf(string, ...any)             {}
func (silent) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func (s *pebbleStore) Append(values [][]byte) error {
	next, err := s.next()
	if err != nil {
		return err
	}
	batch := s.db.NewBatch()
	var key [KeyBytes]byte
	for _, value := range values {
		s.order.Put(key[:], next)
		if err := batch.Set(key[:], value, nil); err != nil {
			return errors.Join(err, batch.Close())
		}
		next++
	}
	err = batch.Set(counterKey(), binary.LittleEndian.AppendUint64(nil, next), nil)
	if err == nil {
		err = batch.Commit(s.write)
	}
	return errors.Join(err, batch.Close())
}

// next returns the next sequence number.
func (s *pebbleStore) next() (uint64, error) {
	value, closer, err := s.db.Get(counterKey())
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	next, err := counter(value)
	return next, errors.Join(err, closer.Close())
}

func (s *pebbleStore) Put(key, value []byte, _ Writers) error {
	return s.db.Set(key, value, s.write)
}

func (s *pebbleStore) View() error { return s.db.NewSnapshot().Close() }

func (s *pebbleStore) Get(key []byte) (int, error) { return pebbleGet(s.db, key) }

func (s *pebbleStore) GetMany(keys [][]byte) (size int, err error) {
	snapshot := s.db.NewSnapshot()
	for _, key := range keys {
		n, err := pebbleGet(snapshot, key)
		if err != nil {
			return 0, errors.Join(err, snapshot.Close())
		}
		size += n
	}
	return size, snapshot.Close()
}

// pebbleGet returns the length of a value.
func pebbleGet(from pebble.Reader, key []byte) (int, error) {
	value, closer, err := from.Get(key)
	if err != nil {
		return 0, err
	}
	size := len(value)
	return size, closer.Close()
}

func (s *pebbleStore) Iterate(start []byte, n int, look Look) (w Walk, err error) {
	it, err := s.db.NewIter(nil)
	if err != nil {
		return w, err
	}
	for ok := it.SeekGE(start); ok && w.Entries < n; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return w, errors.Join(err, it.Close())
		}
		w.Entries++
		w.Bytes += len(value)
		if look == TouchValues {
			w.Sum += Touch(value)
		}
	}
	return w, it.Close()
}

func (s *pebbleStore) Write(pairs []Pair) error {
	batch := s.db.NewBatch()
	for _, p := range pairs {
		var err error
		if p.Value == nil {
			err = batch.Delete(p.Key, nil)
		} else {
			err = batch.Set(p.Key, p.Value, nil)
		}
		if err != nil {
			return errors.Join(err, batch.Close())
		}
	}
	return errors.Join(batch.Commit(s.write), batch.Close())
}

func (s *pebbleStore) Copy(key, buf []byte) (value []byte, found bool, err error) {
	stored, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return buf[:0], false, nil
	}
	if err != nil {
		return buf[:0], false, err
	}
	return append(buf[:0], stored...), true, closer.Close()
}

func (s *pebbleStore) CopyAll(n int, part Part) (Walk, error) {
	var c copier
	it, err := s.db.NewIter(nil)
	if err != nil {
		return c.walk, err
	}
	for ok := it.First(); ok && c.walk.Entries < n; ok = it.Next() {
		var value []byte
		if part == KeysAndValues {
			if value, err = it.ValueAndErr(); err != nil {
				return c.walk, errors.Join(err, it.Close())
			}
		}
		c.copy(it.Key(), value)
	}
	return c.walk, it.Close()
}

func (s *pebbleStore) Each(fn func(key, value []byte) error) error {
	it, err := s.db.NewIter(&pebble.IterOptions{UpperBound: counterKey()})
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err == nil {
			err = fn(it.Key(), value)
		}
		if err != nil {
			return errors.Join(err, it.Close())
		}
	}
	return it.Close()
}

func (s *pebbleStore) Memory() (memtables, cache int64) {
	m := s.db.Metrics()
	return int64(m.MemTable.Size), m.BlockCache.Size
}

func (s *pebbleStore) Close() error { return s.db.Close() }
