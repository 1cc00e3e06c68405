package record

import (
	"reflect"

	"github.com/stoatdb/stoat/internal/layout"
)

// column is a field of a collection's records, as keys, indexes and queries see it.
//
// They compare values of a column by the tuple elements that encode them, never as Go values. There
// are three sources of values, with a method for each that appends the element: a Go struct
// (appendValue), a stored record (appendStored), and a value that the caller compares the column
// with (appendArgument). A column is immutable.
type column struct {
	name   string // as in the tag; with the path of structs around it, as in "home.city"
	number int    // position among the columns of the type
	typ    reflect.Type
	index  []int    // path to the Go field, for reflect.Value.FieldByIndex
	was    []string // former names

	// kind is the kind of the column's elements: of the value itself, of a list's elements, or of
	// what a pointer points to. If that has parts or cannot be stored, the column cannot be ordered.
	kind     layout.Kind
	list     bool // a value has any number of elements
	optional bool // a value is a pointer, which may be nil
}

// newColumn returns the column of a field.
func newColumn(info layout.Info, number int) column {
	c := column{name: info.Name, number: number, typ: info.Type, index: info.Index, was: info.Was}
	stored := info.Stored
	c.kind = stored.Kind
	if elem := stored.Elem; elem != nil && scalar(elem.Kind) {
		switch stored.Kind {
		case layout.List:
			c.kind, c.list = elem.Kind, true
		case layout.Optional:
			c.kind, c.optional = elem.Kind, true
		}
	}
	return c
}

// scalar reports whether tuples have elements for values of the kind.
func scalar(k layout.Kind) bool { return k >= layout.Bool && k <= layout.Bytes }

// signed reports whether values of the kind are signed integers.
func signed(k layout.Kind) bool { return k >= layout.Int8 && k <= layout.Int64 }

// integral reports whether values of the kind are integers, signed or not.
func integral(k layout.Kind) bool { return k >= layout.Int8 && k <= layout.Uint64 }

// floating reports whether values of the kind are floats.
func floating(k layout.Kind) bool { return k == layout.Float32 || k == layout.Float64 }

// ordered reports whether the column can be compared and indexed.
func (c *column) ordered() bool { return scalar(c.kind) }

// plain reports whether each value is exactly one element that is never nil. A plain column can be
// read from a stored record without decoding the rest, and it can be a key.
func (c *column) plain() bool { return c.ordered() && !c.list && !c.optional }

// class names the elements of the column. Columns of the same class have the same elements for the
// same values. It is on disk, in the definition.
func (c *column) class() string {
	prefix := ""
	switch {
	case c.list:
		prefix = "list of "
	case c.optional:
		prefix = "optional "
	}
	switch {
	case integral(c.kind):
		return prefix + "integer"
	case floating(c.kind):
		return prefix + "float"
	}
	return prefix + c.kind.String()
}

// value returns the column's field in a Go struct, which must be addressable.
func (c *column) value(record reflect.Value) reflect.Value {
	if len(c.index) == 1 {
		return record.Field(c.index[0])
	}
	return record.FieldByIndex(c.index)
}
