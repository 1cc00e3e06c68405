// Package value encodes the values of fields independently of the Go types and the schemas of any
// program.
//
// A scalar is the element that package tuple gives it, so the bytes of scalars of a type sort like
// the scalars. Other values begin with tags that tuples do not have:
//
//	tag      value     followed by
//	02 … 34  scalar    as in package tuple; ascending only
//	40       list      uvarint count, values
//	41       map       uvarint count, then keys, which are scalars, each with its value; by
//	                   ascending key
//	42       struct    uvarint count, then names (uvarint length of 1 to 255, bytes), each with its
//	                   value; by ascending name
//
// Values nest 32 deep at most. Every value has one encoding. [Take] accepts nothing else. A field
// that was never written has the zero value of its type: 0, "", an empty list, and so on.
//
// The package also converts the fields of records, as package layout stores them, to values and
// back, with [Schema]. Functions are safe for concurrent use.
package value

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/stoatdb/stoat/replica/internal/wire"
	"github.com/stoatdb/stoat/tuple"
)

// The tags of values.
const (
	tagNil    = 0x02
	tagFalse  = 0x04
	tagTrue   = 0x05
	tagZero   = 0x14 // integers are around it
	tagFloat  = 0x20
	tagString = 0x28
	tagBytes  = 0x2c
	tagTime   = 0x30
	tagUUID   = 0x34
	tagList   = 0x40
	tagMap    = 0x41
	tagStruct = 0x42
)

// depthMax is how deep values nest; package layout nests no deeper.
const depthMax = 32

// nameMax is the longest name of a struct's field, in bytes.
const nameMax = 255

// Take reads a value.
func Take(r *wire.Reader) []byte {
	before := r.Rest()
	skip(r, 0)
	if r.Err() != nil {
		return nil
	}
	n := len(before) - r.Len()
	return before[:n:n]
}

// TakeScalar reads a scalar.
func TakeScalar(r *wire.Reader) []byte {
	if p := r.Rest(); len(p) > 0 && p[0] >= tagList {
		r.Fail("a value with the tag %02x where a scalar must be", p[0])
	}
	return Take(r)
}

// IsTuple reports whether p is scalars, one after the other.
func IsTuple(p []byte) bool {
	r := wire.NewReader(p)
	for r.Len() > 0 {
		TakeScalar(&r)
	}
	return r.Err() == nil
}

// skip reads a value at a depth.
func skip(r *wire.Reader, depth int) {
	if depth > depthMax {
		r.Fail("values are nested more than %d deep", depthMax)
	}
	switch tag := r.Byte(); {
	case r.Err() != nil:
	case tag == tagNil, tag == tagFalse, tag == tagTrue, tag == tagZero:
	case tag >= tagZero-8 && tag < tagZero:
		if p := r.Take(int(tagZero - tag)); len(p) > 0 {
			if p[0] == 0xFF || len(p) == 8 && ^binary.BigEndian.Uint64(p) > 1<<63 {
				r.Fail("a negative integer is out of range or not as short as it could be")
			}
		}
	case tag > tagZero && tag <= tagZero+8:
		if p := r.Take(int(tag - tagZero)); len(p) > 0 && p[0] == 0 {
			r.Fail("an integer is not as short as it could be")
		}
	case tag == tagFloat:
		skipFloat(r)
	case tag == tagString, tag == tagBytes:
		skipText(r)
	case tag == tagTime:
		if p := r.Take(12); p != nil && binary.BigEndian.Uint32(p[8:]) >= 1e9 {
			r.Fail("a time has a second or more of nanoseconds")
		}
	case tag == tagUUID:
		r.Take(16)
	default:
		skipParts(r, tag, depth)
	}
}

// skipFloat reads what follows the tag of a float.
func skipFloat(r *wire.Reader) {
	p := r.Take(8)
	if p == nil {
		return
	}
	var nan [9]byte
	if isNaN(p) && !bytes.Equal(p, tuple.AppendFloat(nan[:0], math.NaN())[1:]) {
		r.Fail("a NaN is not the one that has an encoding")
	}
}

// isNaN reports whether the bytes behind the tag of a float are a NaN.
func isNaN(p []byte) bool {
	v := floatOf(p)
	return v != v
}

// floatOf returns the float whose bytes behind the tag are p.
func floatOf(p []byte) float64 {
	x := binary.BigEndian.Uint64(p)
	if x>>63 != 0 {
		x &^= 1 << 63
	} else {
		x = ^x
	}
	return math.Float64frombits(x)
}

// skipText reads what follows the tag of a string or bytes.
func skipText(r *wire.Reader) {
	p := r.Rest()
	end := bytes.IndexByte(p, 0)
	if end < 0 {
		r.Fail("a string does not end")
		return
	}
	for text := p[:end]; ; {
		at := bytes.IndexByte(text, 1)
		if at < 0 {
			break
		}
		if at+1 == len(text) || text[at+1] > 2 {
			r.Fail("an unknown escape in a string")
			return
		}
		text = text[at+2:]
	}
	r.Take(end + 1)
}

// skipParts reads what follows the tag of a list, a map or a struct.
func skipParts(r *wire.Reader, tag byte, depth int) {
	switch tag {
	case tagList:
		for range r.Count(math.MaxInt32, 1) {
			skip(r, depth+1)
			if r.Err() != nil {
				return
			}
		}
	case tagMap, tagStruct:
		var last []byte
		for i := range r.Count(math.MaxInt32, 2) {
			var key []byte
			if tag == tagMap {
				key = TakeScalar(r)
			} else {
				key = r.Bytes(1, nameMax)
			}
			skip(r, depth+1)
			if i > 0 && bytes.Compare(key, last) <= 0 {
				r.Fail("the keys of a map or a struct are not sorted")
			}
			if last = key; r.Err() != nil {
				return
			}
		}
	default:
		r.Fail("no value has the tag %02x", tag)
	}
}

// Decoded is a value as Go has it: a scalar as package tuple decodes it, a list as []any, a map as
// map[any]any, and a struct as map[string]any.
type Decoded any

// Decode decodes a value.
func Decode(v []byte) (Decoded, error) {
	r := wire.NewReader(v)
	if Take(&r); r.End() != nil {
		return nil, r.Err()
	}
	return decode(v)
}

// decode is Decode for a value that is valid.
func decode(v []byte) (any, error) {
	switch v[0] {
	case tagList:
		list := []any{}
		for _, p := range parts(v, tagList) {
			element, err := decode(p)
			if err != nil {
				return nil, err
			}
			list = append(list, element)
		}
		return list, nil
	case tagMap:
		m := map[any]any{}
		for _, p := range parts(v, tagMap) {
			key, err := mapKey(keyOf(p, tagMap))
			if err != nil {
				return nil, err
			}
			if m[key], err = decode(p[len(keyOf(p, tagMap)):]); err != nil {
				return nil, err
			}
		}
		return m, nil
	case tagStruct:
		m := map[string]any{}
		for _, p := range parts(v, tagStruct) {
			name := keyOf(p, tagStruct)
			field, err := decode(p[wire.UvarintLen(uint64(len(name)))+len(name):])
			if err != nil {
				return nil, err
			}
			m[string(name)] = field
		}
		return m, nil
	}
	elements, err := tuple.Decode(v)
	if err != nil {
		return nil, err
	}
	return elements[0], nil
}

// mapKey decodes the key of a map. Bytes, which Go cannot compare, become a string.
func mapKey(v []byte) (any, error) {
	key, err := decode(v)
	if p, ok := key.([]byte); ok {
		return string(p), err
	}
	return key, err
}
