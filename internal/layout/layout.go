package layout

import (
	"encoding/binary"
	"fmt"
	"reflect"
)

// Layout is a compiled struct type, whose values it encodes. It is immutable and safe for
// concurrent use.
type Layout struct {
	typ    reflect.Type
	number uint64
	head   []byte // the schema number, with which encodings begin
	fields []leaf
	fixed  int // size of all fixed fields
	ops    []fixedOp
	vars   []varOp
	plain  bool // all variable fields are strings or bytes
}

// leaf is a field of a layout.
type leaf struct {
	Info
	off uintptr // of the Go field in the layout's type, in bytes
	val *value
}

// Info describes a field of a layout.
type Info struct {
	Name    string       // includes the names of enclosing structs, as in "address.city"
	Options []string     // from the tag, without the name and former names; read-only
	Type    reflect.Type // of the Go field
	Index   []int        // of the Go field, for reflect.Value.FieldByIndex; read-only
	Was     []string     // names that it may have in older schemas; read-only
	Stored  *Type        // its stored type; the kind is 0 if it cannot be stored
}

// fixedOp copies a fixed field from memory to the encoding, or back.
type fixedOp struct {
	mem memory
	off uintptr // in the struct
	at  int     // relative to the fixed fields of the encoding
}

// varOp appends a variable field.
type varOp struct {
	off uintptr // in the struct
	val *value
}

// Of compiles a struct type. If a field cannot be stored, the error names it.
func Of(t reflect.Type) (*Layout, error) {
	l, err := compile(&compiler{}, t)
	if err != nil {
		return nil, err
	}
	l.arrange()
	return l, nil
}

// arrange assigns the fields to their places in the encoding.
func (l *Layout) arrange() {
	l.plain = true
	for _, f := range l.fields {
		if f.val.kind.fixed() {
			l.ops = append(l.ops, fixedOp{f.val.mem, f.off, l.fixed})
			l.fixed += f.val.kind.size()
			continue
		}
		l.vars = append(l.vars, varOp{f.off, f.val})
		l.plain = l.plain && f.val.kind.text()
	}
}

// Describe describes the fields of a struct type that is stored in another way: it may have fields
// that a layout cannot encode.
func Describe(t reflect.Type) ([]Info, error) {
	l, err := compile(&compiler{lenient: true}, t)
	if err != nil {
		return nil, err
	}
	return l.Fields(), nil
}

// compile returns a layout with only the fields of a struct type.
func compile(c *compiler, t reflect.Type) (*Layout, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("type %s is not a struct: use a struct", t)
	}
	l := &Layout{typ: t, head: []byte{0}}
	members, err := c.members(t, "", 0)
	if err == nil {
		err = l.flatten(members, []string{""}, place{})
	}
	if err != nil {
		return nil, fmt.Errorf("type %s: %w", t, err)
	}
	return l, nil
}

// flatten adds the members of a struct at a place as fields, including those of nested structs.
// Prefixes are what may precede their names: the current prefix first, then former ones.
func (l *Layout) flatten(members []member, prefixes []string, in place) error {
	for _, m := range members {
		var names []string
		for _, name := range append([]string{m.name}, m.was...) {
			for _, prefix := range prefixes {
				names = append(names, prefix+name)
			}
		}
		if m.val.kind != Struct {
			at := in.inner(m.place)
			info := Info{names[0], m.options, m.val.typ, at.index, names[1:], m.val.schema()}
			l.fields = append(l.fields, leaf{info, at.off, m.val})
			continue
		}
		if len(m.options) > 0 {
			return fmt.Errorf("field %s: the tag of a struct has the option %q: move it to a field of "+
				"the struct", names[0], m.options[0])
		}
		for i := range names {
			names[i] += "."
		}
		if err := l.flatten(m.val.members, names, in.inner(m.place)); err != nil {
			return err
		}
	}
	return nil
}

// Numbered returns the layout with the number of a stored schema; a new layout has number 0.
func (l *Layout) Numbered(number uint64) *Layout {
	numbered := *l
	numbered.number = number
	numbered.head = binary.AppendUvarint(nil, number)
	return &numbered
}

// Schema returns the schema of the layout's encodings.
func (l *Layout) Schema() *Schema {
	s := &Schema{Number: l.number}
	for _, f := range l.fields {
		s.Fields = append(s.Fields, Named{f.Name, f.Stored})
	}
	return s
}

// Type returns the struct type that was compiled.
func (l *Layout) Type() reflect.Type { return l.typ }

// Fields describes the fields, in the order of the schema.
func (l *Layout) Fields() []Info {
	var all []Info
	for _, f := range l.fields {
		all = append(all, f.Info)
	}
	return all
}
