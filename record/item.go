package record

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"

	"github.com/stoatdb/stoat/internal/layout"
)

// item is a record on its way through a query: encoded, and decoded on demand.
type item struct {
	c       *collection
	key     []byte
	value   []byte        // nil if it is not needed
	decoded reflect.Value // invalid until it is needed
	scratch []byte
}

// set replaces the item's record.
func (i *item) set(key, value []byte) {
	i.key, i.value = key, value
	if i.decoded.IsValid() {
		i.decoded = reflect.Value{}
	}
}

// recordOf returns the item's record as a caller gets it: a [Row] if the collection is untyped.
func recordOf[T any](i *item) (*T, error) {
	if !i.c.untyped {
		r, err := i.record()
		if err != nil {
			return nil, err
		}
		return pointerTo[T](r), nil
	}
	row, err := i.row(nil)
	r, _ := any(&row).(*T)
	return r, err
}

// record returns the decoded record; in an untyped collection, without loose fields.
func (i *item) record() (reflect.Value, error) {
	if i.decoded.IsValid() {
		return i.decoded, nil
	}
	r := i.c.newRecord()
	if err := i.c.decode(i.value, r); err != nil {
		return reflect.Value{}, i.about(err)
	}
	i.decoded = r
	return r, nil
}

// field returns the reader of a column in the record's schema.
func (i *item) field(c *column) (*layout.Field, error) {
	v, err := i.c.schemaOf(i.value)
	if err != nil {
		return nil, i.about(err)
	}
	return v.fields[c.number], nil
}

// stored reports whether the column can be read without decoding the record.
func (i *item) stored(c *column) bool { return i.c.codec == CodecBinary && c.plain() }

// appendElement appends the element of a column that is not a list.
func (i *item) appendElement(dst []byte, c *column) ([]byte, error) {
	if i.stored(c) {
		f, err := i.field(c)
		if err != nil {
			return dst, err
		}
		dst, err = c.appendStored(dst, f, i.value)
		return dst, i.about(err)
	}
	r, err := i.record()
	if err != nil {
		return dst, err
	}
	return c.appendValue(dst, c.value(r)), nil
}

// matchesAll reports whether the record satisfies all the conditions.
func (i *item) matchesAll(all []condition) (bool, error) {
	for j := range all {
		if ok, err := i.matches(&all[j]); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// matches reports whether the record satisfies a condition.
func (i *item) matches(c *condition) (bool, error) {
	switch {
	case c.column == nil:
		for j := range c.parts {
			ok, err := i.matches(&c.parts[j])
			if err != nil || ok == c.any {
				return ok, err
			}
		}
		return !c.any, nil
	case !c.column.list:
		var err error
		i.scratch, err = i.appendElement(i.scratch[:0], c.column)
		return err == nil && c.has(i.scratch), err
	}
	r, err := i.record()
	if err != nil {
		return false, err
	}
	list := c.column.value(r)
	for j := range list.Len() {
		i.scratch = c.column.appendValue(i.scratch[:0], list.Index(j))
		if c.has(i.scratch) {
			return true, nil
		}
	}
	return false, nil
}

// has reports whether an element is in one of the spans.
func (c *condition) has(element []byte) bool {
	if len(c.spans) == 1 {
		return c.spans[0].has(element)
	}
	at, found := slices.BinarySearchFunc(c.spans, element, func(s span, e []byte) int {
		return bytes.Compare(s.low, e)
	})
	return found || at > 0 && c.spans[at-1].has(element)
}

// row returns the record as a Row with the given fields, or all if only is nil.
func (i *item) row(only []*column) (Row, error) {
	row := Row{record: i.value, key: i.key, shape: i.c.shape, only: only}
	var err error
	if i.c.codec == CodecBinary {
		row.schema, err = i.c.schemaOf(i.value)
		return row, i.about(err)
	}
	if i.c.untyped {
		return row, nil // it has no columns
	}
	row.whole, err = i.record()
	return row, err
}

// about adds the key of the record to err; nil stays nil.
func (i *item) about(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("key %s: %w", formatKey(i.key), err)
}
