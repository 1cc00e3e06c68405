//go:build lmdb && cgo

package engine

/*
#cgo LDFLAGS: -llmdb
#cgo noescape store_get
#cgo nocallback store_get
#cgo noescape store_get_many
#cgo nocallback store_get_many
#cgo noescape store_iterate
#cgo nocallback store_iterate
#cgo noescape store_change
#cgo nocallback store_change
#cgo noescape store_put
#cgo nocallback store_put

#include "lmdb_store.h"
*/
import "C"

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"unsafe"
)

// lmdbStore is LMDB, with the pairs in the unnamed database. Read transactions are reset and
// renewed instead of begun each time, as LMDB's documentation recommends for frequent reads.
//
// Loops over entries run in C, so LMDB does not pay for a call from Go at each step. A Go program
// that looks at each entry cannot expect as much.
type lmdbStore struct {
	env   *C.MDB_env
	dbi   C.MDB_dbi
	order Order
	sync  bool
	keys  foreignKeys // of GetMany

	writing sync.Mutex // LMDB has one writer; waiting for it in Go blocks no thread

	mu      sync.Mutex
	readers []*C.MDB_txn // idle
}

func lmdbEngine() Engine {
	var major, minor, patch C.int
	C.mdb_version(&major, &minor, &patch)
	return Engine{
		About: About{
			Name:     "lmdb",
			Version:  fmt.Sprintf("%d.%d.%d, the system's library", major, minor, patch),
			Settings: "map of 64 GiB, MDB_NOTLS, 1,024 readers; read transactions are renewed",
		},
		Open: openLMDB,
	}
}

// lmdbError is an LMDB error number.
type lmdbError C.int

func (e lmdbError) Error() string { return C.GoString(C.mdb_strerror(C.int(e))) }

// lmdbCheck returns the error of a call.
func lmdbCheck(code C.int) error {
	if code == 0 {
		return nil
	}
	return lmdbError(code)
}

func openLMDB(dir string, o Options) (Store, error) {
	const mapBytes C.size_t = min(64<<30, math.MaxUint/4)
	var flags C.uint
	if !o.Sync {
		flags = C.MDB_NOSYNC
	}
	if o.LittleMemory {
		flags |= C.MDB_NORDAHEAD // as LMDB advises for more data than memory
	}
	path := C.CString(dir)
	defer C.free(unsafe.Pointer(path))
	s := &lmdbStore{order: o.Order, sync: o.Sync}
	if err := lmdbCheck(C.store_open(path, mapBytes, flags, &s.env, &s.dbi)); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *lmdbStore) Append(values [][]byte) error {
	return s.update(func(txn *C.MDB_txn) error {
		next, err := s.next()
		if err != nil {
			return err
		}
		var key [KeyBytes]byte
		for _, value := range values {
			s.order.Put(key[:], next)
			if err := s.change(txn, key[:], value, false); err != nil {
				return err
			}
			next++
		}
		return s.change(txn, counterKey(), binary.LittleEndian.AppendUint64(nil, next), false)
	})
}

// next returns the next sequence number, for the only writer.
func (s *lmdbStore) next() (uint64, error) {
	value, found, err := s.Copy(counterKey(), make([]byte, 0, 8))
	if err != nil || !found {
		return 0, err
	}
	return counter(value)
}

// update runs fn in a write transaction, which belongs to a thread.
func (s *lmdbStore) update(fn func(txn *C.MDB_txn) error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var txn *C.MDB_txn
	if err := lmdbCheck(C.mdb_txn_begin(s.env, nil, 0, &txn)); err != nil {
		return err
	}
	if err := fn(txn); err != nil {
		C.mdb_txn_abort(txn)
		return err
	}
	return lmdbCheck(C.mdb_txn_commit(txn))
}

// change puts one pair or deletes the key.
func (s *lmdbStore) change(txn *C.MDB_txn, key, value []byte, remove bool) error {
	var removes C.int
	if remove {
		removes = 1
	}
	k, keySize := foreign(key)
	v, valueSize := foreign(value)
	return lmdbCheck(C.store_change(txn, s.dbi, k, keySize, v, valueSize, removes))
}

func (s *lmdbStore) Put(key, value []byte, _ Writers) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	k, keySize := foreign(key)
	v, valueSize := foreign(value)
	return lmdbCheck(C.store_put(s.env, s.dbi, k, keySize, v, valueSize))
}

// read runs fn with an idle reader.
func (s *lmdbStore) read(fn func(reader *C.MDB_txn) C.int) error {
	reader, err := s.reader()
	if err != nil {
		return err
	}
	code := fn(reader)
	s.mu.Lock()
	s.readers = append(s.readers, reader)
	s.mu.Unlock()
	return lmdbCheck(code)
}

// reader takes an idle reader or makes one.
func (s *lmdbStore) reader() (reader *C.MDB_txn, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := len(s.readers) - 1; last >= 0 {
		reader, s.readers = s.readers[last], s.readers[:last]
		return reader, nil
	}
	err = lmdbCheck(C.store_reader(s.env, &reader))
	return reader, err
}

func (s *lmdbStore) View() error {
	return s.read(func(reader *C.MDB_txn) C.int { return C.store_view(reader) })
}

func (s *lmdbStore) Get(key []byte) (int, error) { return s.get(key, nil) }

// get returns the length of a value, and copies the value to buf if it fits.
func (s *lmdbStore) get(key, buf []byte) (int, error) {
	var size C.size_t
	k, keySize := foreign(key)
	to, room := foreign(buf)
	err := s.read(func(reader *C.MDB_txn) C.int {
		return C.store_get(reader, s.dbi, k, keySize, to, room, &size)
	})
	return int(size), err
}

func (s *lmdbStore) GetMany(keys [][]byte) (int, error) {
	var total C.size_t
	start, sizes, n := s.keys.set(keys)
	err := s.read(func(reader *C.MDB_txn) C.int {
		return C.store_get_many(reader, s.dbi, start, sizes, n, &total)
	})
	return int(total), err
}

func (s *lmdbStore) Iterate(start []byte, n int, look Look) (Walk, error) {
	return s.iterate(start, n, foreignStep(look))
}

func (s *lmdbStore) iterate(start []byte, n int, step C.foreign_step) (Walk, error) {
	var w C.foreign_walk
	from, size := foreign(start)
	err := s.read(func(reader *C.MDB_txn) C.int {
		return C.store_iterate(reader, s.dbi, from, size, C.size_t(n), step, &w)
	})
	return ours(w), err
}

func (s *lmdbStore) Write(pairs []Pair) error {
	return s.update(func(txn *C.MDB_txn) error {
		for _, p := range pairs {
			if err := s.change(txn, p.Key, p.Value, p.Value == nil); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *lmdbStore) Copy(key, buf []byte) (value []byte, found bool, err error) {
	for {
		buf = buf[:cap(buf)]
		size, err := s.get(key, buf)
		switch {
		case errors.Is(err, lmdbError(C.MDB_NOTFOUND)):
			return buf[:0], false, nil
		case err != nil:
			return buf[:0], false, err
		case size <= len(buf):
			return buf[:size], true, nil
		}
		buf = make([]byte, size)
	}
}

func (s *lmdbStore) CopyAll(n int, part Part) (Walk, error) {
	return s.iterate(nil, n, foreignCopy(part))
}

func (s *lmdbStore) Each(fn func(key, value []byte) error) error {
	var txn *C.MDB_txn
	if err := lmdbCheck(C.mdb_txn_begin(s.env, nil, C.MDB_RDONLY, &txn)); err != nil {
		return err
	}
	defer C.mdb_txn_abort(txn)
	var cursor *C.MDB_cursor
	if err := lmdbCheck(C.mdb_cursor_open(txn, s.dbi, &cursor)); err != nil {
		return err
	}
	defer C.mdb_cursor_close(cursor)
	for {
		var k, v C.MDB_val
		code := C.mdb_cursor_get(cursor, &k, &v, C.MDB_NEXT)
		key := lmdbBytes(k)
		if code == C.MDB_NOTFOUND || code == 0 && bytes.Equal(key, counterKey()) {
			return nil
		}
		err := lmdbCheck(code)
		if err == nil {
			err = fn(key, lmdbBytes(v))
		}
		if err != nil {
			return err
		}
	}
}

// lmdbBytes returns the bytes in LMDB's map, which are valid until the transaction ends.
func lmdbBytes(v C.MDB_val) []byte { return unsafe.Slice((*byte)(v.mv_data), int(v.mv_size)) }

// Close syncs what was not synced before.
func (s *lmdbStore) Close() error {
	var err error
	if !s.sync {
		err = lmdbCheck(C.mdb_env_sync(s.env, 1))
	}
	for _, reader := range s.readers {
		C.mdb_txn_abort(reader)
	}
	C.mdb_env_close(s.env)
	return err
}
