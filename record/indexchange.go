package record

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/stoatdb/stoat"
)

// entryBytesMax is the maximum length of a key in the database.
const entryBytesMax = 65_535

// indexChange is the entries that a change of a record removes from an index and adds to it.
type indexChange struct {
	bucket       *stoat.Bucket
	unique       bool
	remove, adds [][]byte // without the primary key
}

// indexChanges returns the effects of a record's change on the indexes. The record r is the new
// one, or invalid to delete it. The caller gives the memory of the result back as s.changes.
func (c *collection) indexChanges(s *session, key, old []byte, r reflect.Value) (
	[]indexChange, error,
) {
	if len(c.shape.indexes) == 0 {
		return nil, nil
	}
	changes := s.changes[:0]
	s.changes = nil // a record that has expired may be deleted meanwhile
	was := former{c: c, value: old}
	for _, x := range c.shape.indexes {
		change := nextChange(changes)
		change.unique = x.Unique
		var err error
		if x.plain && c.codec == CodecBinary {
			err = was.comparePlain(s, &change, x, r)
		} else {
			err = was.compare(&change, x, r)
		}
		if err != nil {
			return nil, err
		}
		if len(change.remove)+len(change.adds) == 0 {
			continue
		}
		if change.bucket, err = s.index(x); err != nil {
			return nil, err
		}
		if err := c.claim(s, &change, x, key); err != nil {
			return nil, err
		}
		changes = append(changes, change)
	}
	return changes, nil
}

// nextChange returns an empty change with the memory of the one that lies behind changes, if any.
func nextChange(changes []indexChange) indexChange {
	if len(changes) == cap(changes) {
		return indexChange{}
	}
	before := &changes[:len(changes)+1][len(changes)]
	return indexChange{remove: before.remove[:0], adds: before.adds[:0]}
}

// again appends a copy of an entry to an empty list, whose memory it uses.
func again(list [][]byte, entry []byte) [][]byte {
	if cap(list) == 0 {
		return [][]byte{bytes.Clone(entry)}
	}
	list = list[:1]
	list[0] = append(list[0][:0], entry...)
	return list
}

// former is the stored record that is about to change, decoded on demand.
type former struct {
	c       *collection
	value   []byte // nil: the record is new
	decoded reflect.Value
}

// compare finds the entries that change. After is the new record, or invalid if it is deleted.
func (f *former) compare(change *indexChange, x *index, after reflect.Value) error {
	if f.value != nil && !f.decoded.IsValid() {
		f.decoded = f.c.newRecord()
		if err := f.c.decode(f.value, f.decoded); err != nil {
			return err
		}
	}
	if f.value != nil {
		change.remove = x.appendEntries(nil, f.decoded)
	}
	if after.IsValid() {
		change.adds = x.appendEntries(nil, after)
	}
	change.cancel()
	return nil
}

// comparePlain is compare for an index whose columns can be read from the stored record.
func (f *former) comparePlain(
	s *session, change *indexChange, x *index, after reflect.Value,
) error {
	s.before, s.after = s.before[:0], s.after[:0]
	if f.value != nil {
		v, err := f.c.schemaOf(f.value)
		if err != nil {
			return err
		}
		for _, col := range x.columns {
			s.before, err = col.appendStored(s.before, v.fields[col.number], f.value)
			if err != nil {
				return err
			}
		}
	}
	if after.IsValid() {
		s.after = x.appendValues(s.after, after, reflect.Value{})
	}
	if bytes.Equal(s.before, s.after) {
		return nil
	}
	if f.value != nil {
		change.remove = again(change.remove, s.before)
	}
	if after.IsValid() {
		change.adds = again(change.adds, s.after)
	}
	return nil
}

// cancel drops the entries that are both removed and added.
func (i *indexChange) cancel() {
	if len(i.remove) == 0 || len(i.adds) == 0 {
		return
	}
	removed := i.remove
	i.remove = slices.DeleteFunc(slices.Clone(removed), func(entry []byte) bool {
		return has(i.adds, entry)
	})
	i.adds = slices.DeleteFunc(i.adds, func(entry []byte) bool { return has(removed, entry) })
}

// has reports whether the sorted list contains the entry.
func has(list [][]byte, entry []byte) bool {
	_, ok := slices.BinarySearchFunc(list, entry, bytes.Compare)
	return ok
}

// check returns an error if an entry is too long, or if another record owns an entry to add to a
// unique index.
func (i *indexChange) check(x *index, key []byte) error {
	for _, entry := range i.adds {
		if len(entry)+len(key) > entryBytesMax {
			return fmt.Errorf("index %s: the entry has %d bytes, the limit is 65,535: %w", x.Name,
				len(entry)+len(key), stoat.ErrTooLarge)
		}
		if !i.unique {
			continue
		}
		owner, err := i.bucket.Get(entry)
		if errors.Is(err, stoat.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if !bytes.Equal(owner, key) {
			return fmt.Errorf("the record with the key %s already has %s %s: %w", formatKey(owner),
				names(x.columns), formatKey(entry), ErrDuplicate)
		}
	}
	return nil
}

// apply changes the index. It uses s.entry.
func (i *indexChange) apply(s *session, key []byte) error {
	for _, entry := range i.remove {
		if !i.unique {
			s.entry = append(append(s.entry[:0], entry...), key...)
			entry = s.entry
		}
		if err := i.bucket.Delete(entry); err != nil {
			return err
		}
	}
	for _, entry := range i.adds {
		value := key
		if !i.unique {
			s.entry = append(append(s.entry[:0], entry...), key...)
			entry, value = s.entry, nil
		}
		if err := i.bucket.Put(entry, value); err != nil {
			return err
		}
	}
	return nil
}
