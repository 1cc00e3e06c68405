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

// column is a field of the records of a type, as keys, indexes and queries see it: its values are
// compared as the tuple elements that they are encoded to. It is immutable.
type column struct {
	name     string
	typ      reflect.Type
	kind     layout.Kind // of the value, of a list's elements, or of what is pointed to; or 0
	number   int         // among the columns of the type
	index    []int       // of the Go field
	was      []string    // its former names
	list     bool
	optional bool
}

// newColumn returns the column of a field.
func newColumn(info layout.Info, number int) column {
	t := info.Stored
	c := column{name: info.Name, typ: info.Type, kind: t.Kind, number: number, index: info.Index,
		was: info.Was}
	if (t.Kind == layout.List || t.Kind == layout.Optional) && scalar(t.Elem.Kind) {
		c.kind, c.list, c.optional = t.Elem.Kind, t.Kind == layout.List, t.Kind == layout.Optional
	}
	return c
}

// scalar reports whether values of the kind are elements of tuples.
func scalar(k layout.Kind) bool { return k >= layout.Bool && k <= layout.Bytes }

// ordered reports whether the values, or the elements of lists, are elements of tuples.
func (c *column) ordered() bool { return scalar(c.kind) }

// plain reports whether the value can be read from a record without decoding the others.
func (c *column) plain() bool { return c.ordered() && !c.list && !c.optional }

// class returns what the tuple elements of the column are; it is on disk.
func (c *column) class() string {
	class := ""
	switch {
	case c.list:
		class = "list of "
	case c.optional:
		class = "optional "
	}
	switch {
	case integral(c.kind):
		return class + "integer"
	case floating(c.kind):
		return class + "float"
	}
	return class + c.kind.String()
}

func integral(k layout.Kind) bool { return k >= layout.Int8 && k <= layout.Uint64 }
func signed(k layout.Kind) bool   { return k >= layout.Int8 && k <= layout.Int64 }
func floating(k layout.Kind) bool { return k == layout.Float32 || k == layout.Float64 }

// of returns the field of a record, which must be addressable.
func (c *column) of(record reflect.Value) reflect.Value {
	if len(c.index) == 1 {
		return record.Field(c.index[0])
	}
	return record.FieldByIndex(c.index)
}

// append appends the element that a value of the column is encoded to; of a list, that of one of
// its elements.
func (c *column) append(dst []byte, v reflect.Value) []byte {
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

// appendFloat appends a float; −0 and 0 are the same value.
func appendFloat(dst []byte, v float64) []byte { return tuple.AppendFloat(dst, v+0) }

// appendStored appends the element of a plain column from a record; f reads it.
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

// appendArgument appends the element that v, which somebody compares the column with, is encoded
// to. The error says what v should be.
func (c *column) appendArgument(dst []byte, v Value) ([]byte, error) {
	if t, ok := v.(time.Time); ok && c.kind == layout.Time {
		return tuple.AppendTime(dst, t), nil
	}
	if v == nil && c.optional {
		return tuple.AppendNil(dst), nil
	}
	r := reflect.ValueOf(v)
	switch {
	case v == nil:
	case integral(c.kind) && r.CanInt():
		return tuple.AppendInt(dst, r.Int()), nil
	case integral(c.kind) && r.CanUint():
		return tuple.AppendUint(dst, r.Uint()), nil
	case c.kind == layout.Float32 && r.CanFloat():
		return appendFloat(dst, rounded32(r.Float())), nil
	case floating(c.kind) && r.CanFloat():
		return appendFloat(dst, r.Float()), nil
	case floating(c.kind) && r.CanInt():
		return appendFloat(dst, float64(r.Int())), nil
	case floating(c.kind) && r.CanUint():
		return appendFloat(dst, float64(r.Uint())), nil
	case c.kind == layout.Bool && r.Kind() == reflect.Bool:
		return tuple.AppendBool(dst, r.Bool()), nil
	case c.kind == layout.String && r.Kind() == reflect.String:
		return tuple.AppendString(dst, r.String()), nil
	case c.kind == layout.Bytes && isBytes(r.Type(), reflect.Slice):
		return tuple.AppendBytes(dst, r.Bytes()), nil
	case c.kind == layout.UUID && isBytes(r.Type(), reflect.Array) && r.Len() == 16:
		var id [16]byte
		for i := range id {
			id[i] = byte(r.Index(i).Uint())
		}
		return tuple.AppendUUID(dst, id), nil
	case r.Kind() == reflect.Pointer:
		return dst, fmt.Errorf("field %s cannot be compared with a pointer (%T): pass the value, or "+
			"nil", c.name, v)
	}
	return dst, fmt.Errorf("field %s has the type %s: %s (%T) is no value for it", c.name, c.typ,
		formatValue(v), v)
}

// rounded32 returns the value that a float32 field would have of v: v itself if it has none.
func rounded32(v float64) float64 {
	if rounded := float64(float32(v)); !math.IsInf(rounded, 0) {
		return rounded
	}
	return v
}

// isBytes reports whether t is a slice or an array of bytes.
func isBytes(t reflect.Type, kind reflect.Kind) bool {
	return t.Kind() == kind && t.Elem().Kind() == reflect.Uint8
}

// least returns the least element that a value of the column has, other than nil.
func (c *column) least() []byte {
	if c.optional {
		return []byte{tuple.AppendNil(nil)[0] + 1}
	}
	return nil
}

// successor returns the least bytes that sort after all that begin with p; nil if there are none.
func successor(p []byte) []byte { return stoat.Prefix(p).End }
