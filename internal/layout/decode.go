package layout

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"time"
	"unsafe"
)

// getTime reads a time; ok is false if the bytes are not valid.
func getTime(src []byte) (t time.Time, ok bool) {
	nsec := binary.LittleEndian.Uint32(src[8:12])
	if nsec >= uint32(time.Second) {
		return t, false
	}
	return time.Unix(int64(binary.LittleEndian.Uint64(src)), int64(nsec)).UTC(), true
}

func loadTime(src []byte, p unsafe.Pointer) bool {
	t, ok := getTime(src)
	*(*time.Time)(p) = t
	return ok
}

// decodeField decodes a variable field, other than a string or bytes, into the value at p, whose
// old contents do not matter. Strings and bytes in it refer to src afterwards.
func (c *conversion) decodeField(src []byte, p unsafe.Pointer) error {
	if len(src) == 0 || c.to.kind == Array {
		reflect.NewAt(c.to.typ, p).Elem().SetZero()
	}
	if len(src) == 0 {
		return nil
	}
	rest, err := c.decode(src, p)
	if err == nil && len(rest) > 0 {
		err = damaged("encoded struct: %d bytes left after a %s", len(rest), c.from)
	}
	return err
}

// setText makes the string or slice at p refer to src.
func (v *value) setText(src []byte, p unsafe.Pointer) {
	switch {
	case v.kind == String && len(src) == 0:
		*(*string)(p) = ""
	case v.kind == String:
		*(*string)(p) = unsafe.String(&src[0], len(src))
	case len(src) == 0:
		*(*[]byte)(p) = nil
	default:
		*(*[]byte)(p) = src[:len(src):len(src)]
	}
}

// decode decodes the value at the start of src into p, whose memory must be zero, and returns the
// rest of src.
func (c *conversion) decode(src []byte, p unsafe.Pointer) (rest []byte, err error) {
	if c.from.Kind.fixed() {
		size := c.from.Kind.size()
		if len(src) < size {
			return nil, short(c.from)
		}
		return src[size:], c.loadFixed(src, p)
	}
	switch c.from.Kind {
	case String, Bytes:
		text, rest, err := cut(src, c.from)
		if err == nil {
			c.to.setText(text, p)
		}
		return rest, err
	case List:
		return c.decodeList(src, p)
	case Array:
		return c.decodeElements(src, p, c.from.Len)
	case Map:
		return c.decodeMap(src, p)
	case Optional:
		return c.decodeOptional(src, p)
	case Opaque:
		return c.decodeOpaque(src, p)
	}
	for i := range c.fields {
		f := &c.fields[i]
		if f.conv == nil {
			src, err = skip(f.from, src)
		} else {
			src, err = f.conv.decode(src, unsafe.Add(p, f.off))
		}
		if err != nil {
			return nil, err
		}
	}
	return src, nil
}

func (c *conversion) decodeList(src []byte, p unsafe.Pointer) ([]byte, error) {
	n, src, err := count(src, c.from, c.least)
	if err != nil || n == 0 {
		*(*slice)(p) = slice{}
		return src, err
	}
	list := reflect.MakeSlice(c.to.typ, n, n)
	data := list.UnsafePointer()
	*(*slice)(p) = slice{data, n, n}
	return c.decodeElements(src, data, n)
}

func (c *conversion) decodeElements(src []byte, p unsafe.Pointer, n int) ([]byte, error) {
	step := c.to.elem.typ.Size()
	if step == 0 {
		return skip(&Type{Kind: Array, Elem: c.from.Elem, Len: n}, src)
	}
	for i := range n {
		var err error
		if src, err = c.elem.decode(src, unsafe.Add(p, uintptr(i)*step)); err != nil {
			return nil, err
		}
	}
	return src, nil
}

func (c *conversion) decodeMap(src []byte, p unsafe.Pointer) ([]byte, error) {
	n, src, err := count(src, c.from, c.least)
	if err != nil {
		return nil, err
	}
	*(*unsafe.Pointer)(p) = nil
	if n == 0 {
		return src, nil
	}
	m := reflect.MakeMapWithSize(c.to.typ, n)
	key, elem := reflect.New(c.to.key.typ), reflect.New(c.to.elem.typ)
	for range n {
		if src, err = c.key.decode(src, key.UnsafePointer()); err != nil {
			return nil, err
		}
		elem.Elem().SetZero()
		if src, err = c.elem.decode(src, elem.UnsafePointer()); err != nil {
			return nil, err
		}
		m.SetMapIndex(key.Elem(), elem.Elem())
	}
	*(*unsafe.Pointer)(p) = m.UnsafePointer()
	return src, nil
}

func (c *conversion) decodeOptional(src []byte, p unsafe.Pointer) ([]byte, error) {
	switch {
	case len(src) == 0:
		return nil, short(c.from)
	case src[0] == 0:
		*(*unsafe.Pointer)(p) = nil
		return src[1:], nil
	case src[0] > 1:
		return nil, damaged("encoded struct: the bytes of an %s are not valid", c.from)
	}
	v := reflect.New(c.to.elem.typ).UnsafePointer()
	*(*unsafe.Pointer)(p) = v
	return c.elem.decode(src[1:], v)
}

// decodeOpaque calls the value's UnmarshalBinary method, on a copy, so that the method does not
// make every struct escape to the heap.
func (c *conversion) decodeOpaque(src []byte, p unsafe.Pointer) ([]byte, error) {
	text, rest, err := cut(src, c.from)
	if err != nil {
		return nil, err
	}
	own := reflect.New(c.to.typ)
	u, ok := own.Interface().(encoding.BinaryUnmarshaler)
	if !ok {
		return nil, fmt.Errorf("a %s has no UnmarshalBinary method", c.to.typ)
	}
	if err := u.UnmarshalBinary(text); err != nil {
		return nil, fmt.Errorf("unmarshal a %s: %w", c.to.typ, err)
	}
	c.to.move(p, own.UnsafePointer())
	return rest, nil
}

// move copies a value, as a slice of one element, because the compiler knows that copying slices
// does not retain a pointer to them.
func (v *value) move(to, from unsafe.Pointer) {
	dst, src := slice{to, 1, 1}, slice{from, 1, 1}
	reflect.Copy(reflect.NewAt(v.list, unsafe.Pointer(&dst)).Elem(),
		reflect.NewAt(v.list, unsafe.Pointer(&src)).Elem())
}

// skip returns what follows the value at the start of src.
func skip(t *Type, src []byte) (rest []byte, err error) {
	if size, ok := t.constantSize(); ok {
		if len(src) < size {
			return nil, short(t)
		}
		return src[size:], nil
	}
	n := t.Len
	switch t.Kind {
	case List, Map:
		if n, src, err = count(src, t, 1); err != nil {
			return nil, err
		}
	case Optional:
		if len(src) == 0 || src[0] > 1 {
			return nil, short(t)
		}
		n, src = int(src[0]), src[1:]
	case Struct:
		for _, f := range t.Fields {
			if src, err = skip(f.Type, src); err != nil {
				return nil, err
			}
		}
		return src, nil
	case String, Bytes, Opaque:
		_, rest, err = cut(src, t)
		return rest, err
	}
	for range n {
		if t.Key != nil {
			if src, err = skip(t.Key, src); err != nil {
				return nil, err
			}
		}
		if src, err = skip(t.Elem, src); err != nil {
			return nil, err
		}
	}
	return src, nil
}

// cut returns the bytes after a length prefix, and what follows them.
func cut(src []byte, t *Type) (text, rest []byte, err error) {
	n, size := binary.Uvarint(src)
	if size <= 0 || n > uint64(len(src)-size) {
		return nil, nil, short(t)
	}
	end := size + int(n)
	return src[size:end:end], src[end:], nil
}

// count returns the length of a list or map whose elements take at least the given number of bytes.
func count(src []byte, t *Type, least int) (n int, rest []byte, err error) {
	v, size := binary.Uvarint(src)
	if size <= 0 || v > min(uint64(len(src)-size)/uint64(least), math.MaxInt32) {
		return 0, nil, short(t)
	}
	return int(v), src[size:], nil
}

// short returns the error of a value that is cut short.
func short(t *Type) error {
	return damaged("encoded struct: a %s is cut short", t)
}
