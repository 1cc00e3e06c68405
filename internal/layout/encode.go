package layout

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"
	"unsafe"
)

// Append appends the record of *v. It returns dst as it was and an error if T is not the layout's
// type, if a MarshalBinary method fails, or if the record has 4 GiB or more.
func Append[T any](l *Layout, dst []byte, v *T) ([]byte, error) {
	if reflect.TypeFor[T]() != l.typ {
		return dst, l.wrongType(reflect.TypeFor[T]())
	}
	return l.append(dst, unsafe.Pointer(v))
}

func (l *Layout) wrongType(t reflect.Type) error {
	return fmt.Errorf("the layout is of type %s, the value of type %s", l.typ, t)
}

// append appends the record of the value of the layout's type at p.
func (l *Layout) append(dst []byte, p unsafe.Pointer) ([]byte, error) {
	start := len(dst)
	size, width := 0, 4
	if l.plain {
		for i := range l.vars {
			size += textLen(l.vars[i].val.kind, unsafe.Add(p, l.vars[i].off))
		}
		width = endWidth(size)
	}
	body := start + len(l.head)
	dst = slices.Grow(dst, len(l.head)+l.fixed+1+width*len(l.vars)+size)
	dst = append(dst, l.head...)[:body+l.fixed]
	for i := range l.ops {
		op := &l.ops[i]
		store(op.mem, dst[body+op.at:], unsafe.Add(p, op.off))
	}
	if len(l.vars) == 0 {
		return dst, nil
	}
	dst = append(dst, byte(width))
	ends := len(dst)
	values := ends + width*len(l.vars)
	dst = dst[:values]
	for i := range l.vars {
		var err error
		if dst, err = l.vars[i].val.appendField(dst, unsafe.Add(p, l.vars[i].off)); err != nil {
			return dst[:start], err
		}
		putEnd(dst[ends+i*width:], width, len(dst)-values)
	}
	if uint64(len(dst)-values) > math.MaxUint32 {
		return dst[:start], fmt.Errorf("a record of %d bytes: the limit is 4 GiB", len(dst)-start)
	}
	if !l.plain {
		dst = narrow(dst, ends, len(l.vars))
	}
	return dst, nil
}

// narrow makes the ends at the offset, which have 4 bytes, as narrow as the last one allows.
func narrow(dst []byte, at, n int) []byte {
	values := at + 4*n
	width := endWidth(len(dst) - values)
	if width == 4 {
		return dst
	}
	for i := range n {
		putEnd(dst[at+i*width:], width, int(binary.LittleEndian.Uint32(dst[at+i*4:])))
	}
	dst[at-1] = byte(width)
	return slices.Delete(dst, at+n*width, values)
}

// endWidth returns how many bytes the ends of values have that take size bytes in all.
func endWidth(size int) int {
	switch {
	case size <= math.MaxUint8:
		return 1
	case size <= math.MaxUint16:
		return 2
	}
	return 4
}

func putEnd(dst []byte, width, end int) {
	switch width {
	case 1:
		dst[0] = byte(end)
	case 2:
		binary.LittleEndian.PutUint16(dst, uint16(end))
	default:
		binary.LittleEndian.PutUint32(dst, uint32(end))
	}
}

// textLen returns the length of the string or the bytes at p.
func textLen(k Kind, p unsafe.Pointer) int {
	if k == String {
		return len(*(*string)(p))
	}
	return len(*(*[]byte)(p))
}

// store writes the value of a fixed kind at p to the beginning of dst.
func store(mem memory, dst []byte, p unsafe.Pointer) {
	switch mem {
	case memBool, mem1:
		dst[0] = *(*byte)(p)
	case mem2:
		binary.LittleEndian.PutUint16(dst, *(*uint16)(p))
	case mem4:
		binary.LittleEndian.PutUint32(dst, *(*uint32)(p))
	case mem8:
		binary.LittleEndian.PutUint64(dst, *(*uint64)(p))
	case memInt:
		binary.LittleEndian.PutUint64(dst, uint64(*(*int)(p)))
	case memUint:
		binary.LittleEndian.PutUint64(dst, uint64(*(*uint)(p)))
	case mem16:
		copy(dst, (*(*[16]byte)(p))[:])
	case memTime:
		putTime(dst, *(*time.Time)(p))
	}
}

func putTime(dst []byte, t time.Time) {
	binary.LittleEndian.PutUint64(dst, uint64(t.Unix()))
	binary.LittleEndian.PutUint32(dst[8:12], uint32(t.Nanosecond()))
}
