package layout

// Generic is a value of a field without its Go type: a bool, int64, uint64, float64, string,
// []byte, [time.Time] or [16]byte; a []any of such values for a list or an array, a map[any]any for
// a map, a map[string]any for a struct within one of these; a []byte for an opaque value, and nil
// for a nil pointer.
type Generic any

// Value returns the value of a field. What has parts comes as it is stored: a struct has the fields
// that it was stored with. Nothing of it refers to the data.
func (f *Field) Value(data []byte) (Generic, error) {
	switch f.class {
	case Bool:
		return boxed(f.Bool(data))
	case Int64:
		return boxed(f.Int(data))
	case Uint64:
		return boxed(f.Uint(data))
	case Float64:
		return boxed(f.Float(data))
	case Time:
		return boxed(f.Time(data))
	case UUID:
		return boxed(f.UUID(data))
	case String:
		return boxed(f.String(data))
	}
	if !f.fits(data) {
		return nil, mismatch(data, f.head)
	}
	src, err := f.raw(data)
	switch {
	case err != nil:
		return nil, err
	case f.class == Bytes:
		return append([]byte{}, src...), nil
	case f.typ == nil || len(src) == 0:
		return emptyOf(f.class), nil
	}
	v, rest, err := f.typ.decode(src, f.val)
	if err == nil && len(rest) > 0 {
		err = damaged("encoded struct: %d bytes left after a %s", len(rest), f.typ)
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// boxed returns v as an any, or nil with an error.
func boxed[V any](v V, err error) (Generic, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

// emptyOf returns the value of a field of a kind with parts that takes no bytes.
func emptyOf(k Kind) any {
	switch k {
	case List, Array:
		return []any{}
	case Map:
		return map[any]any{}
	case Opaque:
		return []byte{}
	}
	return nil
}

// decode decodes the value of type t at the start of src and returns the rest. Scalars become those
// of the compiled value to; nil means as they are stored.
func (t *Type) decode(src []byte, to *value) (v any, rest []byte, err error) {
	if t.Kind.fixed() {
		return t.decodeFixed(src, to)
	}
	switch t.Kind {
	case String, Bytes, Opaque:
		text, rest, err := cut(src, t)
		if err != nil {
			return nil, nil, err
		}
		if to != nil && to.kind == String || to == nil && t.Kind == String {
			return string(text), rest, nil
		}
		return append([]byte{}, text...), rest, nil
	case List:
		n, rest, err := count(src, t, t.Elem.minSize())
		if err != nil {
			return nil, nil, err
		}
		return t.decodeElements(rest, n, to.element())
	case Array:
		return t.decodeElements(src, t.Len, to.element())
	case Map:
		return t.decodeMap(src)
	case Optional:
		if len(src) == 0 || src[0] > 1 {
			return nil, nil, short(t)
		}
		if src[0] == 0 {
			return nil, src[1:], nil
		}
		return t.Elem.decode(src[1:], to.element())
	}
	fields := make(map[string]any, len(t.Fields))
	for _, f := range t.Fields {
		if fields[f.Name], src, err = f.Type.decode(src, nil); err != nil {
			return nil, nil, err
		}
	}
	return fields, src, nil
}

// element returns the compiled value of the elements, or nil.
func (v *value) element() *value {
	if v == nil || v.loose != nil {
		return nil
	}
	return v.elem
}

// decodeFixed decodes a scalar of a fixed size.
func (t *Type) decodeFixed(src []byte, to *value) (v any, rest []byte, err error) {
	size := t.Kind.size()
	if len(src) < size {
		return nil, nil, short(t)
	}
	kind := t.Kind
	if to != nil {
		kind = to.kind
	}
	switch {
	case t.Kind == Bool && src[0] > 1:
		return nil, nil, badValue(plainValue(Bool))
	case t.Kind == Bool:
		v = src[0] == 1
	case t.Kind == Time:
		at, ok := getTime(src)
		if !ok {
			return nil, nil, badValue(plainValue(Time))
		}
		v = at
	case t.Kind == UUID:
		v = [16]byte(src)
	case kind.float():
		v = number(t.Kind, src)
	case kind.signed():
		v = int64(integer(t.Kind, src))
	default:
		v = integer(t.Kind, src)
	}
	return v, src[size:], nil
}

// decodeElements decodes n elements of a list or array. Those without a size are left out, because
// there may be any number of them.
func (t *Type) decodeElements(src []byte, n int, to *value) (v any, rest []byte, err error) {
	least := t.Elem.minSize()
	if least == 0 {
		return []any{}, src, nil
	}
	if n > len(src)/least {
		return nil, nil, short(t)
	}
	list := make([]any, n)
	for i := range list {
		if list[i], src, err = t.Elem.decode(src, to); err != nil {
			return nil, nil, err
		}
	}
	return list, src, nil
}

// decodeMap decodes a map.
func (t *Type) decodeMap(src []byte) (v any, rest []byte, err error) {
	n, src, err := count(src, t, t.Key.minSize()+t.Elem.minSize())
	if err != nil {
		return nil, nil, err
	}
	m := make(map[any]any, n)
	for range n {
		var key any
		if key, src, err = t.Key.decode(src, nil); err != nil {
			return nil, nil, err
		}
		if m[key], src, err = t.Elem.decode(src, nil); err != nil {
			return nil, nil, err
		}
	}
	return m, src, nil
}
