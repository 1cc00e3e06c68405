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

// Field reads one field of the records of a plan's schema, and replaces it, without decoding the
// others. It is immutable and safe for concurrent use. What the records do not have is read as
// zero. A method returns an error if the field is of another kind, or the record not of the schema.
type Field struct {
	name  string
	class Kind   // what the layout has: Int64, Uint64 and Float64 stand for all of their sizes
	from  Kind   // what the records have; 0 if they do not have the field
	at    int    // a fixed field's offset in the record, or which of the variable fields it is
	end   int    // what is read of a record at least
	head  []byte // what records begin with
	fixed int    // where the fixed fields end in a record
	vars  int    // how many variable fields there are in a record
	val   *value
	same  bool // the records have the very type that the layout has
}

// Field returns the field of the layout with the name, which has the names of the structs around it
// as in "address.city".
func (p *Plan) Field(name string) (*Field, error) {
	f := p.fields[name]
	if f == nil {
		return nil, fmt.Errorf("type %s has no field %q", p.layout.typ, name)
	}
	return f, nil
}

// addField adds the reader of a field; stored is nil if records do not have it.
func (p *Plan) addField(f *leaf, stored *Type, at int) {
	r := &Field{name: f.Name, class: classOf(f.val.kind), at: at, end: p.fixed, head: p.head,
		fixed: p.fixed, vars: p.vars, val: f.val}
	switch {
	case stored == nil:
		r.end = len(p.head)
	case stored.Kind.fixed():
		r.end = at + stored.Kind.size()
	}
	if stored != nil {
		r.from, r.same = stored.Kind, stored.Equal(f.val.schema())
	}
	p.fields[f.Name] = r
}

// Reach returns how many bytes from the start of a record are enough to read the field, or 0 if
// that is all of the record.
func (f *Field) Reach() int {
	if f.from == 0 || f.from.fixed() {
		return f.end
	}
	return 0
}

// classOf returns which accessor a kind has.
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

// Kind returns what the field is in the layout, whatever records have.
func (f *Field) Kind() Kind { return f.val.kind }

// Int returns the value of a field of an int type.
func (f *Field) Int(record []byte) (int64, error) {
	if f.class != Int64 || !f.fits(record) {
		return 0, f.misuse(record, Int64)
	}
	if f.from == Int64 {
		return int64(binary.LittleEndian.Uint64(record[f.at:])), nil
	}
	return int64(f.integer(record)), nil
}

// Uint returns the value of a field of a uint type.
func (f *Field) Uint(record []byte) (uint64, error) {
	if f.class != Uint64 || !f.fits(record) {
		return 0, f.misuse(record, Uint64)
	}
	return f.integer(record), nil
}

// Float returns the value of a field of a float type.
func (f *Field) Float(record []byte) (float64, error) {
	if f.class != Float64 || !f.fits(record) {
		return 0, f.misuse(record, Float64)
	}
	switch f.from {
	case 0:
		return 0, nil
	case Float64:
		return math.Float64frombits(binary.LittleEndian.Uint64(record[f.at:])), nil
	}
	return number(f.from, record[f.at:]), nil
}

// Bool returns the value of a bool field.
func (f *Field) Bool(record []byte) (bool, error) {
	if f.class != Bool || !f.fits(record) {
		return false, f.misuse(record, Bool)
	}
	if f.from == 0 {
		return false, nil
	}
	if record[f.at] > 1 {
		return false, badValue(f.val)
	}
	return record[f.at] == 1, nil
}

// Time returns the value of a time field, in UTC.
func (f *Field) Time(record []byte) (time.Time, error) {
	if f.class != Time || !f.fits(record) {
		return time.Time{}, f.misuse(record, Time)
	}
	if f.from == 0 {
		return time.Time{}, nil
	}
	t, ok := getTime(record[f.at:])
	if !ok {
		return time.Time{}, badValue(f.val)
	}
	return t, nil
}

// UUID returns the value of a field of 16 bytes.
func (f *Field) UUID(record []byte) ([16]byte, error) {
	if f.class != UUID || !f.fits(record) {
		return [16]byte{}, f.misuse(record, UUID)
	}
	if f.from == 0 {
		return [16]byte{}, nil
	}
	return [16]byte(record[f.at:]), nil
}

// Bytes returns the value of a field of a string or bytes. It is a part of the record.
func (f *Field) Bytes(record []byte) ([]byte, error) {
	if !f.class.text() || !f.fits(record) {
		return nil, f.misuse(record, Bytes)
	}
	return f.raw(record)
}

// String returns the value of a field of a string or bytes as a new string; [Field.Bytes] needs no
// memory.
func (f *Field) String(record []byte) (string, error) {
	p, err := f.Bytes(record)
	return string(p), err
}

// Replace appends the record with another value of the field to dst. The value must be of the Go
// field's type, and the record must have been stored with that type. To replace a fixed field in
// place, dst may be record[:0]; otherwise dst must not overlap the record.
func Replace[V any](dst, record []byte, f *Field, v V) ([]byte, error) {
	if reflect.TypeFor[V]() != f.val.typ {
		return dst, fmt.Errorf("field %s is a %s, the value a %s", f.name, f.val.typ,
			reflect.TypeFor[V]())
	}
	return f.replace(dst, record, unsafe.Pointer(&v))
}

// replace appends the record with the value at p.
func (f *Field) replace(dst, record []byte, p unsafe.Pointer) ([]byte, error) {
	if !f.same {
		return dst, fmt.Errorf("field %s was stored with another type, or not at all: decode the "+
			"record and append it with the present schema", f.name)
	}
	if !f.fits(record) {
		return dst, mismatch(record, f.head)
	}
	start := len(dst)
	if f.from.fixed() {
		dst = append(dst, record...)
		store(f.val.mem, dst[start+f.at:], p)
		return dst, nil
	}
	s, err := split(record, f.fixed, f.vars)
	if err != nil {
		return dst, err
	}
	old, ok := s.value(f.at)
	if !ok {
		return dst, errEnds()
	}
	to := int(s.end(f.at))
	dst = slices.Grow(dst, len(record)+4*f.vars)
	dst = append(append(dst, record[:f.fixed]...), 4)
	ends := len(dst)
	dst = append(dst[:ends+4*f.vars], s.values[:to-len(old)]...)
	before := len(dst)
	if dst, err = f.val.appendField(dst, p); err != nil {
		return dst[:start], err
	}
	grown := len(dst) - before - len(old)
	dst = append(dst, s.values[to:]...)
	if uint64(len(s.values)+grown) > math.MaxUint32 {
		return dst[:start], fmt.Errorf("field %s: the record would have 4 GiB or more", f.name)
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

// fits reports whether the record is of the field's schema and long enough.
func (f *Field) fits(record []byte) bool {
	if len(record) < f.end {
		return false
	}
	for i, b := range f.head {
		if record[i] != b {
			return false
		}
	}
	return true
}

// integer returns the value of a field of an int or uint type.
func (f *Field) integer(record []byte) uint64 {
	if f.from == 0 {
		return 0
	}
	return integer(f.from, record[f.at:])
}

// raw returns the bytes of a variable field.
func (f *Field) raw(record []byte) ([]byte, error) {
	if f.from == 0 {
		return nil, nil
	}
	s, err := split(record, f.fixed, f.vars)
	if err != nil {
		return nil, err
	}
	p, ok := s.value(f.at)
	if !ok {
		return nil, errEnds()
	}
	return p, nil
}

// misuse returns why an accessor for the kind does not work.
func (f *Field) misuse(record []byte, want Kind) error {
	if f.class != want && !(f.class.text() && want.text()) {
		return fmt.Errorf("field %s is a %s: it cannot be read as %s", f.name, f.val.typ, want)
	}
	return mismatch(record, f.head)
}
