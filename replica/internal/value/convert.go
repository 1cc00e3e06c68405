package value

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/stoatdb/stoat/internal/layout"
	"github.com/stoatdb/stoat/replica/internal/wire"
	"github.com/stoatdb/stoat/tuple"
)

// source reads the stored form of package layout, which is little-endian and not canonical.
type source struct {
	rest []byte
	err  error
}

// take returns the next n bytes; zeros if they are not there.
func (s *source) take(n uint64) []byte {
	if s.err != nil || n > uint64(len(s.rest)) {
		s.err = errStored
		return make([]byte, min(n, 16))
	}
	p := s.rest[:n:n]
	s.rest = s.rest[n:]
	return p
}

// errStored reports a record that package layout did not write.
var errStored = fmt.Errorf("a stored record does not have the form of its schema: %w",
	wire.ErrMalformed)

func (s *source) uvarint() uint64 {
	v, n := binary.Uvarint(s.rest)
	if n <= 0 {
		s.err = errStored
		return 0
	}
	s.rest = s.rest[n:]
	return v
}

// count reads a number of elements.
func (s *source) count() int {
	n := s.uvarint()
	if n > math.MaxInt32 {
		s.err = errStored
		return 0
	}
	return int(n)
}

// appendFixed appends the value of a fixed kind.
func appendFixed(dst []byte, k layout.Kind, s *source) []byte {
	switch k {
	case layout.Bool:
		return tuple.AppendBool(dst, s.take(1)[0] != 0)
	case layout.Int8:
		return tuple.AppendInt(dst, int64(int8(s.take(1)[0])))
	case layout.Int16:
		return tuple.AppendInt(dst, int64(int16(binary.LittleEndian.Uint16(s.take(2)))))
	case layout.Int32:
		return tuple.AppendInt(dst, int64(int32(binary.LittleEndian.Uint32(s.take(4)))))
	case layout.Int64:
		return tuple.AppendInt(dst, int64(binary.LittleEndian.Uint64(s.take(8))))
	case layout.Uint8:
		return tuple.AppendUint(dst, uint64(s.take(1)[0]))
	case layout.Uint16:
		return tuple.AppendUint(dst, uint64(binary.LittleEndian.Uint16(s.take(2))))
	case layout.Uint32:
		return tuple.AppendUint(dst, uint64(binary.LittleEndian.Uint32(s.take(4))))
	case layout.Uint64:
		return tuple.AppendUint(dst, binary.LittleEndian.Uint64(s.take(8)))
	case layout.Float32:
		return tuple.AppendFloat(dst,
			float64(math.Float32frombits(binary.LittleEndian.Uint32(s.take(4)))))
	case layout.Float64:
		return tuple.AppendFloat(dst, math.Float64frombits(binary.LittleEndian.Uint64(s.take(8))))
	case layout.Time:
		sec := int64(binary.LittleEndian.Uint64(s.take(8)))
		nsec := binary.LittleEndian.Uint32(s.take(4))
		return tuple.AppendTime(dst, time.Unix(sec, int64(nsec)))
	}
	return tuple.AppendUUID(dst, [16]byte(s.take(16)))
}

// appendPart appends a value that is stored as a part of another one.
func appendPart(dst []byte, t *layout.Type, s *source) []byte {
	switch t.Kind {
	case layout.String:
		return tuple.AppendString(dst, string(s.take(s.uvarint())))
	case layout.Bytes, layout.Opaque:
		return tuple.AppendBytes(dst, s.take(s.uvarint()))
	case layout.List, layout.Array:
		n := t.Len
		if t.Kind == layout.List {
			n = s.count()
		}
		dst = binary.AppendUvarint(append(dst, tagList), uint64(n))
		for range n {
			if s.err != nil {
				return dst
			}
			dst = appendPart(dst, t.Elem, s)
		}
		return dst
	case layout.Map:
		return appendSorted(dst, tagMap, s.count(), func(int) []byte {
			key := appendPart(nil, t.Key, s)
			return appendPart(key, t.Elem, s)
		}, s)
	case layout.Optional:
		if s.take(1)[0] == 0 {
			return tuple.AppendNil(dst)
		}
		return appendPart(dst, t.Elem, s)
	case layout.Struct:
		return appendSorted(dst, tagStruct, len(t.Fields), func(i int) []byte {
			f := &t.Fields[i]
			return appendPart(wire.AppendBytes(nil, f.Name), f.Type, s)
		}, s)
	}
	return appendFixed(dst, t.Kind, s)
}

// appendSorted appends n keys with their values, sorted. No key is a prefix of another one.
func appendSorted(dst []byte, tag byte, n int, next func(i int) []byte, s *source) []byte {
	var pairs [][]byte
	for i := 0; i < n && s.err == nil; i++ {
		pairs = append(pairs, next(i))
	}
	sortPairs(pairs, tag)
	pairs = slices.CompactFunc(pairs, func(a, b []byte) bool { // NaN, which equals nothing in Go
		return bytes.Equal(keyOf(a, tag), keyOf(b, tag))
	})
	dst = binary.AppendUvarint(append(dst, tag), uint64(len(pairs)))
	for _, p := range pairs {
		dst = append(dst, p...)
	}
	return dst
}

// sortPairs sorts keys with their values as the tag demands: the names of a struct's fields sort
// without their lengths.
func sortPairs(pairs [][]byte, tag byte) {
	slices.SortFunc(pairs, func(a, b []byte) int {
		return bytes.Compare(keyOf(a, tag), keyOf(b, tag))
	})
}

// keyOf returns the key of a key with its value.
func keyOf(pair []byte, tag byte) []byte {
	r := wire.NewReader(pair)
	if tag == tagStruct {
		return r.Bytes(1, nameMax)
	}
	return TakeScalar(&r)
}

// appendField appends the value of a variable field.
func appendField(dst []byte, t *layout.Type, p []byte) ([]byte, error) {
	switch {
	case t.Kind == layout.String:
		return tuple.AppendString(dst, string(p)), nil
	case t.Kind == layout.Bytes:
		return tuple.AppendBytes(dst, p), nil
	case len(p) == 0:
		return AppendZero(dst, t), nil
	}
	s := source{rest: p}
	dst = appendPart(dst, t, &s)
	if s.err == nil && len(s.rest) > 0 {
		s.err = errStored
	}
	return dst, s.err
}

// AppendZero appends the zero value of a type.
func AppendZero(dst []byte, t *layout.Type) []byte {
	switch t.Kind {
	case layout.String:
		return tuple.AppendString(dst, "")
	case layout.Bytes, layout.Opaque:
		return tuple.AppendBytes(dst, nil)
	case layout.List:
		return append(dst, tagList, 0)
	case layout.Map:
		return append(dst, tagMap, 0)
	case layout.Optional:
		return tuple.AppendNil(dst)
	case layout.Array:
		dst = binary.AppendUvarint(append(dst, tagList), uint64(t.Len))
		for range t.Len {
			dst = AppendZero(dst, t.Elem)
		}
		return dst
	case layout.Struct:
		return appendSorted(dst, tagStruct, len(t.Fields), func(i int) []byte {
			return AppendZero(wire.AppendBytes(nil, t.Fields[i].Name), t.Fields[i].Type)
		}, &source{})
	case layout.Time:
		return tuple.AppendTime(dst, time.Time{})
	}
	var zeros [16]byte
	return appendFixed(dst, t.Kind, &source{rest: zeros[:]})
}
