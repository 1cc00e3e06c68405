package layout

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"unsafe"
)

// Decoder decodes structs of one stored schema into the type of a layout. It is immutable and safe
// for concurrent use.
type Decoder struct {
	layout *Layout
	stored *Schema
	head   []byte // the schema number, with which encodings begin
	fixed  int    // where the fixed fields end
	vars   int    // the number of variable fields
	loads  []fixedOp
	widens []convertOp // fixed fields of another kind than the stored one
	reads  []convertOp // variable fields, in the order of the encoding
	zeros  []leaf      // fields that the schema does not have
	text   bool        // the struct has strings or bytes
	fields map[string]*Field
}

// convertOp converts a stored field to a field of the struct.
type convertOp struct {
	conv *conversion
	at   int     // offset of a fixed field; position of a variable one
	off  uintptr // in the struct
}

// NewDecoder compiles a decoder from the stored schema to the layout's type. It finds fields by
// name, or else by former names; fields that only the type has become zero; stored fields that the
// type no longer has are skipped. A number may have become wider, if the new type holds all values
// of the old, and strings and bytes may have become each other. Any other change is an error.
func NewDecoder(stored *Schema, l *Layout) (*Decoder, error) {
	head := binary.AppendUvarint(nil, stored.Number)
	d := &Decoder{layout: l, stored: stored, head: head, fixed: len(head), fields: map[string]*Field{}}
	places := make([]int, len(stored.Fields))
	for i, f := range stored.Fields {
		if f.Type.Kind.fixed() {
			places[i] = d.fixed
			d.fixed += f.Type.Kind.size()
		} else {
			places[i] = d.vars
			d.vars++
		}
	}
	taken := make([]string, len(stored.Fields))
	sources := make([]int, len(stored.Fields)) // the index of the layout's field, plus 1
	for j := range l.fields {
		f := &l.fields[j]
		i := find(stored.Fields, f.Name, f.Was)
		if i < 0 {
			if f.val.loose == nil {
				d.zeros = append(d.zeros, *f)
			}
			d.addField(f, nil, 0)
			continue
		}
		if taken[i] != "" {
			return nil, bothStored(taken[i], f.Name, stored.Fields[i].Name)
		}
		taken[i], sources[i] = f.Name, j+1
	}
	for i, j := range sources {
		if j == 0 {
			continue
		}
		if err := d.add(&l.fields[j-1], &stored.Fields[i], places[i]); err != nil {
			return nil, err
		}
	}
	return d, d.checkShapes(taken)
}

// bothStored returns the error of two fields that match the same stored name.
func bothStored(one, other, stored string) error {
	advice := "remove the former name from the tag of one of them"
	if one == stored || other == stored {
		advice = fmt.Sprintf("choose a name other than %s for the new field, because stored data has "+
			"that name", stored)
	}
	return fmt.Errorf("fields %s and %s are both stored as %s: %s", one, other, stored, advice)
}

// add adds a field that is stored at the given place.
func (d *Decoder) add(f *leaf, stored *Named, at int) error {
	if f.val.loose != nil {
		if stored.Type.Kind.fixed() { // which no type becomes
			return damaged("schema: field %s is stored as %s and as %s", f.Name, stored.Type, f.val.loose)
		}
		d.addField(f, stored.Type, at)
		return nil
	}
	conv, ok := newConversion(stored.Type, f.val)
	if !ok {
		return fmt.Errorf("field %s is stored as %s, which cannot become %s without loss: keep "+
			"the type, or give the field of the new type another name and convert the values", f.Name,
			stored.Type, f.val.schema())
	}
	d.addField(f, stored.Type, at)
	d.text = d.text || conv.text
	switch {
	case !stored.Type.Kind.fixed():
		d.reads = append(d.reads, convertOp{conv, at, f.off})
	case stored.Type.Kind == f.val.kind && f.val.mem != memInt && f.val.mem != memUint:
		d.loads = append(d.loads, fixedOp{f.val.mem, f.off, at})
	default:
		d.widens = append(d.widens, convertOp{conv, at, f.off})
	}
	return nil
}

// checkShapes rejects fields that seem to be added or removed only because they were one value and
// are now a flattened struct, or vice versa. Taken has the layout's names of the stored fields.
func (d *Decoder) checkShapes(taken []string) error {
	for i, stored := range d.stored.Fields {
		if taken[i] != "" {
			continue
		}
		for _, f := range d.zeros {
			if strings.HasPrefix(stored.Name, f.Name+".") ||
				strings.HasPrefix(f.Name, stored.Name+".") {
				return fmt.Errorf("field %s is stored as %s, which cannot become %s: give the field "+
					"another name and convert the values", f.Name, stored.Name, f.val.schema())
			}
		}
	}
	return nil
}

// Decode decodes data into *into: all fields of the layout, and nothing else. It does not retain
// data. The error matches corrupt.Err if data cannot be of the decoder's schema; *into may then be
// partly overwritten.
func Decode[T any](d *Decoder, data []byte, into *T) error {
	if reflect.TypeFor[T]() != d.layout.typ {
		return d.layout.wrongType(reflect.TypeFor[T]())
	}
	return d.decode(data, unsafe.Pointer(into))
}

// decode decodes into the value of the layout's type at base.
func (d *Decoder) decode(data []byte, base unsafe.Pointer) error {
	if err := d.decodeFixed(data, base); err != nil {
		return err
	}
	for i := range d.zeros {
		f := &d.zeros[i]
		reflect.NewAt(f.Type, unsafe.Add(base, f.off)).Elem().SetZero()
	}
	s, err := split(data, d.fixed, d.vars)
	if err != nil {
		return err
	}
	if d.text {
		own := make([]byte, len(s.values))
		copy(own, s.values)
		s.values = own
	}
	for i := range d.reads {
		op := &d.reads[i]
		src, ok := s.value(op.at)
		if !ok {
			return errEnds()
		}
		if to := op.conv.to; to.kind.text() {
			to.setText(src, unsafe.Add(base, op.off))
		} else if err := op.conv.decodeField(src, unsafe.Add(base, op.off)); err != nil {
			return err
		}
	}
	return nil
}

// decodeFixed decodes the fixed fields into the value at base.
func (d *Decoder) decodeFixed(data []byte, base unsafe.Pointer) error {
	if len(data) < d.fixed || !bytes.HasPrefix(data, d.head) {
		return mismatch(data, d.head)
	}
	for i := range d.loads {
		op := &d.loads[i]
		src, to := data[op.at:], unsafe.Add(base, op.off)
		switch op.mem { // avoids a call for the most common kinds
		case mem4:
			*(*uint32)(to) = binary.LittleEndian.Uint32(src)
		case mem8:
			*(*uint64)(to) = binary.LittleEndian.Uint64(src)
		default:
			if !load(op.mem, src, to) {
				return damaged("encoded struct: invalid bool or time at offset %d", op.at)
			}
		}
	}
	for i := range d.widens {
		op := &d.widens[i]
		if err := op.conv.loadFixed(data[op.at:], unsafe.Add(base, op.off)); err != nil {
			return err
		}
	}
	return nil
}

// Number returns the schema number of an encoded struct.
func Number(data []byte) (uint64, error) {
	v, n := binary.Uvarint(data)
	if n <= 0 || n > 1 && data[n-1] == 0 {
		return 0, damaged("encoded struct: no valid schema number")
	}
	return v, nil
}

// mismatch returns the error of data that does not begin with head, or is too short.
func mismatch(data, head []byte) error {
	number, err := Number(data)
	if err != nil {
		return err
	}
	if want, _ := binary.Uvarint(head); number != want {
		return fmt.Errorf("encoded struct has schema %d instead of %d", number, want)
	}
	return damaged("encoded struct: %d bytes are too few for its fixed fields", len(data))
}

// errEnds returns the error of ends that are not ascending.
func errEnds() error { return damaged("encoded struct: invalid ends of its fields") }

// sections are the variable fields of an encoded struct.
type sections struct {
	ends   []byte
	width  int
	values []byte
}

// split returns the n variable fields of an encoded struct, which begin at an offset.
func split(data []byte, at, n int) (sections, error) {
	if n == 0 && len(data) == at {
		return sections{}, nil
	}
	if n == 0 || len(data) == at {
		return sections{}, damaged("encoded struct: invalid length of %d bytes", len(data))
	}
	width := int(data[at])
	ends := at + 1
	values := ends + n*width
	if width != 1 && width != 2 && width != 4 || values > len(data) {
		return sections{}, errEnds()
	}
	s := sections{data[ends:values], width, data[values:]}
	if s.end(n-1) != uint(len(s.values)) {
		return sections{}, errEnds()
	}
	return s, nil
}

// end returns the end of a variable field, unchecked.
func (s *sections) end(i int) uint {
	switch s.width {
	case 1:
		return uint(s.ends[i])
	case 2:
		return uint(binary.LittleEndian.Uint16(s.ends[2*i:]))
	}
	return uint(binary.LittleEndian.Uint32(s.ends[4*i:]))
}

// value returns the bytes of a variable field; ok is false if its ends are invalid.
func (s *sections) value(i int) (_ []byte, ok bool) {
	var start uint
	if i > 0 {
		start = s.end(i - 1)
	}
	end := s.end(i)
	if start > end || end > uint(len(s.values)) {
		return nil, false
	}
	return s.values[start:end:end], true
}
