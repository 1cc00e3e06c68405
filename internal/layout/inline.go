package layout

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"unsafe"
)

// slice is the memory layout of a slice of any type.
type slice struct {
	data     unsafe.Pointer
	len, cap int
}

// appendField appends the value at p as a variable field.
func (v *value) appendField(dst []byte, p unsafe.Pointer) ([]byte, error) {
	switch v.kind {
	case String:
		return append(dst, *(*string)(p)...), nil
	case Bytes:
		return append(dst, *(*[]byte)(p)...), nil
	case List:
		if (*slice)(p).len == 0 {
			return dst, nil
		}
	case Map:
		if reflect.NewAt(v.typ, p).Elem().Len() == 0 {
			return dst, nil
		}
	case Optional:
		if *(*unsafe.Pointer)(p) == nil {
			return dst, nil
		}
	case Opaque:
		if reflect.NewAt(v.typ, p).Elem().IsZero() {
			return dst, nil
		}
	}
	return v.append(dst, p)
}

// append appends the value at p as part of another value.
func (v *value) append(dst []byte, p unsafe.Pointer) ([]byte, error) {
	switch v.kind {
	case String:
		s := *(*string)(p)
		return append(binary.AppendUvarint(dst, uint64(len(s))), s...), nil
	case Bytes:
		s := *(*[]byte)(p)
		return append(binary.AppendUvarint(dst, uint64(len(s))), s...), nil
	case List:
		s := (*slice)(p)
		return v.appendElements(binary.AppendUvarint(dst, uint64(s.len)), s.data, s.len)
	case Array:
		return v.appendElements(dst, p, v.typ.Len())
	case Optional:
		p = *(*unsafe.Pointer)(p)
		if p == nil {
			return append(dst, 0), nil
		}
		return v.elem.append(append(dst, 1), p)
	case Struct:
		for i := range v.members {
			m := &v.members[i]
			var err error
			if dst, err = m.val.append(dst, unsafe.Add(p, m.off)); err != nil {
				return dst, err
			}
		}
		return dst, nil
	case Map:
		return v.appendMap(dst, p)
	case Opaque:
		return v.appendOpaque(dst, p)
	}
	n, size := len(dst), v.kind.size()
	dst = slices.Grow(dst, size)[:n+size]
	store(v.mem, dst[n:], p)
	return dst, nil
}

// appendElements appends n values of the element's type, starting at p.
func (v *value) appendElements(dst []byte, p unsafe.Pointer, n int) ([]byte, error) {
	step := v.elem.typ.Size()
	for i := range n {
		var err error
		if dst, err = v.elem.append(dst, unsafe.Add(p, uintptr(i)*step)); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// appendMap appends a map. No key is a prefix of another, so sorting keys together with their
// values sorts by key.
func (v *value) appendMap(dst []byte, p unsafe.Pointer) ([]byte, error) {
	own := *(*unsafe.Pointer)(p) // a map is a pointer; a copy, because reflection may retain &own
	m := reflect.NewAt(v.typ, unsafe.Pointer(&own)).Elem()
	dst = binary.AppendUvarint(dst, uint64(m.Len()))
	key, elem := reflect.New(v.key.typ), reflect.New(v.elem.typ)
	entries := make([][]byte, 0, m.Len())
	for i := m.MapRange(); i.Next(); {
		key.Elem().SetIterKey(i)
		elem.Elem().SetIterValue(i)
		entry, err := v.key.append(nil, key.UnsafePointer())
		if err == nil {
			entry, err = v.elem.append(entry, elem.UnsafePointer())
		}
		if err != nil {
			return dst, err
		}
		entries = append(entries, entry)
	}
	slices.SortFunc(entries, bytes.Compare)
	for _, entry := range entries {
		dst = append(dst, entry...)
	}
	return dst, nil
}

// appendOpaque appends what the value's MarshalBinary method returns. The method gets a copy, so
// that it does not make every struct escape to the heap.
func (v *value) appendOpaque(dst []byte, p unsafe.Pointer) ([]byte, error) {
	own := reflect.New(v.typ)
	v.move(own.UnsafePointer(), p)
	m, ok := own.Interface().(encoding.BinaryMarshaler)
	if !ok {
		return dst, fmt.Errorf("a %s has no MarshalBinary method", v.typ)
	}
	s, err := m.MarshalBinary()
	if err != nil {
		return dst, fmt.Errorf("marshal a %s: %w", v.typ, err)
	}
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...), nil
}
