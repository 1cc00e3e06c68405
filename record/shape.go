package record

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/stoatdb/stoat/internal/layout"
)

// shape is what a collection knows about the type of its records: columns, key and indexes. It is
// immutable.
type shape struct {
	typ     reflect.Type
	layout  *layout.Layout // nil if the codec has no schemas
	columns []column
	key     []*column // empty if a function returns the key
	auto    *column   // the key, if the collection assigns it; or nil
	indexes []*index
	expires *column // the time at which a record expires; or nil
	expiry  *index  // the index of expires alone
}

// newShape compiles a type for a codec. The indexes are those that tags do not create; keyed says
// that a function returns the keys.
func newShape(t reflect.Type, codec Codec, indexes []Index, keyed bool) (*shape, error) {
	s := &shape{typ: t}
	fields, err := s.describe(codec)
	if err != nil {
		return nil, err
	}
	for i, f := range fields {
		s.columns = append(s.columns, newColumn(f, i))
	}
	for i, f := range fields {
		for _, option := range f.Options {
			if err := s.option(&s.columns[i], option, keyed); err != nil {
				return nil, err
			}
		}
	}
	if len(fields) == 0 {
		return nil, fmt.Errorf("type %s has no fields to store", t)
	}
	if err := s.checkKey(keyed); err != nil {
		return nil, err
	}
	for _, x := range indexes {
		if err := s.addIndex(x); err != nil {
			return nil, err
		}
	}
	return s, s.addExpiry()
}

// addExpiry finds the index on the expiry time, or adds it.
func (s *shape) addExpiry() error {
	if s.expires == nil {
		return nil
	}
	at := slices.IndexFunc(s.indexes, func(x *index) bool {
		return len(x.columns) == 1 && x.columns[0] == s.expires
	})
	if at < 0 {
		at = len(s.indexes)
		if err := s.addIndex(Index{Name: s.expires.name, Fields: []string{s.expires.name}}); err != nil {
			return err
		}
	}
	s.expiry = s.indexes[at]
	return nil
}

// describe returns the fields of the type. With CodecBinary, every field must have a supported
// type.
func (s *shape) describe(codec Codec) ([]layout.Info, error) {
	if codec != CodecBinary {
		return layout.Describe(s.typ)
	}
	l, err := layout.Of(s.typ)
	if err != nil {
		if _, other := layout.Describe(s.typ); other == nil {
			err = fmt.Errorf("%w, or store records with CodecJSON or CodecGob", err)
		}
		return nil, err
	}
	s.layout = l
	return l.Fields(), nil
}

// checkKey returns an error if the tags do not define a valid key.
func (s *shape) checkKey(keyed bool) error {
	switch {
	case len(s.key) == 0 && !keyed:
		return fmt.Errorf("type %s has no key: give a field the tag `stoat:\"%s,key\"`, or set "+
			"Options.Key", s.typ, s.columns[0].name)
	case s.auto != nil && !slices.Contains(s.key, s.auto):
		return fmt.Errorf("field %s has the tag option auto but is not the key: give it the option key "+
			"as well", s.auto.name)
	case s.auto != nil && len(s.key) > 1:
		return fmt.Errorf("field %s has the tag option auto, but the key is %s: only a key of a single "+
			"field can be assigned", s.auto.name, names(s.key))
	}
	return nil
}

// option applies a tag option to a column.
func (s *shape) option(c *column, option string, keyed bool) error {
	switch option {
	case "key":
		if keyed {
			return fmt.Errorf("field %s has the tag option key, and Options.Key is set: use only one of "+
				"them", c.name)
		}
		if !c.plain() {
			return fmt.Errorf("field %s has the type %s: keys must be bools, numbers, strings, bytes, "+
				"times or UUIDs", c.name, c.typ)
		}
		s.key = append(s.key, c)
		return nil
	case "auto":
		if !c.plain() || !integral(c.kind) {
			return fmt.Errorf("field %s has the tag option auto and the type %s: assigned keys must be "+
				"integers", c.name, c.typ)
		}
		if s.auto != nil {
			return fmt.Errorf("the fields %s and %s have the tag option auto: only one can be the key",
				s.auto.name, c.name)
		}
		s.auto = c
		return nil
	case "expires":
		if c.typ != reflect.TypeFor[time.Time]() {
			return fmt.Errorf("field %s has the tag option expires and the type %s: the type must be "+
				"time.Time", c.name, c.typ)
		}
		if s.expires != nil {
			return fmt.Errorf("the fields %s and %s have the tag option expires: only one can have it",
				s.expires.name, c.name)
		}
		s.expires = c
		return nil
	case "index", "unique":
		return s.addIndex(Index{Name: c.name, Fields: []string{c.name}, Unique: option == "unique"})
	}
	if strings.HasPrefix(option, "merge=") {
		return nil // for package replica
	}
	return fmt.Errorf("field %s has the unknown tag option %q: use key, auto, index, unique, "+
		"expires, merge= or was=", c.name, option)
}

// addIndex compiles an index.
func (s *shape) addIndex(def Index) error {
	if def.Name == "" || len(def.Fields) == 0 {
		return errors.New("an index needs a name and fields")
	}
	if s.indexNamed(def.Name) != nil {
		return fmt.Errorf("two indexes have the name %q: rename one of them", def.Name)
	}
	x := &index{Index: def, number: len(s.indexes), list: -1, plain: true}
	x.Fields = slices.Clone(def.Fields)
	for i, name := range def.Fields {
		c, err := s.column(name)
		if err != nil {
			return fmt.Errorf("index %s: %w", def.Name, err)
		}
		switch {
		case !c.ordered():
			return fmt.Errorf("index %s: field %s has the type %s: indexed fields must be bools, numbers, "+
				"strings, bytes, times, UUIDs, or lists of or pointers to them", def.Name, name, c.typ)
		case def.Unique && c.optional:
			return fmt.Errorf("index %s: field %s has the type %s: a unique index cannot have pointers",
				def.Name, name, c.typ)
		case c.list && x.list >= 0:
			return fmt.Errorf("index %s: %s and %s are lists: only one field of an index can be a list",
				def.Name, def.Fields[x.list], name)
		case slices.Contains(x.columns, c):
			return fmt.Errorf("index %s has the field %s twice", def.Name, name)
		case c.list:
			x.list = i
		}
		x.columns = append(x.columns, c)
		x.plain = x.plain && c.plain()
	}
	s.indexes = append(s.indexes, x)
	return nil
}

// column returns the column with the given name.
func (s *shape) column(name string) (*column, error) {
	for i := range s.columns {
		if s.columns[i].name == name {
			return &s.columns[i], nil
		}
	}
	var known []string
	for i := range s.columns {
		known = append(known, s.columns[i].name)
	}
	what := "the collection"
	if s.typ != nil && s.typ.Name() != "" {
		what = fmt.Sprintf("type %s", s.typ)
	}
	if len(known) == 0 {
		return nil, fmt.Errorf("%s has no field %q that can be read without the Go type", what, name)
	}
	return nil, fmt.Errorf("%s has no field %q; it has %s", what, name, strings.Join(known, ", "))
}

// sortColumn returns the column with the given name, by which records can be sorted.
func (s *shape) sortColumn(name string) (*column, error) {
	c, err := s.column(name)
	if err == nil && (!c.ordered() || c.list) {
		err = fmt.Errorf("field %s has the type %s, which has no order", name, c.typ)
	}
	return c, err
}

// indexNamed returns the index with the given name, or nil.
func (s *shape) indexNamed(name string) *index {
	for _, x := range s.indexes {
		if x.Name == name {
			return x
		}
	}
	return nil
}
