package strategies

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Schema describes the records of a data set: a Go struct whose json tags name the fields. It is
// immutable.
type Schema struct {
	structure reflect.Type
	names     []string
	widths    []int // of the encoded fields; 0 if the width depends on the value
	sorted    []int // the fields in the order of their names
}

// Record is a struct, as a whole and as its fields.
type Record struct {
	whole  any // pointer to the struct
	fields []field
}

func newSchema(structure reflect.Type) (*Schema, error) {
	s := &Schema{structure: structure}
	for i := range structure.NumField() {
		tag := structure.Field(i).Tag.Get("json")
		name := strings.TrimSuffix(strings.TrimSuffix(tag, ",omitempty"), ",")
		kind := structure.Field(i).Type
		width, known := widthOf(reflect.New(kind).Interface())
		if !known {
			return nil, fmt.Errorf("field %q is a %v, which no strategy can store", name, kind)
		}
		s.names = append(s.names, name)
		s.widths = append(s.widths, width)
		s.sorted = append(s.sorted, i)
	}
	slices.SortFunc(s.sorted, func(i, j int) int { return strings.Compare(s.names[i], s.names[j]) })
	return s, nil
}

// newRecord returns a zero record.
func (s *Schema) newRecord() Record {
	pointer := reflect.New(s.structure)
	r := Record{whole: pointer.Interface(), fields: make([]field, 0, len(s.names))}
	for i := range s.names {
		r.fields = append(r.fields, pointer.Elem().Field(i).Addr().Interface())
	}
	return r
}

// newRecords returns n zero records.
func (s *Schema) newRecords(n int) []Record {
	records := make([]Record, n)
	for i := range records {
		records[i] = s.newRecord()
	}
	return records
}

// field returns the index of the field with the name, or -1.
func (s *Schema) field(name string) int { return slices.Index(s.names, name) }

// longestName returns the length of the longest name.
func (s *Schema) longestName() (size int) {
	for _, name := range s.names {
		size = max(size, len(name))
	}
	return size
}

// clear sets all fields to their zero values.
func (r Record) clear() {
	for _, f := range r.fields {
		clearField(f)
	}
}

// difference returns the first field in which two records differ, or -1.
func (r Record) difference(other Record) int {
	for i, f := range r.fields {
		if !sameField(f, other.fields[i]) {
			return i
		}
	}
	return -1
}

// keyBytes is the length of a record's key.
const keyBytes = 8

// appendKey appends the key of the record id. Keys sort by id.
func appendKey(dst []byte, id int) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(id))
}
