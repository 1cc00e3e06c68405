package layout

import (
	"fmt"
	"reflect"
)

// FromSchema compiles fields without a Go type, into a struct type that it creates. A field other
// than a scalar, or a list of or pointer to scalars, is loose: decoding leaves it out, and only
// [Field.Value] reads it. Was returns the former names of a field. The layout cannot encode.
func FromSchema(fields []Named, was func(name string) []string) (*Layout, error) {
	var list []reflect.StructField
	for i, f := range fields {
		t, ok := goType(f.Type)
		if !ok {
			t = reflect.TypeFor[struct{}]()
		}
		list = append(list, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: t})
	}
	l := &Layout{typ: reflect.StructOf(list), head: []byte{0}}
	for i, f := range fields {
		field := l.typ.Field(i)
		if field.Type == reflect.TypeFor[struct{}]() {
			v := &value{typ: reflect.TypeFor[any](), kind: f.Type.Kind, loose: f.Type}
			info := Info{f.Name, nil, v.typ, field.Index, was(f.Name), f.Type}
			l.fields = append(l.fields, leaf{info, field.Offset, v})
			continue
		}
		v, err := new(compiler).value(field.Type, f.Name, 1)
		if err != nil {
			return nil, err
		}
		info := Info{f.Name, nil, v.typ, field.Index, was(f.Name), v.schema()}
		l.fields = append(l.fields, leaf{info, field.Offset, v})
	}
	l.arrange()
	return l, nil
}

// goType returns a Go type whose stored type is t.
func goType(t *Type) (reflect.Type, bool) {
	switch t.Kind {
	case Int8:
		return reflect.TypeFor[int8](), true
	case Int16:
		return reflect.TypeFor[int16](), true
	case Int32:
		return reflect.TypeFor[int32](), true
	case Uint8:
		return reflect.TypeFor[uint8](), true
	case Uint16:
		return reflect.TypeFor[uint16](), true
	case Uint32:
		return reflect.TypeFor[uint32](), true
	case Float32:
		return reflect.TypeFor[float32](), true
	case Bool, Int64, Uint64, Float64, Time, UUID, String, Bytes:
		return plainType(t.Kind), true
	case List, Optional:
		if t.Elem.Kind > Bytes {
			return nil, false
		}
		elem, ok := goType(t.Elem)
		if ok && t.Kind == List {
			return reflect.SliceOf(elem), true
		}
		return reflect.PointerTo(elem), ok
	}
	return nil, false
}

// AppendValue is [Append] of a struct of the layout's type, which must be addressable.
func AppendValue(l *Layout, dst []byte, v reflect.Value) ([]byte, error) {
	if v.Type() != l.typ {
		return dst, l.wrongType(v.Type())
	}
	return l.append(dst, v.Addr().UnsafePointer())
}

// DecodeValue is [Decode] into a struct of the layout's type, which must be addressable.
func DecodeValue(d *Decoder, data []byte, into reflect.Value) error {
	if into.Type() != d.layout.typ {
		return d.layout.wrongType(into.Type())
	}
	return d.decode(data, into.Addr().UnsafePointer())
}
