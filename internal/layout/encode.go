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

// Append appends the encoding of *v. If T is not the layout's type, if a MarshalBinary method
// fails, or if the encoding has 4 GiB or more, it returns dst unchanged and an error.
func Append[T any](l *Layout, dst []byte, v *T) ([]byte, error) {
	if reflect.TypeFor[T]() != l.typ {
		return dst, l.wrongType(reflect.TypeFor[T]())
	}
	return l.append(dst, unsafe.Pointer(v))
}

func (l *Layout) wrongType(t reflect.Type) error {
	return fmt.Errorf("the layout has type %s, but the value has type %s", l.typ, t)
}

// append appends the encoding of the value at p, which has the layout's type.
func (l *Layout) append(dst []byte, p unsafe.Pointer) ([]byte, error) {
	if l.plain {
		return l.appendPlain(dst, p)
	}
	start := len(dst)
	dst = l.appendFixed(dst, p, 1+4*len(l.vars))
	dst = append(dst, 4)
	ends := len(dst)
	values := ends + 4*len(l.vars)
	dst = dst[:values]
	for i := range l.vars {
		var err error
		if dst, err = l.vars[i].val.appendField(dst, unsafe.Add(p, l.vars[i].off)); err != nil {
			return dst[:start], err
		}
		putEnd(dst[ends+i*4:], 4, len(dst)-values)
	}
	if uint64(len(dst)-values) > math.MaxUint32 {
		return dst[:start], tooLong(uint64(len(dst) - start))
	}
	return narrow(dst, ends, len(l.vars)), nil
}

// appendPlain is append for a layout whose variable fields are all strings or bytes: it knows the
// size of the encoding in advance.
func (l *Layout) appendPlain(dst []byte, p unsafe.Pointer) ([]byte, error) {
	if len(l.vars) == 0 {
		return l.appendFixed(dst, p, 0), nil
	}
	var size uint64
	for i := range l.vars {
		size += uint64(len(textAt(unsafe.Add(p, l.vars[i].off))))
	}
	if size > math.MaxUint32 {
		return dst, tooLong(uint64(len(l.head)+l.fixed+1+4*len(l.vars)) + size)
	}
	width := endWidth(int(size))
	dst = l.appendFixed(dst, p, 1+width*len(l.vars)+int(size))
	dst = append(dst, byte(width))
	ends := len(dst)
	values := ends + width*len(l.vars)
	dst = dst[:values]
	for i := range l.vars {
		dst = append(dst, textAt(unsafe.Add(p, l.vars[i].off))...)
		putEnd(dst[ends+i*width:], width, len(dst)-values)
	}
	return dst, nil
}

// appendFixed appends the start of an encoding: the schema number and the fixed fields of the value
// at p. It makes room for more bytes after them.
func (l *Layout) appendFixed(dst []byte, p unsafe.Pointer, room int) []byte {
	dst = slices.Grow(dst, len(l.head)+l.fixed+room)
	dst = append(dst, l.head...)
	body := len(dst)
	dst = dst[:body+l.fixed]
	for i := range l.ops {
		op := &l.ops[i]
		to, from := dst[body+op.at:], unsafe.Add(p, op.off)
		switch op.mem { // avoids a call for the most common kinds
		case mem4:
			binary.LittleEndian.PutUint32(to, *(*uint32)(from))
		case mem8:
			binary.LittleEndian.PutUint64(to, *(*uint64)(from))
		default:
			store(op.mem, to, from)
		}
	}
	return dst
}

// tooLong returns the error of an encoding of the given size.
func tooLong(size uint64) error {
	return fmt.Errorf("the encoded struct has %d bytes: the limit is 4 GiB", size)
}

// narrow makes the n ends at an offset, which have 4 bytes each, as narrow as the last one allows.
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

// endWidth returns the width of ends for values of the given total size, in bytes.
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

// textAt returns the string or bytes at p as a string: a slice begins like a string in memory.
func textAt(p unsafe.Pointer) string { return *(*string)(p) }

// store writes the value of a fixed kind at p to the start of dst.
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
