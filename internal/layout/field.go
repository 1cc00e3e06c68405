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

// Field reads or replaces one field in encoded structs of one schema, without decoding the others.
// It is immutable and safe for concurrent use. A field that the schema does not have reads as zero.
// Methods return an error if the field has another kind, or if the data is of another schema.
type Field struct {
	name  string
	class Kind   // the accessor's kind: Int64, Uint64 and Float64 stand for all sizes
	from  Kind   // the stored kind; 0 if the schema does not have the field
	at    int    // offset of a fixed field; position of a variable one
	end   int    // the minimum length of data that is read
	head  []byte // the schema number, with which encodings begin
	fixed int    // where the fixed fields end
	vars  int    // the number of variable fields
	val   *value
	typ   *Type // the stored type; nil if the schema does not have the field
	same  bool  // the stored type equals the layout's
}

// Field returns the field of the layout with the given name, which includes the names of enclosing
// structs, as in "address.city".
func (d *Decoder) Field(name string) (*Field, error) {
	f := d.fields[name]
	if f == nil {
		return nil, fmt.Errorf("type %s has no field %q", d.layout.typ, name)
	}
	return f, nil
}

// addField adds the reader of a field; stored is nil if the schema does not have it.
func (d *Decoder) addField(f *leaf, stored *Type, at int) {
	r := &Field{name: f.Name, class: classOf(f.val.kind), at: at, end: d.fixed, head: d.head,
		fixed: d.fixed, vars: d.vars, val: f.val}
	switch {
	case stored == nil:
		r.end = len(d.head)
	case stored.Kind.fixed():
		r.end = at + stored.Kind.size()
	}
	if stored != nil {
		r.from, r.typ, r.same = stored.Kind, stored, stored.Equal(f.val.schema())
	}
	d.fields[f.Name] = r
}

// Reach returns how many leading bytes of the data are enough to read the field, or 0 if all are
// needed.
func (f *Field) Reach() int {
	if f.from == 0 || f.from.fixed() {
		return f.end
	}
	return 0
}

// classOf returns the kind whose accessor reads values of kind k.
func classOf(k Kind) Kind {
	switch {
	case k.signed():
		return Int64
	case k.unsigned():
		return Uint64
	case k.float():
		return Float64
	}
	return k
}

// Kind returns the kind of the field in the layout, regardless of the stored one.
func (f *Field) Kind() Kind { return f.val.kind }

// Int returns the value of a field with a signed integer type.
func (f *Field) Int(data []byte) (int64, error) {
	if f.class != Int64 || !f.fits(data) {
		return 0, f.misuse(data, Int64)
	}
	if f.from == Int64 {
		return int64(binary.LittleEndian.Uint64(data[f.at:])), nil
	}
	return int64(f.integer(data)), nil
}

// Uint returns the value of a field with an unsigned integer type.
func (f *Field) Uint(data []byte) (uint64, error) {
	if f.class != Uint64 || !f.fits(data) {
		return 0, f.misuse(data, Uint64)
	}
	return f.integer(data), nil
}

// Float returns the value of a field with a float type.
func (f *Field) Float(data []byte) (float64, error) {
	if f.class != Float64 || !f.fits(data) {
		return 0, f.misuse(data, Float64)
	}
	switch f.from {
	case 0:
		return 0, nil
	case Float64:
		return math.Float64frombits(binary.LittleEndian.Uint64(data[f.at:])), nil
	}
	return number(f.from, data[f.at:]), nil
}

// Bool returns the value of a bool field.
func (f *Field) Bool(data []byte) (bool, error) {
	if f.class != Bool || !f.fits(data) {
		return false, f.misuse(data, Bool)
	}
	if f.from == 0 {
		return false, nil
	}
	if data[f.at] > 1 {
		return false, badValue(f.val)
	}
	return data[f.at] == 1, nil
}

// Time returns the value of a time field, in UTC.
func (f *Field) Time(data []byte) (time.Time, error) {
	if f.class != Time || !f.fits(data) {
		return time.Time{}, f.misuse(data, Time)
	}
	if f.from == 0 {
		return time.Time{}, nil
	}
	t, ok := getTime(data[f.at:])
	if !ok {
		return time.Time{}, badValue(f.val)
	}
	return t, nil
}

// UUID returns the value of a field with 16 bytes.
func (f *Field) UUID(data []byte) ([16]byte, error) {
	if f.class != UUID || !f.fits(data) {
		return [16]byte{}, f.misuse(data, UUID)
	}
	if f.from == 0 {
		return [16]byte{}, nil
	}
	return [16]byte(data[f.at:]), nil
}

// Bytes returns the value of a string or bytes field, as a slice of the data.
func (f *Field) Bytes(data []byte) ([]byte, error) {
	if !f.class.text() || !f.fits(data) {
		return nil, f.misuse(data, Bytes)
	}
	return f.raw(data)
}

// String returns the value of a string or bytes field as a new string; [Field.Bytes] does not
// allocate.
func (f *Field) String(data []byte) (string, error) {
	p, err := f.Bytes(data)
	return string(p), err
}

// Replace appends the data to dst, with another value of the field. The value must be addressable
// and have the Go field's type, and the data must have been stored with that type. To replace a
// fixed field in place, dst may be data[:0]; otherwise dst must not overlap the data.
func (f *Field) Replace(dst, data []byte, v reflect.Value) ([]byte, error) {
	if v.Type() != f.val.typ {
		return dst, fmt.Errorf("field %s has type %s, but the value has type %s", f.name, f.val.typ,
			v.Type())
	}
	return f.replace(dst, data, v.Addr().UnsafePointer())
}

// replace appends the data with the value at p.
func (f *Field) replace(dst, data []byte, p unsafe.Pointer) ([]byte, error) {
	if !f.same {
		return dst, fmt.Errorf("field %s was stored with another type, or not at all: decode the "+
			"struct and encode it with the current schema", f.name)
	}
	if !f.fits(data) {
		return dst, mismatch(data, f.head)
	}
	start := len(dst)
	if f.from.fixed() {
		dst = append(dst, data...)
		store(f.val.mem, dst[start+f.at:], p)
		return dst, nil
	}
	s, err := split(data, f.fixed, f.vars)
	if err != nil {
		return dst, err
	}
	old, ok := s.value(f.at)
	if !ok {
		return dst, errEnds()
	}
	to := int(s.end(f.at))
	dst = slices.Grow(dst, len(data)+4*f.vars)
	dst = append(append(dst, data[:f.fixed]...), 4)
	ends := len(dst)
	dst = append(dst[:ends+4*f.vars], s.values[:to-len(old)]...)
	before := len(dst)
	if dst, err = f.val.appendField(dst, p); err != nil {
		return dst[:start], err
	}
	grown := len(dst) - before - len(old)
	dst = append(dst, s.values[to:]...)
	if uint64(len(s.values)+grown) > math.MaxUint32 {
		return dst[:start], fmt.Errorf("field %s: the encoded struct would have 4 GiB or more", f.name)
	}
	for i := range f.vars {
		end := int(s.end(i))
		if i >= f.at {
			end += grown
		}
		putEnd(dst[ends+4*i:], 4, end)
	}
	return narrow(dst, ends, f.vars), nil
}

// fits reports whether the data is of the field's schema and long enough.
func (f *Field) fits(data []byte) bool {
	if len(data) < f.end {
		return false
	}
	for i, b := range f.head {
		if data[i] != b {
			return false
		}
	}
	return true
}

// integer returns the value of an integer field.
func (f *Field) integer(data []byte) uint64 {
	if f.from == 0 {
		return 0
	}
	return integer(f.from, data[f.at:])
}

// raw returns the bytes of a variable field.
func (f *Field) raw(data []byte) ([]byte, error) {
	if f.from == 0 {
		return nil, nil
	}
	s, err := split(data, f.fixed, f.vars)
	if err != nil {
		return nil, err
	}
	p, ok := s.value(f.at)
	if !ok {
		return nil, errEnds()
	}
	return p, nil
}

// misuse returns the error of an accessor for the wrong kind, or of data of another schema.
func (f *Field) misuse(data []byte, want Kind) error {
	if f.class != want && !(f.class.text() && want.text()) {
		return fmt.Errorf("field %s has type %s: it cannot be read as %s", f.name, f.val.typ, want)
	}
	return mismatch(data, f.head)
}
