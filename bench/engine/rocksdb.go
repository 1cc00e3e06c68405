//go:build rocksdb && cgo

package engine

/*
#cgo LDFLAGS: -lrocksdb
#cgo noescape rocks_get
#cgo nocallback rocks_get
#cgo noescape rocks_get_many
#cgo nocallback rocks_get_many
#cgo noescape rocks_iterate
#cgo nocallback rocks_iterate
#cgo noescape rocks_put
#cgo nocallback rocks_put
#cgo noescape rocksdb_writebatch_put
#cgo nocallback rocksdb_writebatch_put
#cgo noescape rocksdb_writebatch_delete
#cgo nocallback rocksdb_writebatch_delete

#include "rocksdb_store.h"
*/
import "C"

import (
	"bytes"
	"encoding/binary"
	"errors"
	"unsafe"
)

// rocksdbStore is RocksDB. Its read transactions are snapshots; each iterator and MultiGet has its
// own.
//
// Loops over entries run in C, so RocksDB does not pay for a call from Go at each step. A Go
// program that looks at each entry cannot expect as much.
type rocksdbStore struct {
	store *C.rocks_store
	order Order
	sync  bool
	keys  foreignKeys // of GetMany
}

func rocksdbEngine() Engine {
	var version [64]C.char
	C.rocks_version(&version[0], C.size_t(len(version)))
	return Engine{
		About: About{
			Name:     "rocksdb",
			Version:  C.GoString(&version[0]) + ", the system's library",
			Settings: "create_if_missing; compression is as the library was built, mostly Snappy",
		},
		Open: openRocksDB,
	}
}

// rocksdbCheck returns the error of a call and frees its text.
func rocksdbCheck(text *C.char) error {
	if text == nil {
		return nil
	}
	defer C.free(unsafe.Pointer(text))
	return errors.New(C.GoString(text))
}

func openRocksDB(dir string, o Options) (Store, error) {
	var sync C.int
	if o.Sync {
		sync = 1
	}
	path := C.CString(dir)
	defer C.free(unsafe.Pointer(path))
	s := &rocksdbStore{order: o.Order, sync: o.Sync}
	if err := rocksdbCheck(C.rocks_open(path, sync, C.size_t(o.Cache), &s.store)); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *rocksdbStore) Append(values [][]byte) error {
	next, err := s.next()
	if err != nil {
		return err
	}
	batch := C.rocksdb_writebatch_create()
	var key [KeyBytes]byte
	for _, value := range values {
		s.order.Put(key[:], next)
		rocksdbPut(batch, key[:], value)
		next++
	}
	rocksdbPut(batch, counterKey(), binary.LittleEndian.AppendUint64(nil, next))
	return rocksdbCheck(C.rocks_write(s.store, batch))
}

// next returns the next sequence number.
func (s *rocksdbStore) next() (uint64, error) {
	value, found, err := s.Copy(counterKey(), make([]byte, 0, 8))
	if err != nil || !found {
		return 0, err
	}
	return counter(value)
}

// rocksdbPut adds a pair to a batch.
func rocksdbPut(batch *C.rocksdb_writebatch_t, key, value []byte) {
	k, keySize := foreign(key)
	v, valueSize := foreign(value)
	C.rocksdb_writebatch_put(batch, k, keySize, v, valueSize)
}

func (s *rocksdbStore) Put(key, value []byte, _ Writers) error {
	k, keySize := foreign(key)
	v, valueSize := foreign(value)
	return rocksdbCheck(C.rocks_put(s.store, k, keySize, v, valueSize))
}

func (s *rocksdbStore) View() error {
	C.rocks_view(s.store)
	return nil
}

// errNotFound is the error for a get of an absent key. RocksDB itself does not treat that as an
// error.
var errNotFound = errors.New("key not found")

func (s *rocksdbStore) Get(key []byte) (int, error) {
	size, found, err := s.get(key, nil)
	if err == nil && !found {
		err = errNotFound
	}
	return size, err
}

// get returns the length of a value, and copies the value to buf if it fits.
func (s *rocksdbStore) get(key, buf []byte) (int, bool, error) {
	var size C.size_t
	var found C.int
	k, keySize := foreign(key)
	to, room := foreign(buf)
	err := rocksdbCheck(C.rocks_get(s.store, k, keySize, to, room, &size, &found))
	return int(size), found != 0, err
}

func (s *rocksdbStore) GetMany(keys [][]byte) (int, error) {
	var found, total C.size_t
	start, sizes, n := s.keys.set(keys)
	err := rocksdbCheck(C.rocks_get_many(s.store, start, sizes, n, &found, &total))
	if err == nil && found < n {
		err = errNotFound
	}
	return int(total), err
}

func (s *rocksdbStore) Iterate(start []byte, n int, look Look) (Walk, error) {
	return s.iterate(start, n, foreignStep(look))
}

func (s *rocksdbStore) iterate(start []byte, n int, step C.foreign_step) (Walk, error) {
	var w C.foreign_walk
	from, size := foreign(start)
	err := rocksdbCheck(C.rocks_iterate(s.store, from, size, C.size_t(n), step, &w))
	return ours(w), err
}

func (s *rocksdbStore) Write(pairs []Pair) error {
	batch := C.rocksdb_writebatch_create()
	for _, p := range pairs {
		if p.Value == nil {
			key, size := foreign(p.Key)
			C.rocksdb_writebatch_delete(batch, key, size)
		} else {
			rocksdbPut(batch, p.Key, p.Value)
		}
	}
	return rocksdbCheck(C.rocks_write(s.store, batch))
}

func (s *rocksdbStore) Copy(key, buf []byte) (value []byte, found bool, err error) {
	for {
		buf = buf[:cap(buf)]
		size, found, err := s.get(key, buf)
		if err != nil || !found {
			return buf[:0], false, err
		}
		if size <= len(buf) {
			return buf[:size], true, nil
		}
		buf = make([]byte, size)
	}
}

func (s *rocksdbStore) CopyAll(n int, part Part) (Walk, error) {
	return s.iterate(nil, n, foreignCopy(part))
}

func (s *rocksdbStore) Each(fn func(key, value []byte) error) error {
	it := C.rocksdb_create_iterator(s.store.db, s.store.read)
	defer C.rocksdb_iter_destroy(it)
	for C.rocksdb_iter_seek_to_first(it); C.rocksdb_iter_valid(it) != 0; C.rocksdb_iter_next(it) {
		var size C.size_t
		key := C.rocksdb_iter_key(it, &size)
		k := rocksdbBytes(key, size)
		if bytes.Equal(k, counterKey()) {
			break
		}
		value := C.rocksdb_iter_value(it, &size)
		if err := fn(k, rocksdbBytes(value, size)); err != nil {
			return err
		}
	}
	var text *C.char
	C.rocksdb_iter_get_error(it, &text)
	return rocksdbCheck(text)
}

// rocksdbBytes returns the bytes of an iterator, valid until its next step.
func rocksdbBytes(p *C.char, size C.size_t) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(p)), int(size))
}

// Close syncs what was not synced before.
func (s *rocksdbStore) Close() error {
	var sync C.int
	if !s.sync {
		sync = 1
	}
	return rocksdbCheck(C.rocks_close(s.store, sync))
}
