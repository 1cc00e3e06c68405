package cometdb

import (
	"bytes"
	"iter"

	"github.com/stoatdb/stoat"
)

// Iterator goes through the keys of a range in one state of the database, which it keeps until it
// is closed. It is not safe for concurrent use.
type Iterator struct {
	span       stoat.Range
	next       func() (key, value []byte, ok bool)
	stop       func()
	key, value []byte // copies, overwritten by the next step
	valid      bool
	err        error
}

// newIterator returns an iterator that is on the first key.
func newIterator(db *stoat.DB, r stoat.Range) (*Iterator, error) {
	for _, bound := range [][]byte{r.Start, r.End} {
		if bound != nil && len(bound) == 0 {
			return nil, stoat.ErrInvalidKey
		}
	}
	it := &Iterator{span: r}
	it.next, it.stop = iter.Pull2(func(yield func(key, value []byte) bool) {
		it.err = db.View(func(tx *stoat.Tx) error { return copies(tx, r, yield) })
	})
	it.step()
	return it, it.err
}

// copies yields copies of the keys and values in r, which are valid until the next ones. They are
// made here because the memory of the database is that of its files: reading it is a fault if the
// disk fails, which only [stoat.DB.View] makes an error.
func copies(tx *stoat.Tx, r stoat.Range, yield func(key, value []byte) bool) error {
	ownKey, ownValue := []byte{}, []byte{} // an empty value is not nil
	for key, value := range tx.Scan(r) {
		ownKey, ownValue = append(ownKey[:0], key...), append(ownValue[:0], value...)
		if !yield(ownKey, ownValue) {
			return nil
		}
	}
	return tx.Err()
}

func (it *Iterator) step() { it.key, it.value, it.valid = it.next() }

// Domain returns the bounds that the iterator was made with.
func (it *Iterator) Domain() (start, end []byte) { return it.span.Start, it.span.End }

// Valid reports whether the iterator is on a key. Once it is not, it never is again.
func (it *Iterator) Valid() bool { return it.valid }

// Next moves to the next key. It panics if the iterator is not valid, as the interface demands.
func (it *Iterator) Next() {
	it.mustBeValid()
	it.step()
}

// Key returns a copy of the current key. It panics if the iterator is not valid.
func (it *Iterator) Key() []byte {
	it.mustBeValid()
	return bytes.Clone(it.key)
}

// Value returns a copy of the current value. It panics if the iterator is not valid.
func (it *Iterator) Value() []byte {
	it.mustBeValid()
	return bytes.Clone(it.value)
}

func (it *Iterator) mustBeValid() {
	if !it.valid {
		panic("the iterator is not valid: ask Valid first")
	}
}

// Error returns what ended the iterator before the end of its range, or nil.
func (it *Iterator) Error() error { return it.err }

// Close frees the state of the database. Closing again does nothing.
func (it *Iterator) Close() error {
	it.stop()
	it.key, it.value, it.valid = nil, nil, false
	return nil
}
