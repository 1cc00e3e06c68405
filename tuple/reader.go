package tuple

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// kind is the type of an element, whatever its value and direction.
type kind string

const (
	kindNone   kind = "nothing" // at the end of the tuple
	kindNil    kind = "nil"
	kindBool   kind = "a bool"
	kindInt    kind = "an integer"
	kindFloat  kind = "a float"
	kindString kind = "a string"
	kindBytes  kind = "bytes"
	kindTime   kind = "a time"
	kindUUID   kind = "a UUID"
	kindAny    kind = "an element"
	kindBad    kind = "bytes that are not a tuple"
)

// Reader decodes a tuple element by element. It reads ascending and descending elements alike. A
// method that returns an error does not advance. A Reader is not safe for concurrent use.
type Reader struct {
	rest    []byte // from the next element on
	element int    // the index of the next element
}

// NewReader returns a reader of an encoded tuple, which must not change while it is being read.
// Nothing that the reader returns refers to it.
func NewReader(p []byte) *Reader { return &Reader{rest: p} }

// More reports whether there are elements left.
func (r *Reader) More() bool { return len(r.rest) > 0 }

// Len returns the length of the remaining elements in bytes.
func (r *Reader) Len() int { return len(r.rest) }

// End returns an error if there are elements left.
func (r *Reader) End() error {
	if r.More() {
		return r.unexpected(kindNone)
	}
	return nil
}

// Skip skips an element of any type, without decoding its value.
func (r *Reader) Skip() error {
	if !r.More() {
		return r.unexpected(kindAny)
	}
	_, err := r.take(r.kind())
	return err
}

// Nil reports whether the next element is nil, and skips it if it is.
func (r *Reader) Nil() bool {
	if r.kind() != kindNil {
		return false
	}
	_, err := r.take(kindNil)
	return err == nil
}

// Bool reads a bool.
func (r *Reader) Bool() (bool, error) {
	e, err := r.take(kindBool)
	return e.tag == tagTrue, err
}

// Int reads an integer.
func (r *Reader) Int() (int64, error) {
	before := *r
	v, negative, err := r.integer()
	if err != nil {
		return 0, err
	}
	if !negative && v > math.MaxInt64 {
		*r = before
		return 0, fmt.Errorf("tuple element %d: %d is out of the range of int64: read it with Uint",
			r.element, v)
	}
	return int64(v), nil
}

// Uint reads a non-negative integer.
func (r *Reader) Uint() (uint64, error) {
	before := *r
	v, negative, err := r.integer()
	if err != nil {
		return 0, err
	}
	if negative {
		*r = before
		return 0, fmt.Errorf("tuple element %d: %d is negative: read it with Int",
			r.element, int64(v))
	}
	return v, nil
}

// Float reads a float.
func (r *Reader) Float() (float64, error) {
	before := *r
	e, err := r.take(kindFloat)
	if err != nil {
		return 0, err
	}
	x := e.uint(8)
	if x&signBit != 0 {
		x &^= signBit
	} else {
		x = ^x
	}
	v := math.Float64frombits(x)
	if v != v && x != nanBits {
		*r = before
		return 0, r.malformed("a NaN other than the canonical one")
	}
	return v, nil
}

// String reads a string.
func (r *Reader) String() (string, error) {
	p, err := r.text(kindString)
	return string(p), err
}

// Bytes reads a byte slice, which the caller owns; it is not nil unless there is an error.
func (r *Reader) Bytes() ([]byte, error) { return r.text(kindBytes) }

// Time reads an instant, in UTC.
func (r *Reader) Time() (time.Time, error) {
	before := *r
	e, err := r.take(kindTime)
	if err != nil {
		return time.Time{}, err
	}
	sec := e.uint(8) ^ signBit
	e.body = e.body[8:]
	nsec := e.uint(4)
	if nsec >= uint64(time.Second) {
		*r = before
		return time.Time{}, r.malformed("a time with a second or more of nanoseconds")
	}
	return time.Unix(int64(sec), int64(nsec)).UTC(), nil
}

// UUID reads a UUID.
func (r *Reader) UUID() ([16]byte, error) {
	var id [16]byte
	e, err := r.take(kindUUID)
	if err != nil {
		return id, err
	}
	copy(id[:], e.body)
	if e.mask != 0 {
		Invert(id[:])
	}
	return id, nil
}

// encoded is one element in its encoded form.
type encoded struct {
	tag  byte   // of the ascending form
	mask byte   // to be xored with the bytes of body
	body []byte // the bytes after the tag
}

// uint returns the first size bytes of the body as a number.
func (e *encoded) uint(size int) uint64 {
	var all [8]byte
	for i, b := range e.body[:size] {
		all[8-size+i] = b ^ e.mask
	}
	return binary.BigEndian.Uint64(all[:])
}

// kind returns the kind of the next element.
func (r *Reader) kind() kind {
	if len(r.rest) == 0 {
		return kindNone
	}
	tag := r.rest[0]
	if tag >= tagDescending {
		tag = ^tag
	}
	switch tag {
	case tagNil:
		return kindNil
	case tagFalse, tagTrue:
		return kindBool
	case tagFloat:
		return kindFloat
	case tagString:
		return kindString
	case tagBytes:
		return kindBytes
	case tagTime:
		return kindTime
	case tagUUID:
		return kindUUID
	}
	if tag >= tagZero-8 && tag <= tagZero+8 {
		return kindInt
	}
	return kindBad
}

// take returns the next element, which must be of the given kind, and moves past it.
func (r *Reader) take(want kind) (encoded, error) {
	if found := r.kind(); found != want || found == kindNone || found == kindBad {
		return encoded{}, r.unexpected(want)
	}
	e := encoded{tag: r.rest[0]}
	if e.tag >= tagDescending {
		e.tag, e.mask = ^e.tag, 0xFF
	}
	size := 0
	switch want {
	case kindInt:
		size = max(int(e.tag)-int(tagZero), int(tagZero)-int(e.tag))
	case kindFloat:
		size = 8
	case kindTime:
		size = 12
	case kindUUID:
		size = 16
	case kindString, kindBytes:
		size = bytes.IndexByte(r.rest, terminator^e.mask)
	}
	if size < 0 || len(r.rest) < 1+size {
		return encoded{}, r.malformed("%s that is cut short", want)
	}
	e.body = r.rest[1 : 1+size]
	r.rest = r.rest[1+size:]
	r.element++
	return e, nil
}

// integer reads an integer; if it is negative, v has its bits in two's complement.
func (r *Reader) integer() (v uint64, negative bool, err error) {
	before := *r
	e, err := r.take(kindInt)
	if err != nil {
		return 0, false, err
	}
	size := len(e.body)
	v = e.uint(size)
	if e.tag < tagZero {
		negative = true
		v |= ^uint64(0) << (8 * size) // of no effect if size is 8
		v++
	}
	if size > 0 && byteLen(magnitude(v, negative)) != size || negative && v < signBit {
		*r = before
		return 0, false, r.malformed("an integer with a wrong length")
	}
	return v, negative, nil
}

// magnitude returns the absolute value of a result of integer.
func magnitude(v uint64, negative bool) uint64 {
	if negative {
		return -v
	}
	return v
}

// text reads a string or bytes.
func (r *Reader) text(want kind) ([]byte, error) {
	before := *r
	e, err := r.take(want)
	if err != nil {
		return nil, err
	}
	// take found the terminator in the bytes from the tag on; the body ends with it.
	body := e.body[:len(e.body)-1]
	p := make([]byte, 0, len(body))
	for i := 0; i < len(body); i++ {
		b := body[i] ^ e.mask
		if b == escape {
			i++
			if i == len(body) || body[i]^e.mask != 1 && body[i]^e.mask != 2 {
				*r = before
				return nil, r.malformed("an unknown escape in %s", want)
			}
			b = body[i] ^ e.mask - 1
		}
		p = append(p, b)
	}
	return p, nil
}

// value reads an element of any type, as Decode returns it.
func (r *Reader) value() (any, error) {
	if r.rest[0] < tagDescending {
		return r.ascending()
	}
	v, err := r.ascending()
	return Descending{v}, err
}

// ascending reads an element of any type and direction, without telling the direction.
func (r *Reader) ascending() (any, error) {
	switch r.kind() {
	case kindNil:
		_, err := r.take(kindNil)
		return nil, err
	case kindBool:
		return r.Bool()
	case kindInt:
		v, negative, err := r.integer()
		if v > math.MaxInt64 && !negative {
			return v, err
		}
		return int64(v), err
	case kindFloat:
		return r.Float()
	case kindString:
		return r.String()
	case kindBytes:
		return r.Bytes()
	case kindTime:
		return r.Time()
	case kindUUID:
		return r.UUID()
	}
	return nil, r.unexpected(kindAny)
}

// unexpected returns the error of finding another element than want.
func (r *Reader) unexpected(want kind) error {
	found := r.kind()
	if found == kindBad {
		return r.malformed("unknown tag %#02x", r.rest[0])
	}
	return fmt.Errorf("tuple element %d: found %s, want %s", r.element, found, want)
}

// malformed returns the error of bytes that are not a tuple.
func (r *Reader) malformed(format string, args ...any) error {
	return fmt.Errorf("tuple element %d: malformed: %s", r.element, fmt.Sprintf(format, args...))
}
