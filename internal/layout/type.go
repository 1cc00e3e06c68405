package layout

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Kind is the kind of a value. Its numbers are on disk.
type Kind uint8

// The kinds of values.
const (
	Bool     Kind = 1
	Int8     Kind = 2
	Int16    Kind = 3
	Int32    Kind = 4
	Int64    Kind = 5
	Uint8    Kind = 6
	Uint16   Kind = 7
	Uint32   Kind = 8
	Uint64   Kind = 9
	Float32  Kind = 10
	Float64  Kind = 11
	Time     Kind = 12
	UUID     Kind = 13
	String   Kind = 14
	Bytes    Kind = 15
	Opaque   Kind = 16 // what a MarshalBinary method returns
	List     Kind = 17
	Array    Kind = 18
	Map      Kind = 19
	Optional Kind = 20 // a pointer
	Struct   Kind = 21
)

// String returns the name of the kind, which is Go's name if Go has one.
func (k Kind) String() string {
	switch k {
	case Bool:
		return "bool"
	case Int8, Int16, Int32, Int64:
		return fmt.Sprintf("int%d", 8*k.size())
	case Uint8, Uint16, Uint32, Uint64:
		return fmt.Sprintf("uint%d", 8*k.size())
	case Float32, Float64:
		return fmt.Sprintf("float%d", 8*k.size())
	case Time:
		return "time"
	case UUID:
		return "uuid"
	case String:
		return "string"
	case Bytes:
		return "bytes"
	case Opaque:
		return "opaque"
	case List:
		return "list"
	case Array:
		return "array"
	case Map:
		return "map"
	case Optional:
		return "optional"
	case Struct:
		return "struct"
	}
	return fmt.Sprintf("unknown kind %d", uint8(k))
}

// size returns the size of a value of a fixed kind in bytes, or 0 for other kinds.
func (k Kind) size() int {
	switch k {
	case Bool, Int8, Uint8:
		return 1
	case Int16, Uint16:
		return 2
	case Int32, Uint32, Float32:
		return 4
	case Int64, Uint64, Float64:
		return 8
	case Time:
		return 12
	case UUID:
		return 16
	}
	return 0
}

func (k Kind) fixed() bool    { return k >= Bool && k <= UUID }
func (k Kind) signed() bool   { return k >= Int8 && k <= Int64 }
func (k Kind) unsigned() bool { return k >= Uint8 && k <= Uint64 }
func (k Kind) float() bool    { return k == Float32 || k == Float64 }
func (k Kind) text() bool     { return k == String || k == Bytes }

// key reports whether map keys may have the kind.
func (k Kind) key() bool { return k.fixed() || k == String }

// Limits of schemas.
const (
	depthMax  = 32            // of nested types
	lengthMax = math.MaxInt32 // of arrays, and of the size of a value of constant size
)

// Type is the type of a field or of a part of it. The kind determines which of the other fields are
// used.
type Type struct {
	Kind   Kind
	Key    *Type   // of a map
	Elem   *Type   // of a list, an array, a map's values, or an optional value
	Len    int     // of an array
	Fields []Named // of a struct
}

// Named is a field of a schema, or of a struct that is not flattened, as in a list.
type Named struct {
	Name string
	Type *Type
}

// Equal reports whether two types are equal.
func (t *Type) Equal(u *Type) bool {
	if t == nil || u == nil {
		return t == u
	}
	return t.Kind == u.Kind && t.Len == u.Len && t.Key.Equal(u.Key) && t.Elem.Equal(u.Elem) &&
		equalFields(t.Fields, u.Fields)
}

func equalFields(a, b []Named) bool {
	return slices.EqualFunc(a, b, func(f, g Named) bool {
		return f.Name == g.Name && f.Type.Equal(g.Type)
	})
}

// String returns the type as text, such as map[string]int64.
func (t *Type) String() string {
	switch t.Kind {
	case List:
		return "list of " + t.Elem.String()
	case Array:
		return fmt.Sprintf("array of %d %s", t.Len, t.Elem)
	case Map:
		return fmt.Sprintf("map[%s]%s", t.Key, t.Elem)
	case Optional:
		return "optional " + t.Elem.String()
	case Struct:
		return "struct{" + joinFields(t.Fields) + "}"
	}
	return t.Kind.String()
}

func joinFields(fields []Named) string {
	var list []string
	for _, f := range fields {
		list = append(list, f.Name+" "+f.Type.String())
	}
	return strings.Join(list, ", ")
}

// constantSize returns the size of every value of the type within another one, in bytes; ok is
// false if the size depends on the value, which then takes at least 1 byte. A size above lengthMax
// is returned as a number above lengthMax.
func (t *Type) constantSize() (size int, ok bool) {
	switch {
	case t.Kind.fixed():
		return t.Kind.size(), true
	case t.Kind == Array:
		size, ok = t.Elem.constantSize()
		return clamp(int64(size) * int64(t.Len)), ok || t.Len == 0
	case t.Kind == Struct:
		for _, f := range t.Fields {
			n, ok := f.Type.constantSize()
			if !ok {
				return 0, false
			}
			size = clamp(int64(size) + int64(n))
		}
		return size, true
	}
	return 0, false
}

// minSize returns the minimum size of a value of the type within another one, in bytes.
func (t *Type) minSize() (size int) {
	switch {
	case t.Kind.fixed():
		return t.Kind.size()
	case t.Kind == Array:
		return clamp(int64(t.Elem.minSize()) * int64(t.Len))
	case t.Kind == Struct:
		for _, f := range t.Fields {
			size = clamp(int64(size) + int64(f.Type.minSize()))
		}
		return size
	}
	return 1
}

// clamp limits sizes so that their products do not overflow.
func clamp(size int64) int { return int(min(size, lengthMax)) }
