package layout

import (
	"fmt"
	"reflect"
	"slices"
)

// candidate is a member that another one may hide.
type candidate struct {
	member
	field reflect.StructField
	named bool // the name comes from the tag
}

// members compiles the fields of a struct. Fields of embedded structs count as its own. A field
// hides more deeply embedded fields of the same name and, if its name comes from a tag, those at
// the same depth whose name does not.
func (c *compiler) members(t reflect.Type, path string, depth int) ([]member, error) {
	if slices.Contains(c.open, t) {
		return nil, fieldError(path[:max(len(path)-1, 0)], t, "it contains itself")
	}
	c.open = append(c.open, t)
	defer func() { c.open = c.open[:len(c.open)-1] }()
	all, err := c.gather(nil, t, path, place{})
	if err != nil {
		return nil, err
	}
	var members []member
	for i := range all {
		m := &all[i]
		hidden, err := m.hidden(all, path)
		if err != nil {
			return nil, err
		}
		if hidden {
			continue
		}
		m.val, err = c.value(m.field.Type, path+m.name, depth+1)
		if err != nil && c.lenient {
			m.val, err = &value{typ: m.field.Type}, nil
		}
		if err != nil {
			return nil, err
		}
		members = append(members, m.member)
	}
	if len(members) == 0 && t.NumField() > 0 {
		return nil, fieldError(path[:max(len(path)-1, 0)], t, `it has no exported fields: give it `+
			`MarshalBinary and UnmarshalBinary methods, or the tag stoat:"-"`)
	}
	return members, nil
}

// gather appends the fields of t, which is at a place, including those of embedded structs.
func (c *compiler) gather(
	all []candidate, t reflect.Type, path string, in place,
) ([]candidate, error) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, err := parseTag(f)
		if err != nil {
			return nil, fmt.Errorf("field %s%s: %w", path, f.Name, err)
		}
		at := in.inner(place{f.Offset, f.Index})
		kind, _ := plainKind(f.Type)
		switch {
		case tag.skip:
			continue
		case f.Anonymous && tag.name == "" && kind == 0 && f.Type.Kind() == reflect.Struct:
			if all, err = c.gather(all, f.Type, path, at); err != nil {
				return nil, err
			}
			continue
		case f.Anonymous && tag.name == "" && f.Type.Kind() == reflect.Pointer && !c.lenient:
			return nil, fieldError(path+f.Name, f.Type,
				"embed the struct itself, or give the field a name")
		case !f.IsExported():
			if _, tagged := f.Tag.Lookup("stoat"); tagged {
				return nil, fmt.Errorf("field %s%s has a tag but is not exported: export it, or "+
					`tag it stoat:"-"`, path, f.Name)
			}
			continue
		}
		named := tag.name != ""
		if !named {
			tag.name = f.Name
			if !validName(tag.name) {
				return nil, fieldError(path+f.Name, f.Type, "give it a name in a tag")
			}
		}
		all = append(all, candidate{member{tag, at, nil}, f, named})
	}
	return all, nil
}

// hidden reports whether another candidate hides this one.
func (m *candidate) hidden(all []candidate, path string) (bool, error) {
	rivals := 0
	for i := range all {
		other := &all[i]
		if other == m || other.name != m.name {
			continue
		}
		switch {
		case len(other.index) < len(m.index),
			len(other.index) == len(m.index) && other.named && !m.named:
			return true, nil
		case len(other.index) == len(m.index) && other.named == m.named:
			rivals++
		}
	}
	if rivals > 0 {
		return false, fmt.Errorf("field %s%s: %d fields have this name: give them different names "+
			"in their tags", path, m.name, 1+rivals)
	}
	return false, nil
}
