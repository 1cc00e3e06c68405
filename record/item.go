package record

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"

	"github.com/stoatdb/stoat/internal/layout"
)

// item is a record on its way through a query: encoded, and decoded on demand.
type item[T any] struct {
	c       *Collection[T]
	key     []byte
	value   []byte        // nil if it is not needed
	decoded *T            // nil until it is needed
	values  reflect.Value // the fields of an untyped record; zero until they are needed
	scratch []byte
}

// set replaces the item's record.
func (i *item[T]) set(key, value []byte) {
	i.key, i.value = key, value
	if i.decoded != nil {
		i.decoded = nil
	}
	if i.values.IsValid() {
		i.values = reflect.Value{}
	}
}

// record returns the decoded record.
func (i *item[T]) record() (*T, error) {
	if i.decoded == nil {
		r := new(T)
		if i.c.untyped {
			return r, i.fill(r)
		}
		if err := i.c.decode(i.value, r); err != nil {
			return nil, i.about(err)
		}
		i.decoded = r
	}
	return i.decoded, nil
}

// fill sets *r, a Row of an untyped collection, to the record.
func (i *item[T]) fill(r *T) error {
	row, err := i.row(nil)
	if to, ok := any(r).(*Row); ok {
		*to = row
	}
	return err
}

// fields returns the decoded record, for its columns to be read.
func (i *item[T]) fields() (reflect.Value, error) {
	if i.c.untyped {
		return i.untyped()
	}
	r, err := i.record()
	return reflect.ValueOf(r).Elem(), err
}

// untyped returns the decoded record of an untyped collection, without loose fields.
func (i *item[T]) untyped() (reflect.Value, error) {
	if i.values.IsValid() {
		return i.values, nil
	}
	r := reflect.New(i.c.shape.typ).Elem()
	v, err := i.c.schemaOf(i.value)
	if err == nil {
		err = layout.DecodeValue(v.decoder, i.value, r)
	}
	if err == nil {
		i.values = r
	}
	return r, i.about(err)
}

// field returns the reader of a column in the record's schema.
func (i *item[T]) field(c *column) (*layout.Field, error) {
	v, err := i.c.schemaOf(i.value)
	if err != nil {
		return nil, i.about(err)
	}
	return v.fields[c.number], nil
}

// stored reports whether the column can be read without decoding the record.
func (i *item[T]) stored(c *column) bool { return i.c.codec == CodecBinary && c.plain() }

// appendElement appends the element of a column that is not a list.
func (i *item[T]) appendElement(dst []byte, c *column) ([]byte, error) {
	if i.stored(c) {
		f, err := i.field(c)
		if err != nil {
			return dst, err
		}
		dst, err = c.appendStored(dst, f, i.value)
		return dst, i.about(err)
	}
	r, err := i.fields()
	if err != nil {
		return dst, err
	}
	return c.appendValue(dst, c.value(r)), nil
}

// matchesAll reports whether the record satisfies all the conditions.
func (i *item[T]) matchesAll(all []condition) (bool, error) {
	for j := range all {
		if ok, err := i.matches(&all[j]); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// matches reports whether the record satisfies a condition.
func (i *item[T]) matches(c *condition) (bool, error) {
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
	r, err := i.fields()
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
func (i *item[T]) row(only []*column) (Row, error) {
	row := Row{record: i.value, key: i.key, shape: i.c.shape, only: only}
	var err error
	if i.c.codec == CodecBinary {
		row.schema, err = i.c.schemaOf(i.value)
		return row, i.about(err)
	}
	if i.c.untyped {
		return row, nil // it has no columns
	}
	r, err := i.record()
	row.whole = reflect.ValueOf(r).Elem()
	return row, err
}

// about adds the key of the record to err; nil stays nil.
func (i *item[T]) about(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("key %s: %w", formatKey(i.key), err)
}
