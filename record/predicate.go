package record

import (
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/internal/layout"
)

// Predicate is a condition on fields of a record, for [Query.Where]. Whether the field exists and
// can be compared with the values is checked when the query runs.
type Predicate struct {
	op     op
	field  string
	values []Value
	parts  []Predicate
}

// op is the operation of a predicate.
type op uint8

const (
	opEq op = iota + 1
	opNe
	opLt
	opLe
	opGt
	opGe
	opBetween
	opIn
	opHas
	opHasPrefix
	opOr
	opAnd
	opNotNil
	opNotExpired
)

// Eq holds if the field is v; a pointer field may be compared with nil.
func Eq(field string, v Value) Predicate { return one(opEq, field, v) }

// Ne holds if the field is not v.
func Ne(field string, v Value) Predicate { return one(opNe, field, v) }

// Lt holds if the field is less than v and not nil.
func Lt(field string, v Value) Predicate { return one(opLt, field, v) }

// Le holds if the field is less than or equal to v and not nil.
func Le(field string, v Value) Predicate { return one(opLe, field, v) }

// Gt holds if the field is greater than v.
func Gt(field string, v Value) Predicate { return one(opGt, field, v) }

// Ge holds if the field is greater than or equal to v.
func Ge(field string, v Value) Predicate { return one(opGe, field, v) }

// Between holds if low ≤ field ≤ high.
func Between(field string, low, high Value) Predicate {
	return Predicate{op: opBetween, field: field, values: []Value{low, high}}
}

// In holds if the field is one of the values.
func In(field string, values ...Value) Predicate {
	return Predicate{op: opIn, field: field, values: values}
}

// Has holds if the field is a list that contains v.
func Has(field string, v Value) Predicate { return one(opHas, field, v) }

// HasPrefix holds if the field is a string that begins with prefix.
func HasPrefix(field, prefix string) Predicate { return one(opHasPrefix, field, prefix) }

// Or holds if at least one of the predicates holds.
func Or(predicates ...Predicate) Predicate { return Predicate{op: opOr, parts: predicates} }

// And holds if all of the predicates hold.
func And(predicates ...Predicate) Predicate { return Predicate{op: opAnd, parts: predicates} }

func one(op op, field string, v Value) Predicate {
	return Predicate{op: op, field: field, values: []Value{v}}
}

// condition is a compiled predicate: either an element of the column is in one of the spans, or any
// or all of the parts hold. It is immutable.
type condition struct {
	column *column // nil: has parts
	spans  []span  // ascending, disjoint
	parts  []condition
	any    bool        // one of the parts is enough
	said   []Predicate // what it was compiled from; all must hold
}

// single reports whether the condition leaves its column one value.
func (c *condition) single() bool { return len(c.spans) == 1 && c.spans[0].point() }

// String returns the condition as text for Explain.
func (c *condition) String() string {
	text := ""
	for i, p := range c.said {
		if i > 0 {
			text += " and "
		}
		text += p.String()
	}
	return text
}

// compile compiles a predicate.
func (s *shape) compile(p Predicate) (condition, error) {
	if p.op == opOr || p.op == opAnd {
		return s.compileParts(p)
	}
	if p.op == 0 {
		return condition{}, errors.New("the predicate is empty: make it with Eq or another function")
	}
	c, err := s.column(p.field)
	switch {
	case err != nil:
		return condition{}, err
	case !c.ordered():
		return condition{}, fmt.Errorf("field %s has the type %s, which cannot be compared: use Filter",
			c.name, c.typ)
	case c.list && p.op != opHas:
		return condition{}, fmt.Errorf("field %s is a list: use Has or Filter", c.name)
	case !c.list && p.op == opHas:
		return condition{}, fmt.Errorf("field %s is not a list: use Eq", c.name)
	case p.op == opHasPrefix && c.kind != layout.String:
		return condition{}, fmt.Errorf("field %s has the type %s: HasPrefix is for strings",
			c.name, c.typ)
	}
	var values [][]byte
	for _, v := range p.values {
		encoded, err := c.appendArgument(nil, v)
		if err != nil {
			return condition{}, err
		}
		values = append(values, encoded)
	}
	return condition{column: c, spans: p.op.spans(c, values), said: []Predicate{p}}, nil
}

// spans returns the spans of the elements for which the operation holds.
func (o op) spans(c *column, v [][]byte) []span {
	switch o {
	case opNe:
		return []span{{nil, v[0]}, {successor(v[0]), nil}}
	case opLt:
		return []span{{c.least(), v[0]}}
	case opLe:
		return []span{{c.least(), successor(v[0])}}
	case opGt:
		return []span{{successor(v[0]), nil}}
	case opGe:
		return []span{{v[0], nil}}
	case opBetween:
		return intersect([]span{{v[0], successor(v[1])}}, []span{{c.least(), nil}})
	case opHasPrefix:
		text := v[0][:len(v[0])-1] // without the terminator
		return []span{{text, successor(text)}}
	}
	var points []span
	for _, p := range v {
		points = append(points, span{p, successor(p)})
	}
	return union(points)
}

// compileParts compiles an Or or an And. An Or of conditions on a single column becomes one
// condition.
func (s *shape) compileParts(p Predicate) (condition, error) {
	all := condition{any: p.op == opOr, said: []Predicate{p}}
	same := len(p.parts) > 0
	var spans []span
	for _, part := range p.parts {
		c, err := s.compile(part)
		if err != nil {
			return condition{}, err
		}
		all.parts = append(all.parts, c)
		same = same && c.column != nil && c.column == all.parts[0].column
		spans = append(spans, c.spans...)
	}
	if same && all.any {
		return condition{column: all.parts[0].column, spans: union(spans), said: all.said}, nil
	}
	return all, nil
}

// String returns the predicate as text for messages.
func (p Predicate) String() string {
	if p.op == opOr || p.op == opAnd {
		word, text := " and ", ""
		if p.op == opOr {
			word = " or "
		}
		for i, part := range p.parts {
			if i > 0 {
				text += word
			}
			text += part.String()
		}
		return "(" + text + ")"
	}
	v := make([]string, 0, 2)
	for _, value := range p.values {
		v = append(v, formatValue(value))
	}
	switch p.op {
	case opBetween:
		return fmt.Sprintf("%s between %s and %s", p.field, v[0], v[1])
	case opIn:
		return fmt.Sprintf("%s in %s", p.field, v)
	case opNotNil:
		return p.field + " not nil"
	case opNotExpired:
		return "that " + p.field + " has not passed"
	case 0:
		return "empty predicate"
	}
	return fmt.Sprintf("%s %s %s", p.field, p.op, v[0])
}

// String returns the operator as text for messages.
func (o op) String() string {
	switch o {
	case opEq:
		return "="
	case opNe:
		return "≠"
	case opLt:
		return "<"
	case opLe:
		return "≤"
	case opGt:
		return ">"
	case opGe:
		return "≥"
	case opHas:
		return "has"
	}
	return "begins with"
}
