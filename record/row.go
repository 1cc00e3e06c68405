package record

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/stoatdb/stoat/internal/layout"
	"github.com/stoatdb/stoat/tuple"
)

// Row gives access to single fields of a record without decoding all of it. It is valid until the
// transaction ends. Its methods return an error for an unknown field or one of another kind.
//
// In a migration, a Row has all fields that records were ever stored with since the previous
// migration. A renamed field can be read under all its names, whichever it had when the record was
// written. In a record written before a field existed, the field is zero. A number can be read as
// the widest type that the field has had.
type Row struct {
	record, key []byte
	schema      *schema // nil if the codec has no schemas
	shape       *shape
	past        *layout.Past  // in a migration: resolves fields of stored records; else nil
	only        []*column     // the fields to read; nil: all
	whole       reflect.Value // the decoded record if the codec has no schemas
}

// errOldRow reports a row of which only the encoded record is known.
var errOldRow = errors.New("fields of an old record can only be read with the binary codec: " +
	"decode Row.Stored instead")

// Stored returns the encoded record, which must not be modified.
func (r Row) Stored() []byte { return r.record }

// Key returns the primary key.
func (r Row) Key() (tuple.Tuple, error) { return tuple.Decode(r.key) }

// Int returns the value of a field with a signed integer type.
func (r Row) Int(name string) (int64, error) {
	return read(r, name, (*layout.Field).Int, reflect.Value.CanInt, reflect.Value.Int)
}

// Uint returns the value of a field with an unsigned integer type.
func (r Row) Uint(name string) (uint64, error) {
	return read(r, name, (*layout.Field).Uint, reflect.Value.CanUint, reflect.Value.Uint)
}

// Float returns the value of a field with a float type.
func (r Row) Float(name string) (float64, error) {
	return read(r, name, (*layout.Field).Float, reflect.Value.CanFloat, reflect.Value.Float)
}

// Bool returns the value of a bool field.
func (r Row) Bool(name string) (bool, error) {
	isBool := func(v reflect.Value) bool { return v.Kind() == reflect.Bool }
	return read(r, name, (*layout.Field).Bool, isBool, reflect.Value.Bool)
}

// String returns the value of a string or bytes field.
func (r Row) String(name string) (string, error) {
	return read(r, name, (*layout.Field).String, isText, func(v reflect.Value) string {
		if v.Kind() == reflect.String {
			return v.String()
		}
		return string(v.Bytes())
	})
}

// Bytes returns the value of a string or bytes field, which must not be modified.
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

// UUID returns the value of a field with 16 bytes.
func (r Row) UUID(name string) ([16]byte, error) {
	is := func(v reflect.Value) bool { return isUUID(v.Type()) }
	return read(r, name, (*layout.Field).UUID, is, func(v reflect.Value) [16]byte {
		return [16]byte(v.Bytes())
	})
}

// Value returns the value of a field of any type as one of the types bool, int64, uint64, float64,
// string, []byte, [time.Time] and [16]byte. A list or an array is a []any of such values, a map a
// map[any]any, a struct in one of these a map[string]any, a nil pointer nil, and a value with a
// MarshalBinary method a []byte. If a list of structs or the like was stored before its type
// changed, it comes as it was stored. With a codec other than [CodecBinary], the value is that of
// the Go field.
func (r Row) Value(name string) (Value, error) {
	switch {
	case r.schema != nil:
		f, err := r.field(name)
		if err != nil {
			return nil, err
		}
		return f.Value(r.record)
	case r.past != nil || r.shape == nil:
		return nil, errOldRow
	}
	c, err := r.column(name)
	if err != nil {
		return nil, err
	}
	return c.value(r.whole).Interface(), nil
}

// isText reports whether v is a string or bytes.
func isText(v reflect.Value) bool {
	return v.Kind() == reflect.String || isBytes(v.Type(), reflect.Slice)
}

// read returns the value of a field: by get from a stored record, or by of from the decoded one.
func read[V any](
	r Row, name string, get func(*layout.Field, []byte) (V, error),
	fits func(reflect.Value) bool, of func(reflect.Value) V,
) (V, error) {
	var zero V
	switch {
	case r.schema != nil:
		f, err := r.field(name)
		if err != nil {
			return zero, err
		}
		return get(f, r.record)
	case r.past != nil || r.shape == nil:
		return zero, errOldRow
	}
	c, err := r.column(name)
	if err != nil {
		return zero, err
	}
	v := c.value(r.whole)
	if !fits(v) {
		return zero, fmt.Errorf("field %s has the type %s: it cannot be read as %T", name, c.typ, zero)
	}
	return of(v), nil
}

// field returns the reader of the field with the given name.
func (r *Row) field(name string) (*layout.Field, error) {
	if r.past != nil {
		return r.past.Field(r.schema.number, name)
	}
	c, err := r.column(name)
	if err != nil {
		return nil, err
	}
	return r.schema.fields[c.number], nil
}

// column returns the column with the given name, which must be one to read.
func (r *Row) column(name string) (*column, error) {
	for _, c := range r.only {
		if c.name == name {
			return c, nil
		}
	}
	if r.only != nil {
		return nil, fmt.Errorf("field %q was not requested: name it in Query.Fields", name)
	}
	return r.shape.column(name)
}
