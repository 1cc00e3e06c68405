package tuple

import (
	"fmt"
	"reflect"
	"time"

	"github.com/stoatdb/stoat"
)

// Tuple is a list of elements of the types that the package comment lists.
type Tuple []any

// Descending is an element in descending order; see [Desc].
type Descending struct {
	Value any // the element; never a Descending itself
}

// Desc returns v as an element in descending order, for [Append] and the other functions: greater
// values sort before smaller ones, and all of them after ascending elements.
func Desc[T any](v T) Descending { return Descending{v} }

// Encode returns the encoding of a tuple of the values.
func Encode(values ...any) ([]byte, error) { return Append(nil, values...) }

// Append appends the encoding of a tuple of the values to dst. If the type of a value has no
// encoding, it returns an error and dst unchanged.
func Append(dst []byte, values ...any) ([]byte, error) {
	start := len(dst)
	for i, v := range values {
		from := len(dst)
		d, descending := v.(Descending)
		if descending {
			v = d.Value
		}
		var ok bool
		if dst, ok = appendValue(dst, v); !ok {
			return dst[:start], fmt.Errorf("tuple element %d: a value of type %T cannot be encoded: "+
				"convert it to an integer, a float, a string, bytes, a time or a UUID", i, v)
		}
		if descending {
			Invert(dst[from:])
		}
	}
	return dst, nil
}

// Decode returns the elements of an encoded tuple: nil, bool, int64 (or uint64 if it does not fit),
// float64, string, []byte, time.Time in UTC, [16]byte, or [Descending] with one of these. It does
// not retain p.
func Decode(p []byte) (Tuple, error) {
	var values Tuple
	for r := NewReader(p); r.More(); {
		v, err := r.value()
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// Prefix returns the range of all keys that are tuples beginning with the values. If the type of a
// value has no encoding, the range is empty.
func Prefix(values ...any) stoat.Range {
	p, err := Encode(values...)
	if err != nil {
		return nothing()
	}
	return stoat.Prefix(p)
}

// Between returns the range from low, inclusive, to high, exclusive; either may be shorter than the
// keys, and an empty high means no upper bound. If the type of a value has no encoding, the range
// is empty, as with [Prefix].
func Between(low, high Tuple) stoat.Range {
	start, err := Encode(low...)
	if err != nil {
		return nothing()
	}
	end, err := Encode(high...)
	if err != nil {
		return nothing()
	}
	return stoat.Range{Start: start, End: end}
}

// nothing returns an empty range.
func nothing() stoat.Range {
	return stoat.Range{Start: []byte{0}, End: []byte{0}}
}

// appendValue appends one ascending element; ok is false if its type has no encoding.
func appendValue(dst []byte, v any) (_ []byte, ok bool) {
	switch v := v.(type) {
	case nil:
		return AppendNil(dst), true
	case int:
		return AppendInt(dst, int64(v)), true
	case int64:
		return AppendInt(dst, v), true
	case uint64:
		return AppendUint(dst, v), true
	case string:
		return AppendString(dst, v), true
	case []byte:
		return AppendBytes(dst, v), true
	case time.Time:
		return AppendTime(dst, v), true
	case [16]byte:
		return AppendUUID(dst, v), true
	case Descending:
		return dst, false
	}
	return appendKind(dst, reflect.ValueOf(v))
}

// appendKind appends one ascending element by its kind; ok is false if it has no encoding.
func appendKind(dst []byte, v reflect.Value) (_ []byte, ok bool) {
	switch v.Kind() {
	case reflect.Bool:
		return AppendBool(dst, v.Bool()), true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return AppendInt(dst, v.Int()), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return AppendUint(dst, v.Uint()), true
	case reflect.Float32, reflect.Float64:
		return AppendFloat(dst, v.Float()), true
	case reflect.String:
		return AppendString(dst, v.String()), true
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return AppendBytes(dst, v.Bytes()), true
		}
	case reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 && v.Len() == 16 {
			var id [16]byte
			for i := range id {
				id[i] = byte(v.Index(i).Uint())
			}
			return AppendUUID(dst, id), true
		}
	}
	return dst, false
}
