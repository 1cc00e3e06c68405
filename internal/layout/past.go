package layout

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// Past is the fields of records as they were stored, by all the schemas of a collection, whether or
// not its type still has them. It is immutable and safe for concurrent use.
type Past struct {
	fields map[uint64]map[string]*Field // by the number of the schema, and by name
}

// NewPast returns the fields of the schemas. Renamed has, for the former names of fields, what came
// after: a field answers to all its names in records of every schema, unless the schema has another
// field of the name. A number can be read as the widest kind that it ever had. If renamed has all
// changes of names, what traced says, a field that only other schemas have is zero.
func NewPast(schemas []*Schema, renamed map[string]string, traced bool) *Past {
	kinds := map[string]Kind{} // of fields, by their last names, in the newest schema
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

// LastName returns the last name of a field. Renamed has what came after its former ones.
func LastName(renamed map[string]string, name string) string {
	for range renamed { // which bounds a circle
		next, ok := renamed[name]
		if !ok {
			break
		}
		name = next
	}
	return name
}

// past returns what the records of a schema have under all the names, as far as any schema has it.
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

// stored returns what reads the fields of a schema's records, by name, and what those begin with.
func (s *Schema) stored() (fields map[string]*Field, head []byte) {
	fields, head = map[string]*Field{}, binary.AppendUvarint(nil, s.Number)
	end, vars := len(head), 0
	for _, named := range s.Fields {
		kind := named.Type.Kind
		f := &Field{name: named.Name, class: classOf(kind), from: kind, at: end, head: head,
			val: plainValue(kind)}
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

// Field returns what reads a field of the records of a schema. It cannot be replaced, and only
// fields that are values without parts have methods to read them. The error is that there is none.
func (p *Past) Field(number uint64, name string) (*Field, error) {
	if f := p.fields[number][name]; f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("records of schema %d have no field %q", number, name)
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
