package record

import (
	"bytes"
	"reflect"
	"slices"

	"github.com/stoatdb/stoat/tuple"
)

// index is a compiled [Index]. Its entries are tuples: the values of the fields and then the
// primary key; a unique one has the primary key as the value of the entry instead. Of a list, each
// element has an entry. It is immutable.
type index struct {
	Index
	number  int
	columns []*column
	list    int  // which of the columns is a list; -1: none
	plain   bool // all columns can be read from a stored record
}

// appendEntries appends what the entries of a record begin with, without its primary key: sorted,
// and each once. The record must be addressable.
func (x *index) appendEntries(entries [][]byte, record reflect.Value) [][]byte {
	first := len(entries)
	if x.list < 0 {
		return append(entries, x.appendValues(nil, record, reflect.Value{}))
	}
	list := x.columns[x.list].of(record)
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
			dst = c.append(dst, element)
		} else {
			dst = c.append(dst, c.of(record))
		}
	}
	return dst
}

// bucket returns the name of the bucket with the entries.
func (x *index) bucket() []byte { return append([]byte("index "), x.Name...) }

// primary returns the primary key of an entry of an index that is not unique: a part of it.
func (x *index) primary(entry []byte) ([]byte, error) {
	r := tuple.NewReader(entry)
	for range x.columns {
		if err := r.Skip(); err != nil {
			return nil, err
		}
	}
	return entry[len(entry)-r.Len():], nil
}
