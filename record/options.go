package record

import (
	"reflect"

	"github.com/stoatdb/stoat/tuple"
)

// Options configures how a collection stores its records. The zero value means the defaults.
type Options[T any] struct {
	// Codec chooses how records are encoded. Default: CodecBinary. It cannot change after the
	// collection is created.
	Codec Codec
	// Key returns the primary key of a record, with elements that package tuple supports, instead
	// of the fields with the tag option key. Its result must depend only on the record and be the
	// same in every version of the program: Open compares it with the keys of the first and last
	// record.
	Key func(*T) tuple.Tuple
	// Indexes lists indexes over several fields, in addition to those that tags create.
	Indexes []Index
	// Version is the version of the fields' meaning. Raise it when adding a function to Migrate;
	// never lower it.
	Version int
	// Migrate has, for each earlier version that may be stored, the function that converts a record
	// to Version. Open calls it once for each record. The record new is decoded as far as possible:
	// it has the fields that its type and the stored record share. The row old has all stored
	// fields, under every name they have ever had. With a codec other than CodecBinary, new is zero
	// if the old record cannot be decoded into the type.
	Migrate map[int]func(old Row, new *T) error
}

// settings are [Options] for the core of a collection, with the type of the records.
type settings struct {
	typ     reflect.Type
	codec   Codec
	keyOf   keyFunc
	indexes []Index
	version int
	migrate map[int]func(old Row, record reflect.Value) error
}

// settings returns the options for the core; of nil, the defaults.
func (o *Options[T]) settings() *settings {
	want := &settings{typ: reflect.TypeFor[T]()}
	if o == nil {
		return want
	}
	want.codec, want.indexes, want.version = o.Codec, o.Indexes, o.Version
	if key := o.Key; key != nil {
		want.keyOf = func(r reflect.Value) tuple.Tuple { return key(pointerTo[T](r)) }
	}
	want.migrate = make(map[int]func(Row, reflect.Value) error, len(o.Migrate))
	for version, fn := range o.Migrate {
		if fn != nil {
			want.migrate[version] = func(old Row, r reflect.Value) error {
				return fn(old, pointerTo[T](r))
			}
		}
	}
	return want
}

// shape compiles the type.
func (s *settings) shape() (*shape, error) {
	return newShape(s.typ, s.codec, s.indexes, s.keyOf != nil)
}

// Index describes an index: it orders the records by some fields, and then by key.
type Index struct {
	Name   string   // must be unique among the indexes
	Fields []string // named as in tags; fields of nested structs with a path: "home.city"
	Unique bool     // no two records may have the same values
}

// Key is a primary key: a value of the kind of the key field, or a [tuple.Tuple] of such values if
// the key has several fields. All integer types are one kind, and so are floats. In [View.Update]
// and [View.Delete] it is the value in a unique index instead.
type Key any

// Value is a value of a field: a bool, a number, a string, []byte, [time.Time], an array of 16
// bytes, or a value of a type derived from one of these. It is nil for a nil pointer. [Row.Value]
// also returns lists and other values with parts.
type Value any
