package layout

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// memory is how a value of a fixed kind is represented in memory, which decides how to copy it.
type memory uint8

const (
	memOther memory = iota // not of a fixed kind
	memBool                // 1 byte that must be 0 or 1
	mem1                   // a number of 1 byte
	mem2                   //
	mem4                   //
	mem8                   //
	memInt                 // an int of 32 bits, which takes 8 bytes when encoded
	memUint                // a uint of 32 bits
	mem16                  // 16 bytes as they are
	memTime                // a time.Time
)

// value is a compiled Go type other than the outermost struct.
type value struct {
	typ     reflect.Type
	list    reflect.Type // a slice type of an opaque type, for move
	kind    Kind
	mem     memory
	key     *value   // of a map
	elem    *value   // of a list, an array, a map's values, or a pointer
	members []member // of a struct
	loose   *Type    // the stored type, if there is no Go type to decode into; or nil
}

// member is a stored field of a struct.
type member struct {
	tag
	place
	val *value
}

// place is the position of a field in a struct.
type place struct {
	off   uintptr // in bytes
	index []int   // as for reflect.Value.FieldByIndex
}

// inner returns the place in the outer struct of a field at a place in the struct at p.
func (p place) inner(at place) place {
	return place{p.off + at.off, slices.Concat(p.index, at.index)}
}

// schema returns the stored type.
func (v *value) schema() *Type {
	if v == nil {
		return nil
	}
	if v.loose != nil {
		return v.loose
	}
	t := &Type{Kind: v.kind, Key: v.key.schema(), Elem: v.elem.schema()}
	if v.kind == Array {
		t.Len = v.typ.Len()
	}
	for _, m := range v.members {
		t.Fields = append(t.Fields, Named{m.name, m.val.schema()})
	}
	return t
}

// compiler compiles Go types.
type compiler struct {
	open    []reflect.Type // the structs that contain the current value
	lenient bool           // fields that cannot be stored get the kind 0
}

// fieldError returns the error of a field whose type cannot be stored.
func fieldError(path string, t reflect.Type, advice string) error {
	return fmt.Errorf("field %s: type %s cannot be stored: %s", path, t, advice)
}

// value compiles a type; path names the field in errors.
func (c *compiler) value(t reflect.Type, path string, depth int) (*value, error) {
	if depth > depthMax {
		return nil, fieldError(path, t, "types are at most 32 deep")
	}
	v := &value{typ: t}
	v.kind, v.mem = plainKind(t)
	if v.kind == Opaque {
		v.list = reflect.SliceOf(t)
	}
	if v.kind != 0 {
		return v, nil
	}
	var err error
	switch t.Kind() {
	case reflect.Slice:
		v.kind = List
	case reflect.Array:
		v.kind = Array
	case reflect.Pointer:
		v.kind = Optional
	case reflect.Map:
		v.kind = Map
		v.key, err = c.value(t.Key(), path+"[key]", depth+1)
		if err == nil && !v.key.kind.key() {
			err = fieldError(path, t, "keys of maps are bools, numbers, strings, times or UUIDs")
		}
	case reflect.Struct:
		v.kind = Struct
		v.members, err = c.members(t, path+".", depth)
	default:
		return nil, fieldError(path, t, `give it another type or the tag stoat:"-"`)
	}
	if err == nil && v.kind != Struct {
		v.elem, err = c.value(t.Elem(), path+"[]", depth+1)
	}
	if err != nil {
		return nil, err
	}
	if reason := v.schema().check(); reason != "" {
		return nil, fieldError(path, t, reason)
	}
	return v, nil
}

// plainKind returns the kind of a scalar or opaque type and its representation in memory, or 0 if
// the type has parts or cannot be stored.
func plainKind(t reflect.Type) (Kind, memory) {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return Time, memTime
	case t.Kind() == reflect.Array && t.Len() == 16 && t.Elem().Kind() == reflect.Uint8:
		return UUID, mem16
	case opaque(t):
		return Opaque, memOther
	}
	switch t.Kind() {
	case reflect.Bool:
		return Bool, memBool
	case reflect.Int8:
		return Int8, mem1
	case reflect.Int16:
		return Int16, mem2
	case reflect.Int32:
		return Int32, mem4
	case reflect.Int64:
		return Int64, mem8
	case reflect.Int:
		return Int64, word(memInt)
	case reflect.Uint8:
		return Uint8, mem1
	case reflect.Uint16:
		return Uint16, mem2
	case reflect.Uint32:
		return Uint32, mem4
	case reflect.Uint64:
		return Uint64, mem8
	case reflect.Uint:
		return Uint64, word(memUint)
	case reflect.Float32:
		return Float32, mem4
	case reflect.Float64:
		return Float64, mem8
	case reflect.String:
		return String, memOther
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 && !opaque(t.Elem()) {
			return Bytes, memOther
		}
	}
	return 0, memOther
}

// word returns how an int or uint is represented: as 64 bits, or as narrow.
func word(narrow memory) memory {
	if strconv.IntSize == 64 {
		return mem8
	}
	return narrow
}

// opaque reports whether values of the type have their own binary form.
func opaque(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface {
		return false
	}
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[encoding.BinaryMarshaler]()) &&
		p.Implements(reflect.TypeFor[encoding.BinaryUnmarshaler]())
}
