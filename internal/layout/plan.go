package layout

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"unsafe"
)

// Plan is how records of one stored schema become values of one layout's type. It is immutable and
// safe for concurrent use.
type Plan struct {
	layout *Layout
	stored *Schema
	head   []byte // what records of the schema begin with
	fixed  int    // where the fixed fields end in a record
	vars   int    // how many variable fields there are in a record
	loads  []fixedOp
	widens []placed // fixed fields of another kind than the stored one
	reads  []placed // variable fields, in the order of the record
	zeros  []leaf   // fields that the records do not have
	text   bool     // what it makes has strings or bytes
	fields map[string]*Field
}

// placed is a conversion with where to take from and where to go.
type placed struct {
	conv *conversion
	at   int     // the offset in the record, or which of the variable fields it is
	off  uintptr // in the struct
}

// NewPlan compiles how records of the stored schema become values of the layout's type. A field is
// found by its name or else its old names; fields that only the type has become zero; stored fields
// that the type has no more are skipped. A number may have become a wider one that holds all its
// values, and strings and bytes each other. Anything else is an error.
func NewPlan(stored *Schema, l *Layout) (*Plan, error) {
	head := binary.AppendUvarint(nil, stored.Number)
	p := &Plan{layout: l, stored: stored, head: head, fixed: len(head), fields: map[string]*Field{}}
	places := make([]int, len(stored.Fields))
	for i, f := range stored.Fields {
		if f.Type.Kind.fixed() {
			places[i] = p.fixed
			p.fixed += f.Type.Kind.size()
		} else {
			places[i] = p.vars
			p.vars++
		}
	}
	taken := make([]string, len(stored.Fields))
	sources := make([]int, len(stored.Fields)) // the field of the layout, plus 1
	for j := range l.fields {
		f := &l.fields[j]
		i := find(stored.Fields, f.Name, f.Was)
		if i < 0 {
			p.zeros = append(p.zeros, *f)
			p.addField(f, nil, 0)
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
		if err := p.add(&l.fields[j-1], &stored.Fields[i], places[i]); err != nil {
			return nil, err
		}
	}
	return p, p.checkShapes(taken)
}

// bothStored returns the error of two fields that are found under one stored name.
func bothStored(one, other, stored string) error {
	advice := "remove the old name from the tag of one"
	if one == stored || other == stored {
		advice = fmt.Sprintf("give the new field another name than %s, which old records still "+
			"have", stored)
	}
	return fmt.Errorf("the fields %s and %s are both stored as %s: %s", one, other, stored, advice)
}

// add adds a field that is stored at the place.
func (p *Plan) add(f *leaf, stored *Named, at int) error {
	conv, ok := newConversion(stored.Type, f.val)
	if !ok {
		return fmt.Errorf("field %s is stored as %s, which cannot become %s without loss: keep "+
			"the type, or give the field of the new type a new name and convert the values", f.Name,
			stored.Type, f.val.schema())
	}
	p.addField(f, stored.Type, at)
	p.text = p.text || conv.text
	switch {
	case !stored.Type.Kind.fixed():
		p.reads = append(p.reads, placed{conv, at, f.off})
	case stored.Type.Kind == f.val.kind && f.val.mem != memInt && f.val.mem != memUint:
		p.loads = append(p.loads, fixedOp{f.val.mem, f.off, at})
	default:
		p.widens = append(p.widens, placed{conv, at, f.off})
	}
	return nil
}

// checkShapes refuses fields that seem to be new or gone only because they were one struct and are
// now taken apart, or the other way round. Taken says which stored fields the layout has.
func (p *Plan) checkShapes(taken []string) error {
	for i, stored := range p.stored.Fields {
		if taken[i] != "" {
			continue
		}
		for _, f := range p.zeros {
			if strings.HasPrefix(stored.Name, f.Name+".") ||
				strings.HasPrefix(f.Name, stored.Name+".") {
				return fmt.Errorf("field %s is stored as %s, which cannot become %s: give the field "+
					"a new name and convert the values", f.Name, stored.Name, f.val.schema())
			}
		}
	}
	return nil
}

// Decode makes *into from a record: all the fields of the layout, and nothing else of it. The
// record is not kept. The error is corrupt data if the record cannot be one of the plan's schema;
// *into may then have changed in part.
func Decode[T any](p *Plan, record []byte, into *T) error {
	if reflect.TypeFor[T]() != p.layout.typ {
		return p.layout.wrongType(reflect.TypeFor[T]())
	}
	return p.decode(record, unsafe.Pointer(into))
}

// decode makes the value of the layout's type at base.
func (p *Plan) decode(record []byte, base unsafe.Pointer) error {
	if err := p.decodeFixed(record, base); err != nil {
		return err
	}
	for i := range p.zeros {
		f := &p.zeros[i]
		reflect.NewAt(f.Type, unsafe.Add(base, f.off)).Elem().SetZero()
	}
	s, err := split(record, p.fixed, p.vars)
	if err != nil {
		return err
	}
	if p.text {
		own := make([]byte, len(s.values))
		copy(own, s.values)
		s.values = own
	}
	for i := range p.reads {
		op := &p.reads[i]
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

// decodeFixed makes the fields of the value at base that are fixed ones of the record.
func (p *Plan) decodeFixed(record []byte, base unsafe.Pointer) error {
	if len(record) < p.fixed || !bytes.HasPrefix(record, p.head) {
		return mismatch(record, p.head)
	}
	for i := range p.loads {
		op := &p.loads[i]
		src, to := record[op.at:], unsafe.Add(base, op.off)
		switch op.mem { // the usual ones without a call
		case mem4:
			*(*uint32)(to) = binary.LittleEndian.Uint32(src)
		case mem8:
			*(*uint64)(to) = binary.LittleEndian.Uint64(src)
		default:
			if !load(op.mem, src, to) {
				return damaged("record: a bool or time at offset %d is none", op.at)
			}
		}
	}
	for i := range p.widens {
		op := &p.widens[i]
		if err := op.conv.loadFixed(record[op.at:], unsafe.Add(base, op.off)); err != nil {
			return err
		}
	}
	return nil
}

// Number returns the number of the schema that a record has.
func Number(record []byte) (uint64, error) {
	v, n := binary.Uvarint(record)
	if n <= 0 || n > 1 && record[n-1] == 0 {
		return 0, damaged("record without the number of its schema")
	}
	return v, nil
}

// mismatch returns the error of a record that does not begin with head, or is too short.
func mismatch(record, head []byte) error {
	number, err := Number(record)
	if err != nil {
		return err
	}
	if want, _ := binary.Uvarint(head); number != want {
		return fmt.Errorf("a record of schema %d, where one of schema %d is wanted", number, want)
	}
	return damaged("record of %d bytes, which is less than its fixed fields have", len(record))
}

// errEnds returns the error of ends that do not ascend.
func errEnds() error { return damaged("record: the ends of its fields are wrong") }

// sections are the variable fields of a record.
type sections struct {
	ends   []byte
	width  int
	values []byte
}

// split returns the variable fields of a record, which has n of them from the offset on.
func split(record []byte, at, n int) (sections, error) {
	if n == 0 && len(record) == at {
		return sections{}, nil
	}
	if n == 0 || len(record) == at {
		return sections{}, damaged("record of %d bytes with the wrong length", len(record))
	}
	width := int(record[at])
	ends := at + 1
	values := ends + n*width
	if width != 1 && width != 2 && width != 4 || values > len(record) {
		return sections{}, errEnds()
	}
	s := sections{record[ends:values], width, record[values:]}
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

// value returns the bytes of a variable field; ok is false if its ends are wrong.
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
