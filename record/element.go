package record

import (
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/layout"
	"github.com/stoatdb/stoat/tuple"
)

// appendValue appends the element of v, which is the column's field in a Go struct or, if the
// column is a list, one element of it.
func (c *column) appendValue(dst []byte, v reflect.Value) []byte {
	if c.optional {
		if v.IsNil() {
			return tuple.AppendNil(dst)
		}
		v = v.Elem()
	}
	switch {
	case signed(c.kind):
		return tuple.AppendInt(dst, v.Int())
	case integral(c.kind):
		return tuple.AppendUint(dst, v.Uint())
	case floating(c.kind):
		return appendFloat(dst, v.Float())
	}
	switch c.kind {
	case layout.Bool:
		return tuple.AppendBool(dst, v.Bool())
	case layout.Time:
		if t, ok := v.Addr().Interface().(*time.Time); ok {
			return tuple.AppendTime(dst, *t)
		}
	case layout.UUID:
		return tuple.AppendUUID(dst, [16]byte(v.Bytes()))
	case layout.String:
		return tuple.AppendString(dst, v.String())
	}
	return tuple.AppendBytes(dst, v.Bytes())
}

// appendStored appends the element of a plain column in a stored record, whose schema has the
// column as f.
func (c *column) appendStored(dst []byte, f *layout.Field, record []byte) ([]byte, error) {
	switch {
	case signed(c.kind):
		v, err := f.Int(record)
		return tuple.AppendInt(dst, v), err
	case integral(c.kind):
		v, err := f.Uint(record)
		return tuple.AppendUint(dst, v), err
	case floating(c.kind):
		v, err := f.Float(record)
		return appendFloat(dst, v), err
	}
	switch c.kind {
	case layout.Bool:
		v, err := f.Bool(record)
		return tuple.AppendBool(dst, v), err
	case layout.Time:
		v, err := f.Time(record)
		return tuple.AppendTime(dst, v), err
	case layout.UUID:
		v, err := f.UUID(record)
		return tuple.AppendUUID(dst, v), err
	}
	v, err := f.Bytes(record)
	if c.kind == layout.Bytes {
		return tuple.AppendBytes(dst, v), err
	}
	return tuple.AppendString(dst, string(v)), err
}

// appendArgument appends the element of v, a value that the caller compares the column with. Any Go
// type of the right class will do, such as an int for an int32 field. If v does not fit, the error
// says what to pass instead.
func (c *column) appendArgument(dst []byte, v Value) ([]byte, error) {
	if v == nil && c.optional {
		return tuple.AppendNil(dst), nil
	}
	if t, ok := v.(time.Time); ok && c.kind == layout.Time {
		return tuple.AppendTime(dst, t), nil
	}
	r := reflect.ValueOf(v)
	switch {
	case v == nil:
	case r.Kind() == reflect.Pointer:
		return dst, fmt.Errorf("field %s cannot be compared with a pointer (%T): pass the value, or "+
			"nil", c.name, v)
	case integral(c.kind) && r.CanInt():
		return tuple.AppendInt(dst, r.Int()), nil
	case integral(c.kind) && r.CanUint():
		return tuple.AppendUint(dst, r.Uint()), nil
	case floating(c.kind) && (r.CanFloat() || r.CanInt() || r.CanUint()):
		return c.appendFloatArgument(dst, r), nil
	case c.kind == layout.Bool && r.Kind() == reflect.Bool:
		return tuple.AppendBool(dst, r.Bool()), nil
	case c.kind == layout.String && r.Kind() == reflect.String:
		return tuple.AppendString(dst, r.String()), nil
	case c.kind == layout.Bytes && isBytes(r.Type(), reflect.Slice):
		return tuple.AppendBytes(dst, r.Bytes()), nil
	case c.kind == layout.UUID && isUUID(r.Type()):
		id := reflect.New(r.Type()).Elem() // addressable, as Bytes needs
		id.Set(r)
		return tuple.AppendUUID(dst, [16]byte(id.Bytes())), nil
	}
	return dst, fmt.Errorf("field %s has the type %s: the value %s (%T) does not fit", c.name, c.typ,
		formatValue(v), v)
}

// appendFloatArgument appends the element of a number for a float column. A float32 field compares
// equal to the float64 that rounds to it, such as 0.1.
func (c *column) appendFloatArgument(dst []byte, r reflect.Value) []byte {
	switch {
	case r.CanInt():
		return appendFloat(dst, float64(r.Int()))
	case r.CanUint():
		return appendFloat(dst, float64(r.Uint()))
	}
	v := r.Float()
	if rounded := float64(float32(v)); c.kind == layout.Float32 && !math.IsInf(rounded, 0) {
		v = rounded
	}
	return appendFloat(dst, v)
}

// appendFloat appends the element of a float; −0 and 0 have the same.
func appendFloat(dst []byte, v float64) []byte { return tuple.AppendFloat(dst, v+0) }

// isBytes reports whether t is a slice or an array of bytes, as kind says.
func isBytes(t reflect.Type, kind reflect.Kind) bool {
	return t.Kind() == kind && t.Elem().Kind() == reflect.Uint8
}

// isUUID reports whether t is an array of 16 bytes.
func isUUID(t reflect.Type) bool { return isBytes(t, reflect.Array) && t.Len() == 16 }

// isNil reports whether an element is nil.
func isNil(element []byte) bool { return string(element) == string(tuple.AppendNil(nil)) }

// least returns the lower bound of the column's elements other than nil.
func (c *column) least() []byte {
	if c.optional {
		return successor(tuple.AppendNil(nil))
	}
	return nil
}

// successor returns the least bytes that sort after everything that begins with p; nil if there are
// none.
func successor(p []byte) []byte { return stoat.Prefix(p).End }
