package record

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/layout"
)

// shape returns the shape of a type that it makes of the fields of the current schema, or of those
// that only has.
func (d *definition) shape(schemas []*layout.Schema, only map[string]bool) (*shape, error) {
	at := slices.IndexFunc(schemas, func(s *layout.Schema) bool { return s.Number == d.Schema })
	if at < 0 {
		return nil, unknownSchema(d.Schema)
	}
	present := schemas[at].Fields
	fields := slices.Clone(present)
	if only != nil {
		fields = slices.DeleteFunc(fields, func(f layout.Named) bool { return !only[f.Name] })
	}
	l, err := layout.FromSchema(fields, d.formerNames(present))
	if err != nil {
		return nil, err
	}
	s := &shape{typ: l.Type(), layout: l}
	for i, f := range l.Fields() {
		s.columns = append(s.columns, newColumn(f, i))
	}
	for _, k := range d.Key {
		c, err := s.column(k.Name)
		if err == nil && !c.plain() {
			err = fmt.Errorf("field %s of the key is a %s: %w", k.Name, c.class(), stoat.ErrCorrupt)
		}
		if err != nil {
			return nil, err
		}
		s.key = append(s.key, c)
		if k.Auto {
			s.auto = c
		}
	}
	for _, x := range d.typeOrder(fields) {
		if err := s.addIndex(Index{Name: x.Name, Fields: x.Fields, Unique: x.Unique}); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// typeOrder returns the indexes in the order in which a type has them, as far as that is known,
// because the planner takes the first of equally good ones: those of tags in the order of the
// fields, and then the others.
func (d *definition) typeOrder(fields []layout.Named) []storedForm {
	place := func(x storedForm) int {
		at := slices.IndexFunc(fields, func(f layout.Named) bool { return f.Name == x.Name })
		if at < 0 || !slices.Equal(x.Fields, []string{x.Name}) {
			return len(fields)
		}
		return at
	}
	return slices.SortedStableFunc(slices.Values(d.Indexes), func(x, y storedForm) int {
		return cmp.Compare(place(x), place(y))
	})
}

// indexed returns the fields of the key and the indexes.
func (d *definition) indexed() map[string]bool {
	fields := map[string]bool{}
	for _, k := range d.Key {
		fields[k.Name] = true
	}
	for _, x := range d.Indexes {
		for _, name := range x.Fields {
			fields[name] = true
		}
	}
	return fields
}

// formerNames returns the function that returns the former names of a field. A name that another
// field has by now is none of them: what is stored under it is read as that field.
func (d *definition) formerNames(present []layout.Named) func(name string) []string {
	return func(name string) (was []string) {
		for _, old := range slices.Sorted(maps.Keys(d.Renamed)) {
			taken := slices.ContainsFunc(present, func(f layout.Named) bool { return f.Name == old })
			if !taken && layout.LastName(d.Renamed, old) == name {
				was = append(was, old)
			}
		}
		return was
	}
}

// openUntyped opens the collection with this definition without its Go type.
func (d *definition) openUntyped(tx *stoat.Tx, name string) (*collection, error) {
	c := &collection{name: name, edition: d.edition, untyped: true, schemas: map[uint64]*schema{}}
	switch d.Codec {
	case CodecBinary.String():
		return c, c.compile(tx, d)
	case CodecJSON.String():
		c.codec = CodecJSON
	case CodecGob.String():
		c.codec = CodecGob
	default:
		return nil, fmt.Errorf("its codec is %q, of a newer version of this package: %w", d.Codec,
			stoat.ErrFormat)
	}
	c.shape = &shape{typ: reflect.TypeFor[struct{}]()}
	return c, nil
}

// compile compiles the stored schemas of an untyped collection.
func (c *collection) compile(tx *stoat.Tx, d *definition) error {
	schemas, err := loadSchemas(tx, c.name)
	if err != nil {
		return err
	}
	if c.shape, err = d.shape(schemas, nil); err != nil {
		return err
	}
	for _, stored := range schemas {
		if c.schemas[stored.Number], err = newSchema(stored, c.shape); err != nil {
			return err
		}
	}
	c.current, c.layout = c.schemas[d.Schema], c.shape.layout
	if d.Schema < 1<<7 {
		c.head = byte(d.Schema)
	}
	return nil
}
