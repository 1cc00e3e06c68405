package layout

import (
	"fmt"
	"reflect"
	"time"
)

// Stored returns the field that records have under the name, with the type that it has there; the
// layout need not have it. It can be read, not replaced. Only fields that are values without parts
// have methods to read them.
func (p *Plan) Stored(name string) (*Field, error) {
	at, vars := len(p.head), 0
	for _, s := range p.stored.Fields {
		f := &Field{name: name, class: classOf(s.Type.Kind), from: s.Type.Kind, at: at, end: p.fixed,
			head: p.head, fixed: p.fixed, vars: p.vars,
			val: &value{typ: plainType(s.Type.Kind), kind: s.Type.Kind}}
		if !s.Type.Kind.fixed() {
			f.at = vars
			vars++
		}
		if s.Name == name {
			return f, nil
		}
		at += s.Type.Kind.size()
	}
	return nil, fmt.Errorf("records of schema %d have no field %q", p.stored.Number, name)
}

// plainType returns a Go type of the kind, for messages.
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
