package layout

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"
)

// conversion decodes values of a stored type as values of a compiled one.
type conversion struct {
	from   *Type
	to     *value
	key    *conversion // of a map's keys
	elem   *conversion // of the elements of a list or array, a map's values, or an optional value
	fields []part      // of a struct
	least  int         // minimum size of each element, or key and value, in bytes
	text   bool        // the result has strings or bytes
}

// part is a stored field of a struct.
type part struct {
	from *Type
	conv *conversion // nil: the field no longer exists
	off  uintptr     // of the field in the struct
}

// newConversion compiles a lossless conversion; ok is false if there is none.
func newConversion(from *Type, to *value) (c *conversion, ok bool) {
	c = &conversion{from: from, to: to, text: to.kind.text() || to.kind == Opaque}
	switch {
	case from.Kind.fixed() && to.kind.fixed():
		return c, from.Kind == to.kind || widens(from.Kind, to.kind)
	case from.Kind.text() && to.kind.text():
		return c, true
	case from.Kind != to.kind, from.Kind == Array && from.Len != to.typ.Len():
		return nil, false
	case from.Kind == Struct:
		return c, c.addFields()
	case from.Kind == Map:
		if c.key, ok = newConversion(from.Key, to.key); !ok {
			return nil, false
		}
		c.text = c.text || c.key.text
		c.least = from.Key.minSize()
	}
	if from.Elem != nil {
		if c.elem, ok = newConversion(from.Elem, to.elem); !ok {
			return nil, false
		}
		c.text = c.text || c.elem.text
		c.least += from.Elem.minSize()
	}
	return c, true
}

// addFields compiles the fields of a nested struct that is not flattened, as in a list.
func (c *conversion) addFields() bool {
	taken := map[int]*conversion{}
	offsets := map[int]uintptr{}
	for _, m := range c.to.members {
		i := find(c.from.Fields, m.name, m.was)
		if i < 0 {
			continue
		}
		conv, ok := newConversion(c.from.Fields[i].Type, m.val)
		if !ok || taken[i] != nil {
			return false
		}
		taken[i], offsets[i] = conv, m.off
		c.text = c.text || conv.text
	}
	for i, f := range c.from.Fields {
		c.fields = append(c.fields, part{f.Type, taken[i], offsets[i]})
	}
	return true
}

// find returns the index of the field with the name, or else with the first of the former names
// that exists, or −1.
func find(fields []Named, name string, was []string) int {
	for i := range fields {
		if fields[i].Name == name {
			return i
		}
	}
	for _, old := range was {
		if i := find(fields, old, nil); i >= 0 {
			return i
		}
	}
	return -1
}

// widens reports whether every value of one fixed kind is also a value of the other.
func widens(from, to Kind) bool {
	wider := to.size() > from.size()
	switch {
	case from.signed():
		return wider && (to.signed() || to.float())
	case from.unsigned():
		return wider && (to.unsigned() || to.signed() || to.float())
	}
	return from.float() && to.float() && wider
}

// load reads a value stored with the same kind as in memory; ok is false if the bytes are not
// valid.
func load(mem memory, src []byte, p unsafe.Pointer) (ok bool) {
	switch mem {
	case memBool:
		*(*bool)(p) = src[0] == 1
		return src[0] <= 1
	case mem1:
		*(*byte)(p) = src[0]
	case mem2:
		*(*uint16)(p) = binary.LittleEndian.Uint16(src)
	case mem4:
		*(*uint32)(p) = binary.LittleEndian.Uint32(src)
	case mem8:
		*(*uint64)(p) = binary.LittleEndian.Uint64(src)
	case memInt:
		v := int64(binary.LittleEndian.Uint64(src))
		*(*int)(p) = int(v)
		return int64(int(v)) == v
	case memUint:
		v := binary.LittleEndian.Uint64(src)
		*(*uint)(p) = uint(v)
		return uint64(uint(v)) == v
	case mem16:
		*(*[16]byte)(p) = [16]byte(src)
	case memTime:
		return loadTime(src, p)
	}
	return true
}

// loadFixed reads a value of a fixed kind into one of the same or a wider kind.
func (c *conversion) loadFixed(src []byte, p unsafe.Pointer) error {
	if c.from.Kind == c.to.kind {
		if !load(c.to.mem, src, p) {
			return badValue(c.to)
		}
		return nil
	}
	switch to := c.to.kind; {
	case to == Float64:
		*(*float64)(p) = number(c.from.Kind, src)
		return nil
	case to == Float32:
		*(*float32)(p) = float32(number(c.from.Kind, src))
		return nil
	}
	x := integer(c.from.Kind, src)
	switch c.to.mem {
	case mem2:
		*(*uint16)(p) = uint16(x)
	case mem4:
		*(*uint32)(p) = uint32(x)
	case mem8:
		*(*uint64)(p) = x
	case memInt, memUint:
		var wide [8]byte
		binary.LittleEndian.PutUint64(wide[:], x)
		if !load(c.to.mem, wide[:], p) {
			return badValue(c.to)
		}
	}
	return nil
}

// badValue returns the error of fixed bytes that are not a value of the type.
func badValue(v *value) error {
	if v.mem == memInt || v.mem == memUint {
		return fmt.Errorf("a number is out of range for %s on this platform", v.typ)
	}
	return damaged("encoded struct: the bytes of a %s are not a valid %s", v.kind, v.typ)
}

// integer returns a stored integer, sign-extended to 64 bits.
func integer(k Kind, src []byte) uint64 {
	switch k {
	case Int8:
		return uint64(int8(src[0]))
	case Int16:
		return uint64(int16(binary.LittleEndian.Uint16(src)))
	case Int32:
		return uint64(int32(binary.LittleEndian.Uint32(src)))
	case Uint8:
		return uint64(src[0])
	case Uint16:
		return uint64(binary.LittleEndian.Uint16(src))
	case Uint32:
		return uint64(binary.LittleEndian.Uint32(src))
	}
	return binary.LittleEndian.Uint64(src)
}

// number returns a stored number as a float64, which must be able to hold it.
func number(k Kind, src []byte) float64 {
	switch {
	case k == Float64:
		return math.Float64frombits(binary.LittleEndian.Uint64(src))
	case k == Float32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(src)))
	case k.signed():
		return float64(int64(integer(k, src)))
	}
	return float64(integer(k, src))
}
