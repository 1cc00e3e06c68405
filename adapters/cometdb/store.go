package cometdb

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/stoatdb/stoat"
)

var (
	// ErrValueNil reports a nil value: store an empty one, or delete the key.
	ErrValueNil = errors.New("the value is nil: store an empty one, or delete the key")
	// ErrBatchClosed reports the use of a batch that was written or closed: make another.
	ErrBatchClosed = errors.New("the batch was written or closed: make another")
)

// Store is a DB of cometbft-db or cosmos-db, whose iterators have the type I and whose batches the
// type B, in the root bucket of a database. It is safe for concurrent use.
//
// A nil or empty key is [stoat.ErrInvalidKey], also as a bound of an iterator, where only nil means
// no bound. After Close, all that reads or writes returns [stoat.ErrClosed].
type Store[I, B any] struct {
	db       *stoat.DB
	iterator func(*Iterator) I
	batch    func(*Batch) B
}

// New returns the store in the root bucket of db. The functions convert what its methods return to
// the types of the interface. Closing the store closes db.
//
// Open db with [stoat.SyncNever] if Set, Delete and Batch.Write need not be durable at once, as
// they are not in other backends. SetSync, DeleteSync and Batch.WriteSync always are.
func New[I, B any](db *stoat.DB, iterator func(*Iterator) I, batch func(*Batch) B) *Store[I, B] {
	return &Store[I, B]{db, iterator, batch}
}

// Get returns a copy of the value of key, or nil if there is none.
func (s *Store[I, B]) Get(key []byte) ([]byte, error) {
	value, err := s.db.Get(key)
	if errors.Is(err, stoat.ErrNotFound) {
		return nil, nil
	}
	return value, err
}

// Has reports whether there is a value of key.
func (s *Store[I, B]) Has(key []byte) (has bool, err error) {
	err = s.db.View(func(tx *stoat.Tx) (err error) {
		has, err = tx.Has(key)
		return err
	})
	return has, err
}

// Set stores a copy of value, which must not be nil, under key.
func (s *Store[I, B]) Set(key, value []byte) error {
	if err := check(key, value); err != nil {
		return err
	}
	return s.db.Put(key, value)
}

// check returns an error unless key and value may be stored.
func check(key, value []byte) error {
	switch {
	case len(key) == 0:
		return stoat.ErrInvalidKey
	case value == nil:
		return ErrValueNil
	}
	return nil
}

// SetSync is Set that is durable when it returns.
func (s *Store[I, B]) SetSync(key, value []byte) error {
	if err := s.Set(key, value); err != nil {
		return err
	}
	return s.db.Sync()
}

// Delete removes the value of key, if there is one.
func (s *Store[I, B]) Delete(key []byte) error { return s.db.Delete(key) }

// DeleteSync is Delete that is durable when it returns.
func (s *Store[I, B]) DeleteSync(key []byte) error {
	if err := s.db.Delete(key); err != nil {
		return err
	}
	return s.db.Sync()
}

// Iterator returns an iterator over the keys from start on, inclusive, up to end, exclusive, as
// they are now. It is on the first of them. A nil bound is none.
func (s *Store[I, B]) Iterator(start, end []byte) (I, error) {
	return s.iterate(stoat.Range{Start: start, End: end})
}

// ReverseIterator is Iterator from the last of these keys to the first.
func (s *Store[I, B]) ReverseIterator(start, end []byte) (I, error) {
	return s.iterate(stoat.Range{Start: start, End: end, Reverse: true})
}

func (s *Store[I, B]) iterate(r stoat.Range) (converted I, err error) {
	it, err := newIterator(s.db, r)
	if err != nil {
		return converted, err
	}
	return s.iterator(it), nil
}

// NewBatch returns an empty batch.
func (s *Store[I, B]) NewBatch() B { return s.NewBatchWithSize(0) }

// NewBatchWithSize returns an empty batch with memory for keys and values of size bytes.
func (s *Store[I, B]) NewBatchWithSize(size int) B { return s.batch(newBatch(s.db, size)) }

// Close makes all writes durable and closes the database. Closing again does nothing.
func (s *Store[I, B]) Close() error { return s.db.Close() }

// Print prints all keys and values in hexadecimal to the standard output.
func (s *Store[I, B]) Print() error {
	return s.db.View(func(tx *stoat.Tx) error {
		for key, value := range tx.Scan(stoat.Range{}) {
			if _, err := fmt.Printf("%x: %x\n", key, value); err != nil {
				return err
			}
		}
		return tx.Err()
	})
}

// Compact compacts the whole database, whatever the bounds, as [stoat.DB.Compact] does. The
// database compacts by itself; this does it now, and may rewrite all data.
func (s *Store[I, B]) Compact(_, _ []byte) error { return s.db.Compact(context.Background()) }

// Stats returns some of the numbers of [stoat.DB.Stats].
func (s *Store[I, B]) Stats() map[string]string {
	stats := s.db.Stats()
	number := func(n uint64) string { return strconv.FormatUint(n, 10) }
	return map[string]string{
		"commits":          number(stats.Commits),
		"entries":          number(stats.Entries),
		"table.bytes":      number(stats.TableBytes),
		"value-file.bytes": number(stats.ValueFileBytes),
		"pending.bytes":    number(stats.PendingBytes),
		"memtable.bytes":   number(uint64(stats.MemtableBytes)),
		"cache.bytes":      number(uint64(stats.CacheBytes)),
	}
}
