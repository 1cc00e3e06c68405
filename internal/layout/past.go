package layout

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// Past is the fields that structs were stored with, according to all schemas of a collection,
// whether or not the type still has them. It is immutable and safe for concurrent use.
type Past struct {
	fields map[uint64]map[string]*Field // by schema number, then by name
}

// NewPast returns the fields of the schemas. Renamed maps former names of fields to later ones: a
// field can be read under all its names in data of every schema, unless the schema has another
// field with that name. A number can be read as the widest kind that it ever had. If traced is
// true, renamed is complete, and a field that only other schemas have reads as zero.
func NewPast(schemas []*Schema, renamed map[string]string, traced bool) *Past {
	kinds := map[string]Kind{} // the newest kind of each field, by its last name
	names := map[string]bool{}
	for _, s := range slices.SortedFunc(slices.Values(schemas), func(a, b *Schema) int {
		return cmp.Compare(a.Number, b.Number)
	}) {
		for _, f := range s.Fields {
			names[f.Name] = true
			kinds[LastName(renamed, f.Name)] = f.Type.Kind
		}
	}
	for was, name := range renamed {
		names[was], names[name] = true, true
	}
	p := &Past{fields: map[uint64]map[string]*Field{}}
	for _, s := range schemas {
		p.fields[s.Number] = s.past(names, renamed, kinds, traced)
	}
	return p
}

// LastName follows the renames of a field from one of its names to the last.
func LastName(renamed map[string]string, name string) string {
	for range renamed { // bounds a cycle
		next, ok := renamed[name]
		if !ok {
			break
		}
		name = next
	}
	return name
}

// past returns the readers of a schema's fields under all names that any schema knows.
func (s *Schema) past(
	names map[string]bool, renamed map[string]string, kinds map[string]Kind, traced bool,
) map[string]*Field {
	own, head := s.stored()
	byLast := map[string]*Field{}
	for _, f := range own {
		last := LastName(renamed, f.name)
		if widens(f.from, kinds[last]) {
			f.class, f.val = classOf(kinds[last]), plainValue(kinds[last])
		}
		byLast[last] = f
	}
	fields := map[string]*Field{}
	for name := range names {
		last := LastName(renamed, name)
		switch f, kind := byLast[last], kinds[last]; {
		case own[name] != nil:
			fields[name] = own[name]
		case f != nil:
			fields[name] = f
		case kind != 0 && traced:
			fields[name] = &Field{name: name, class: classOf(kind), end: len(head), head: head,
				val: plainValue(kind)}
		}
	}
	return fields
}

// stored returns the readers of a schema's fields by name, and the encoded schema number.
func (s *Schema) stored() (fields map[string]*Field, head []byte) {
	fields, head = map[string]*Field{}, binary.AppendUvarint(nil, s.Number)
	end, vars := len(head), 0
	for _, named := range s.Fields {
		kind := named.Type.Kind
		f := &Field{name: named.Name, class: classOf(kind), from: kind, at: end, head: head,
			val: plainValue(kind), typ: named.Type}
		if !kind.fixed() {
			f.at = vars
			vars++
		}
		fields[named.Name] = f
		end += kind.size()
	}
	for _, f := range fields {
		f.end, f.fixed, f.vars = end, end, vars
	}
	return fields, head
}

// Field returns the reader of a field in data of a schema, or an error if there is none. The field
// cannot be replaced, and only scalars have accessors.
func (p *Past) Field(number uint64, name string) (*Field, error) {
	if f := p.fields[number][name]; f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("schema %d has no field %q", number, name)
}

// plainValue returns a value of the kind, for messages.
func plainValue(k Kind) *value { return &value{typ: plainType(k), kind: k} }

// plainType returns a Go type of the kind.
func plainType(k Kind) reflect.Type {
	switch {
	case k == Bool:
		return reflect.TypeFor[bool]()
	case k.signed():
		return reflect.TypeFor[int64]()
	case k.unsigned():
		return reflect.TypeFor[uint64]()
	case k.float():
		return reflect.TypeFor[float64]()
	case k == Time:
		return reflect.TypeFor[time.Time]()
	case k == UUID:
		return reflect.TypeFor[[16]byte]()
	case k == String:
		return reflect.TypeFor[string]()
	}
	return reflect.TypeFor[[]byte]()
}
