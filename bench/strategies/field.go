package strategies

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
)

// field is a pointer to the value of a record's field: *int64, *int32, *float64, *float32, *bool,
// *string, or *json.RawMessage. The last is any JSON value; empty, it is an absent field.
type field any

// widest is the length of the longest encoded fixed-width field.
const widest = 8

// widthOf returns the encoded width of a field in bytes, or 0 if it depends on the value.
func widthOf(f field) (width int, known bool) {
	switch f.(type) {
	case *int64, *float64:
		return 8, true
	case *int32, *float32:
		return 4, true
	case *bool:
		return 1, true
	case *string, *json.RawMessage:
		return 0, true
	}
	return 0, false
}

// appendField appends the encoded field: a number in little-endian order, a text as it is.
func appendField(dst []byte, f field) []byte {
	switch p := f.(type) {
	case *int64:
		return binary.LittleEndian.AppendUint64(dst, uint64(*p))
	case *int32:
		return binary.LittleEndian.AppendUint32(dst, uint32(*p))
	case *float64:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(*p))
	case *float32:
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(*p))
	case *bool:
		if *p {
			return append(dst, 1)
		}
		return append(dst, 0)
	case *string:
		return append(dst, *p...)
	case *json.RawMessage:
		return append(dst, *p...)
	}
	return dst
}

// setField decodes src, which has the field's width, into the field. It does not retain src.
func setField(f field, src []byte) {
	switch p := f.(type) {
	case *int64:
		*p = int64(binary.LittleEndian.Uint64(src))
	case *int32:
		*p = int32(binary.LittleEndian.Uint32(src))
	case *float64:
		*p = math.Float64frombits(binary.LittleEndian.Uint64(src))
	case *float32:
		*p = math.Float32frombits(binary.LittleEndian.Uint32(src))
	case *bool:
		*p = src[0] != 0
	case *string:
		*p = string(src)
	case *json.RawMessage:
		*p = bytes.Clone(src)
	}
}

// textSize returns the length of the encoded field if its width depends on its value.
func textSize(f field) int {
	switch p := f.(type) {
	case *string:
		return len(*p)
	case *json.RawMessage:
		return len(*p)
	}
	return 0
}

// isAbsent reports whether the record lacks the field.
func isAbsent(f field) bool {
	raw, ok := f.(*json.RawMessage)
	return ok && len(*raw) == 0
}

// number returns the field's contribution to a sum: a number, 1 for true, or the length of a text.
func number(f field) float64 {
	switch p := f.(type) {
	case *int64:
		return float64(*p)
	case *int32:
		return float64(*p)
	case *float64:
		return *p
	case *float32:
		return float64(*p)
	case *bool:
		if *p {
			return 1
		}
	}
	return float64(textSize(f))
}

// copyField sets a field to another one of its type, without sharing memory.
func copyField(dst, src field) { setField(dst, appendField(nil, src)) }

// clearField sets a field to its zero value.
func clearField(f field) {
	var zero [widest]byte
	width, _ := widthOf(f)
	setField(f, zero[:width])
}

// sameField reports whether two fields of one type are equal, to the last bit.
func sameField(a, b field) bool {
	return bytes.Equal(appendField(nil, a), appendField(nil, b))
}
