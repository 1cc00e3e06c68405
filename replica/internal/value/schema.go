package value

import (
	"encoding/binary"
	"math"

	"github.com/stoatdb/stoat/internal/layout"
)

// Schema converts the records of one schema of package layout. It is immutable and safe for
// concurrent use.
type Schema struct {
	head   []byte // the schema's number, with which records begin
	fields []place
	fixed  int // bytes of all fixed fields
	vars   int // variable fields
}

// place is where a field is in a record.
type place struct {
	typ   *layout.Type
	fixed bool
	at    int // offset among the fixed fields, or the number of the variable field
}

// NewSchema compiles a schema.
func NewSchema(s *layout.Schema) *Schema {
	c := &Schema{head: binary.AppendUvarint(nil, s.Number)}
	for _, f := range s.Fields {
		if f.Type.Kind >= layout.Bool && f.Type.Kind <= layout.UUID {
			c.fields = append(c.fields, place{f.Type, true, c.fixed})
			c.fixed += fixedSize(f.Type.Kind)
			continue
		}
		c.fields = append(c.fields, place{f.Type, false, c.vars})
		c.vars++
	}
	return c
}

// fixedSize returns the size of a fixed kind.
func fixedSize(k layout.Kind) int {
	switch k {
	case layout.Bool, layout.Int8, layout.Uint8:
		return 1
	case layout.Int16, layout.Uint16:
		return 2
	case layout.Int32, layout.Uint32, layout.Float32:
		return 4
	case layout.Time:
		return 12
	case layout.UUID:
		return 16
	}
	return 8
}

// Raw returns the stored bytes of a field: equal bytes are equal values.
func (s *Schema) Raw(record []byte, field int) ([]byte, error) {
	at := len(s.head) + s.fixed
	if len(record) < at {
		return nil, errStored
	}
	f := &s.fields[field]
	if f.fixed {
		return record[len(s.head)+f.at:][:fixedSize(f.typ.Kind)], nil
	}
	if len(record) == at {
		return nil, errStored
	}
	width := int(record[at])
	ends := record[at+1:]
	if width != 1 && width != 2 && width != 4 || len(ends) < s.vars*width {
		return nil, errStored
	}
	values := ends[s.vars*width:]
	start, end := 0, endAt(ends, width, f.at)
	if f.at > 0 {
		start = endAt(ends, width, f.at-1)
	}
	if start > end || end > len(values) {
		return nil, errStored
	}
	return values[start:end], nil
}

// endAt returns the end of a variable field.
func endAt(ends []byte, width, i int) int {
	switch width {
	case 1:
		return int(ends[i])
	case 2:
		return int(binary.LittleEndian.Uint16(ends[2*i:]))
	}
	return int(min(binary.LittleEndian.Uint32(ends[4*i:]), math.MaxInt32))
}

// Append appends the value of a field of a record.
func (s *Schema) Append(dst, record []byte, field int) ([]byte, error) {
	p, err := s.Raw(record, field)
	if err != nil {
		return dst, err
	}
	f := &s.fields[field]
	if f.fixed {
		return appendFixed(dst, f.typ.Kind, &source{rest: p}), nil
	}
	return appendField(dst, f.typ, p)
}

// AppendRecord appends the record with the given values of its fields; a nil one stands for the
// zero value. A value that does not fit the type of its field becomes the nearest that does.
func (s *Schema) AppendRecord(dst []byte, values [][]byte) []byte {
	dst = append(dst, s.head...)
	var zero []byte
	of := func(i int) []byte {
		if values[i] != nil {
			return values[i]
		}
		zero = AppendZero(zero[:0], s.fields[i].typ)
		return zero
	}
	for i := range s.fields {
		if f := &s.fields[i]; f.fixed {
			dst = storeFixed(dst, f.typ.Kind, of(i))
		}
	}
	if s.vars == 0 {
		return dst
	}
	size := 0
	for i := range s.fields {
		if !s.fields[i].fixed {
			size += len(values[i])
		}
	}
	text := make([]byte, 0, size)
	ends := make([]int, 0, s.vars)
	for i := range s.fields {
		if f := &s.fields[i]; !f.fixed {
			text = storeField(text, f.typ, of(i))
			ends = append(ends, len(text))
		}
	}
	width := 4
	switch {
	case len(text) <= math.MaxUint8:
		width = 1
	case len(text) <= math.MaxUint16:
		width = 2
	}
	dst = append(dst, byte(width))
	for _, end := range ends {
		dst = appendLow(dst, uint64(end), width)
	}
	return append(dst, text...)
}
