package record

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/layout"
)

// Field returns one field of the record with the given key. V is the field's type:
//
//	age, err := record.Field[int32](tx, users, 7, "age")
//
// With the binary codec, a field that is not a list, map or pointer is read without decoding the
// others. The error is [stoat.ErrNotFound] if the record does not exist.
func Field[V, T any](tx *stoat.Tx, c *Collection[T], key Key, name string) (V, error) {
	var v V
	err := c.core.field(tx, key, name, reflect.ValueOf(&v).Elem())
	return v, err
}

// field sets v to one field of the record with the given key.
func (c *collection) field(tx *stoat.Tx, key Key, name string, v reflect.Value) error {
	data, err := c.records(tx)
	if err != nil {
		return err
	}
	col, err := c.columnOf(name, v.Type())
	if err != nil {
		return err
	}
	var room [keyRoom]byte
	encoded, err := c.appendKey(room[:0], key, allValues)
	if err != nil {
		return c.wrap(err)
	}
	value, err := data.Get(encoded)
	gone := false
	if err == nil {
		gone, err = c.expired(tx, value)
	}
	switch {
	case err != nil:
	case gone:
		err = stoat.ErrNotFound
	default:
		err = c.readField(value, col, v)
	}
	return c.wrapKey(encoded, err)
}

// columnOf returns the column with the given name, which must have the type want.
func (c *collection) columnOf(name string, want reflect.Type) (*column, error) {
	col, err := c.shape.column(name)
	if err != nil {
		return nil, c.wrap(err)
	}
	if col.typ != want {
		return nil, c.wrap(fmt.Errorf("field %s has the type %s, not %s", name, col.typ, want))
	}
	return col, nil
}

// readField sets v to the column's value in a stored record.
func (c *collection) readField(value []byte, col *column, v reflect.Value) error {
	if c.codec != CodecBinary || !col.plain() {
		r := c.newRecord()
		if err := c.decode(value, r); err != nil {
			return err
		}
		v.Set(col.value(r))
		return nil
	}
	schema, err := c.schemaOf(value)
	if err != nil {
		return err
	}
	return setField(v, col, schema.fields[col.number], value)
}

// setField sets v to the value of a plain column in a stored record.
func setField(v reflect.Value, col *column, f *layout.Field, record []byte) error {
	switch {
	case signed(col.kind):
		i, err := f.Int(record)
		v.SetInt(i)
		return err
	case integral(col.kind):
		u, err := f.Uint(record)
		v.SetUint(u)
		return err
	case floating(col.kind):
		x, err := f.Float(record)
		v.SetFloat(x)
		return err
	}
	switch col.kind {
	case layout.Bool:
		b, err := f.Bool(record)
		v.SetBool(b)
		return err
	case layout.String:
		text, err := f.String(record)
		v.SetString(text)
		return err
	case layout.Bytes:
		p, err := f.Bytes(record)
		if len(p) > 0 {
			v.SetBytes(slices.Clone(p))
		}
		return err
	case layout.UUID:
		id, err := f.UUID(record)
		copy(v.Bytes(), id[:])
		return err
	}
	t, err := f.Time(record)
	v.Set(reflect.ValueOf(t))
	return err
}

// SetField replaces one field of the record with the given key and updates the indexes. V is the
// field's type. Key fields cannot be set. With the binary codec, a field that is not indexed is
// replaced without decoding the others. The error is [stoat.ErrNotFound] if the record does not
// exist.
func SetField[V, T any](tx *stoat.Tx, c *Collection[T], key Key, name string, v V) error {
	return c.core.setField(tx, key, name, reflect.ValueOf(&v).Elem())
}

func (c *collection) setField(tx *stoat.Tx, key Key, name string, v reflect.Value) error {
	s, err := c.session(tx)
	if err != nil {
		return err
	}
	col, err := c.columnOf(name, v.Type())
	if err != nil {
		return err
	}
	if _, err := c.writer(tx); err != nil {
		return err
	}
	if slices.Contains(c.shape.key, col) {
		return c.wrap(fmt.Errorf("field %s is part of the key: delete the record and store a new one",
			name))
	}
	encoded, err := c.appendKey(nil, key, allValues)
	if err != nil {
		return c.wrap(err)
	}
	if done, err := c.replaceField(s, encoded, col, v); done || err != nil {
		return c.wrapKey(encoded, err)
	}
	return c.wrapKey(encoded, c.update(s, encoded, func(r reflect.Value) error {
		col.value(r).Set(v)
		return nil
	}))
}

// replaceField replaces a field in a stored record of the current schema. It reports whether it
// could: it cannot if an index or the function that returns keys depends on the field.
func (c *collection) replaceField(
	s *session, key []byte, col *column, v reflect.Value,
) (done bool, err error) {
	if c.codec != CodecBinary || c.keyOf != nil {
		return false, nil
	}
	for _, x := range c.shape.indexes {
		if slices.Contains(x.columns, col) {
			return false, nil
		}
	}
	old, err := c.live(s, key)
	if err != nil {
		return false, err
	}
	schema, err := c.schemaOf(old)
	if err != nil || schema != c.current {
		return false, err
	}
	if s.value, err = schema.fields[col.number].Replace(s.value[:0], old, v); err != nil {
		return false, err
	}
	if err := c.announce(s, key, old); err != nil {
		return false, err
	}
	return true, s.data.Put(key, s.value)
}
