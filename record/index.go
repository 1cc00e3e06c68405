package record

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/tuple"
)

// index is a compiled [Index]. Its entries are tuples: the values of the fields followed by the
// primary key; in a unique index, the primary key is the value of the entry instead. A list has an
// entry for each element. It is immutable.
type index struct {
	Index
	number  int
	columns []*column
	list    int  // the position of the column that is a list; -1: none
	plain   bool // all columns can be read from a stored record
}

// appendEntries appends the entries of a record, without its primary key, sorted and deduplicated.
// The record must be addressable.
func (x *index) appendEntries(entries [][]byte, record reflect.Value) [][]byte {
	first := len(entries)
	if x.list < 0 {
		return append(entries, x.appendValues(nil, record, reflect.Value{}))
	}
	list := x.columns[x.list].value(record)
	for i := range list.Len() {
		entries = append(entries, x.appendValues(nil, record, list.Index(i)))
	}
	own := entries[first:]
	slices.SortFunc(own, bytes.Compare)
	own = slices.CompactFunc(own, bytes.Equal)
	return entries[:first+len(own)]
}

// appendValues appends the values of a record; element stands for the list.
func (x *index) appendValues(dst []byte, record, element reflect.Value) []byte {
	for i, c := range x.columns {
		if i == x.list {
			dst = c.appendValue(dst, element)
		} else {
			dst = c.appendValue(dst, c.value(record))
		}
	}
	return dst
}

// bucket returns the name of the bucket that holds the entries.
func (x *index) bucket() []byte { return append([]byte("index "), x.Name...) }

// primary returns the primary key at the end of an entry of a non-unique index.
func (x *index) primary(entry []byte) ([]byte, error) {
	r := tuple.NewReader(entry)
	for range x.columns {
		if err := r.Skip(); err != nil {
			return nil, err
		}
	}
	return entry[len(entry)-r.Len():], nil
}

// entriesIn returns an iterator over the primary keys of the entries in a range of the index.
func (s *session) entriesIn(x *index, r stoat.Range) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		bucket, err := s.index(x)
		if err != nil {
			yield(nil, err)
			return
		}
		if x.Unique {
			for _, key := range bucket.Scan(r) {
				if !yield(key, nil) {
					return
				}
			}
		} else {
			for entry := range bucket.Keys(r) {
				key, err := x.primary(entry)
				if !yield(key, err) || err != nil {
					return
				}
			}
		}
		if err := s.tx.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// owner returns the primary key stored for the values in a unique index, or nil.
func (s *session) owner(x *index, values []byte) ([]byte, error) {
	bucket, err := s.index(x)
	if err != nil {
		return nil, err
	}
	key, err := bucket.Get(values)
	if errors.Is(err, stoat.ErrNotFound) {
		return nil, nil
	}
	return key, err
}

// owned returns the stored record that an index entry belongs to. In a writable transaction it may
// be nil: a loop may reach the entry of a record deleted since the loop started.
func (s *session) owned(x *index, key []byte) ([]byte, error) {
	value, err := s.find(key)
	if err == nil && value == nil && !s.tx.Writable() {
		err = fmt.Errorf("index %s has an entry of the key %s, and there is no such record: %w",
			x.Name, formatKey(key), stoat.ErrCorrupt)
	}
	return value, err
}
