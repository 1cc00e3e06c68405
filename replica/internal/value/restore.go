package value

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/stoatdb/stoat/internal/layout"
	"github.com/stoatdb/stoat/replica/internal/wire"
	"github.com/stoatdb/stoat/tuple"
)

// storeFixed appends the stored form of a fixed kind. A number out of the kind's range becomes the
// nearest one in it, and a value of another class the zero value.
func storeFixed(dst []byte, k layout.Kind, v []byte) []byte {
	switch {
	case k == layout.Bool:
		return append(dst, boolByte(v[0] == tagTrue))
	case k >= layout.Int8 && k <= layout.Int64:
		size := 1 << (k - layout.Int8)
		least := int64(math.MinInt64) >> (64 - 8*size)
		i := min(max(intOf(v), least), -(least + 1))
		return appendLow(dst, uint64(i), size)
	case k >= layout.Uint8 && k <= layout.Uint64:
		size := 1 << (k - layout.Uint8)
		return appendLow(dst, min(uintOf(v), math.MaxUint64>>(64-8*size)), size)
	case k == layout.Float32:
		return appendLow(dst, uint64(math.Float32bits(float32(numberOf(v)))), 4)
	case k == layout.Float64:
		return appendLow(dst, math.Float64bits(numberOf(v)), 8)
	case k == layout.Time:
		t := time.Time{}
		if v[0] == tagTime {
			t = time.Unix(int64(binary.BigEndian.Uint64(v[1:])^1<<63),
				int64(binary.BigEndian.Uint32(v[9:])))
		}
		dst = appendLow(dst, uint64(t.Unix()), 8)
		return appendLow(dst, uint64(t.Nanosecond()), 4)
	}
	if v[0] == tagUUID {
		return append(dst, v[1:17]...)
	}
	return append(dst, make([]byte, 16)...)
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// appendLow appends the lowest bytes of v, little-endian.
func appendLow(dst []byte, v uint64, size int) []byte {
	var all [8]byte
	binary.LittleEndian.PutUint64(all[:], v)
	return append(dst, all[:size]...)
}

// integer returns the absolute value of an integer and its sign; 0 for other values.
func integer(v []byte) (magnitude uint64, negative bool) {
	tag := v[0]
	if tag < tagZero-8 || tag > tagZero+8 {
		return 0, false
	}
	for _, b := range v[1:] {
		if tag < tagZero {
			b = ^b
		}
		magnitude = magnitude<<8 | uint64(b)
	}
	return magnitude, tag < tagZero
}

// intOf returns an integer as an int64, or the nearest.
func intOf(v []byte) int64 {
	magnitude, negative := integer(v)
	if negative {
		return int64(-magnitude)
	}
	return int64(min(magnitude, math.MaxInt64))
}

// uintOf returns an integer as a uint64, or 0 if it is negative.
func uintOf(v []byte) uint64 {
	magnitude, negative := integer(v)
	if negative {
		return 0
	}
	return magnitude
}

// numberOf returns a float or an integer as a float64; 0 for other values.
func numberOf(v []byte) float64 {
	if v[0] == tagFloat {
		return floatOf(v[1:])
	}
	magnitude, negative := integer(v)
	if negative {
		return -float64(magnitude)
	}
	return float64(magnitude)
}

// textOf returns the bytes of a string or of bytes; none for other values.
func textOf(v []byte) []byte {
	if v[0] != tagString && v[0] != tagBytes {
		return nil
	}
	v = v[1 : len(v)-1]
	if bytes.IndexByte(v, 1) < 0 {
		return v
	}
	p := make([]byte, 0, len(v))
	for i := 0; i < len(v); i++ {
		if v[i] == 1 {
			i++
			p = append(p, v[i]-1)
		} else {
			p = append(p, v[i])
		}
	}
	return p
}

// storePart appends the stored form of a value as a part of another one.
func storePart(dst []byte, t *layout.Type, v []byte) []byte {
	switch t.Kind {
	case layout.String, layout.Bytes, layout.Opaque:
		return wire.AppendBytes(dst, textOf(v))
	case layout.List, layout.Array:
		items := parts(v, tagList)
		if t.Kind == layout.List {
			dst = binary.AppendUvarint(dst, uint64(len(items)))
			t = &layout.Type{Elem: t.Elem, Len: len(items)}
		}
		for i := range t.Len {
			item := []byte(nil)
			if i < len(items) {
				item = items[i]
			} else {
				item = AppendZero(nil, t.Elem)
			}
			dst = storePart(dst, t.Elem, item)
		}
		return dst
	case layout.Map:
		var stored [][]byte
		for _, pair := range parts(v, tagMap) {
			key := keyOf(pair, tagMap)
			p := storePart(nil, t.Key, key)
			stored = append(stored, storePart(p, t.Elem, pair[len(key):]))
		}
		slices.SortFunc(stored, bytes.Compare)
		dst = binary.AppendUvarint(dst, uint64(len(stored)))
		return append(dst, bytes.Join(stored, nil)...)
	case layout.Optional:
		if v[0] == tagNil {
			return append(dst, 0)
		}
		return storePart(append(dst, 1), t.Elem, v)
	case layout.Struct:
		values := map[string][]byte{}
		for _, pair := range parts(v, tagStruct) {
			name := keyOf(pair, tagStruct)
			values[string(name)] = pair[wire.UvarintLen(uint64(len(name)))+len(name):]
		}
		for i := range t.Fields {
			f := &t.Fields[i]
			p := values[f.Name]
			if p == nil {
				p = AppendZero(nil, f.Type)
			}
			dst = storePart(dst, f.Type, p)
		}
		return dst
	}
	return storeFixed(dst, t.Kind, v)
}

// parts returns the elements of a list, or the keys of a map or a struct, each with its value; none
// for other values.
func parts(v []byte, tag byte) [][]byte {
	if v[0] != tag {
		return nil
	}
	r := wire.NewReader(v[1:])
	var all [][]byte
	for range r.Uvarint() {
		before := r.Rest()
		switch tag {
		case tagStruct:
			r.Bytes(1, nameMax)
		case tagMap:
			Take(&r)
		}
		Take(&r)
		all = append(all, before[:len(before)-r.Len()])
	}
	return all
}

// Elements returns the elements of a list, or the keys of a map, each with its value.
func Elements(v []byte) [][]byte {
	if v[0] == tagMap {
		return parts(v, tagMap)
	}
	return parts(v, tagList)
}

// Key returns the key of a map's key with its value.
func Key(pair []byte) []byte { return keyOf(pair, tagMap) }

// AppendList appends the list of some elements.
func AppendList(dst []byte, elements [][]byte) []byte {
	dst = binary.AppendUvarint(append(dst, tagList), uint64(len(elements)))
	return append(dst, bytes.Join(elements, nil)...)
}

// AppendMap appends the map of some keys with their values, which are sorted.
func AppendMap(dst []byte, pairs [][]byte) []byte {
	dst = binary.AppendUvarint(append(dst, tagMap), uint64(len(pairs)))
	return append(dst, bytes.Join(pairs, nil)...)
}

// Int returns an integer as an int64, or the nearest one.
func Int(v []byte) int64 { return intOf(v) }

// AppendInt appends an integer.
func AppendInt(dst []byte, i int64) []byte { return tuple.AppendInt(dst, i) }

// storeField appends the stored form of a value as a variable field.
func storeField(dst []byte, t *layout.Type, v []byte) []byte {
	switch {
	case t.Kind == layout.String, t.Kind == layout.Bytes:
		return append(dst, textOf(v)...)
	case t.Kind == layout.Opaque && len(textOf(v)) == 0,
		t.Kind == layout.Optional && v[0] == tagNil,
		t.Kind == layout.List && len(parts(v, tagList)) == 0,
		t.Kind == layout.Map && len(parts(v, tagMap)) == 0:
		return dst
	}
	return storePart(dst, t, v)
}
