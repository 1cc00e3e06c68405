package feed

import (
	"fmt"
	"slices"

	"github.com/stoatdb/stoat"
)

// StoredValue is a value of a feed that was opened without its Go type. It is valid until the
// transaction ends, and must not be modified; one of a live loop is valid forever.
type StoredValue struct {
	data   []byte
	fields *untyped // of a struct; nil if its schema cannot be read
	err    error    // why not
}

// Bytes returns the value as it is stored: a []byte as it was appended, JSON, or an encoded struct.
func (v StoredValue) Bytes() []byte { return v.data }

// Names returns the names of the fields that a struct was stored with, in the order of its type,
// with the path of structs around each, as in "home.city". It returns none for other values.
func (v StoredValue) Names() []string {
	if v.fields == nil {
		return nil
	}
	return slices.Clone(v.fields.names)
}

// FieldValue is a field of a value without its Go type: a bool, int64, uint64, float64, string,
// []byte, [time.Time] or [16]byte; a []any of such values for a list or an array, a map[any]any for
// a map, a map[string]any for a struct within one of these; as []byte what MarshalBinary has
// returned; and nil for a nil pointer.
type FieldValue any

// Field returns a field of a struct, which the caller owns. The error is [stoat.ErrNotFound] if the
// value was not stored with such a field.
func (v StoredValue) Field(name string) (FieldValue, error) {
	if v.err != nil {
		return nil, v.err
	}
	if v.fields != nil {
		if at := slices.Index(v.fields.names, name); at >= 0 {
			return v.fields.read[at].Value(v.data)
		}
	}
	return nil, fmt.Errorf("the value has no field %q: %w", name, stoat.ErrNotFound)
}
