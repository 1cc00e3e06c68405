package record

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/stoatdb/stoat/internal/layout"
	"github.com/stoatdb/stoat/tuple"
)

// Row is fields of a record that was not decoded as a whole. It is valid until the transaction
// ends. A method returns an error if there is no field of that name, or one of another kind.
//
// In a migration the fields are those that records were ever stored with, since the one before. A
// field that was renamed answers to all of its names, whichever it had when the record was written.
// It is zero in a record that was written while there was no such field, and a number can be read
// as the widest type that the field has had.
type Row struct {
	record, key []byte
	version     *version // nil: the codec has no fields
	shape       *shape
	past        *layout.Past  // fields are those of records, not of the type; or nil
	only        []*column     // the fields to read; nil: all
	whole       reflect.Value // the decoded record if the codec has no fields
}

// Stored returns the record as it is stored, which must not be modified.
func (r Row) Stored() []byte { return r.record }

// Key returns the primary key.
func (r Row) Key() (tuple.Tuple, error) { return tuple.Decode(r.key) }

// Int returns the value of a field of an int type.
func (r Row) Int(name string) (int64, error) {
	return read(r, name, (*layout.Field).Int, reflect.Value.CanInt, reflect.Value.Int)
}

// Uint returns the value of a field of a uint type.
func (r Row) Uint(name string) (uint64, error) {
	return read(r, name, (*layout.Field).Uint, reflect.Value.CanUint, reflect.Value.Uint)
}

// Float returns the value of a field of a float type.
func (r Row) Float(name string) (float64, error) {
	return read(r, name, (*layout.Field).Float, reflect.Value.CanFloat, reflect.Value.Float)
}

// Bool returns the value of a bool field.
func (r Row) Bool(name string) (bool, error) {
	isBool := func(v reflect.Value) bool { return v.Kind() == reflect.Bool }
	return read(r, name, (*layout.Field).Bool, isBool, reflect.Value.Bool)
}

// String returns the value of a field of a string or bytes.
func (r Row) String(name string) (string, error) {
	return read(r, name, (*layout.Field).String, isText, func(v reflect.Value) string {
		if v.Kind() == reflect.String {
			return v.String()
		}
		return string(v.Bytes())
	})
}

// Bytes returns the value of a field of a string or bytes, which must not be modified.
func (r Row) Bytes(name string) ([]byte, error) {
	return read(r, name, (*layout.Field).Bytes, isText, func(v reflect.Value) []byte {
		if v.Kind() == reflect.String {
			return []byte(v.String())
		}
		return v.Bytes()
	})
}

// Time returns the value of a time field.
func (r Row) Time(name string) (time.Time, error) {
	isTime := func(v reflect.Value) bool { return v.Type() == reflect.TypeFor[time.Time]() }
	return read(r, name, (*layout.Field).Time, isTime, func(v reflect.Value) time.Time {
		t, _ := v.Interface().(time.Time)
		return t
	})
}

// UUID returns the value of a field of 16 bytes.
func (r Row) UUID(name string) ([16]byte, error) {
	is := func(v reflect.Value) bool { return isBytes(v.Type(), reflect.Array) && v.Len() == 16 }
	return read(r, name, (*layout.Field).UUID, is, func(v reflect.Value) [16]byte {
		return [16]byte(v.Bytes())
	})
}

// isText reports whether v is a string or bytes.
func isText(v reflect.Value) bool {
	return v.Kind() == reflect.String || v.Kind() == reflect.Slice &&
		v.Type().Elem().Kind() == reflect.Uint8
}

// read returns the value of a field: by get from a stored record, or of the decoded one.
func read[V any](
	r Row, name string, get func(*layout.Field, []byte) (V, error),
	fits func(reflect.Value) bool, of func(reflect.Value) V,
) (V, error) {
	var zero V
	switch {
	case r.version != nil:
		f, err := r.field(name)
		if err != nil {
			return zero, err
		}
		return get(f, r.record)
	case r.past != nil || r.shape == nil:
		return zero, errors.New("single fields of an old record can be read with the binary codec " +
			"only: decode what Row.Stored returns")
	}
	c, err := r.column(name)
	if err != nil {
		return zero, err
	}
	v := c.of(r.whole)
	if !fits(v) {
		return zero, fmt.Errorf("field %s has the type %s: it cannot be read as %T", name, c.typ, zero)
	}
	return of(v), nil
}

// field returns what reads the field with the name.
func (r *Row) field(name string) (*layout.Field, error) {
	if r.past != nil {
		return r.past.Field(r.version.number, name)
	}
	c, err := r.column(name)
	if err != nil {
		return nil, err
	}
	return r.version.fields[c.number], nil
}

// column returns the column with the name, which must be among those to read.
func (r *Row) column(name string) (*column, error) {
	for _, c := range r.only {
		if c.name == name {
			return c, nil
		}
	}
	if r.only != nil {
		return nil, fmt.Errorf("field %q was not asked for: name it in Query.Fields", name)
	}
	return r.shape.column(name)
}
