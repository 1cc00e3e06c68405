package ask

import (
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// test parses a condition on one field, and negates it if not is true.
func (p *parser) test(not bool) (record.Predicate, error) {
	at := p.peek().column
	c, err := p.field()
	switch {
	case err != nil:
		return record.Predicate{}, err
	case !c.scalar():
		return record.Predicate{}, &Error{at, fmt.Sprintf("%s has type %s, which cannot be compared",
			c.name, c.typ)}
	case c.list:
		return p.has(&c, not)
	}
	if p.skip("not") {
		if t := p.peek(); !t.is("in") && !t.is("starts") {
			return record.Predicate{}, p.expected("in or starts with")
		}
		not = !not
	}
	switch {
	case p.skip("between"):
		return p.between(&c, not)
	case p.skip("in"):
		return p.in(&c, not)
	case p.skip("starts"):
		return p.startsWith(&c, not)
	case p.skip("is"):
		return p.isNull(&c, not)
	}
	return p.compare(&c, not)
}

// has parses a test of a list.
func (p *parser) has(c *column, not bool) (record.Predicate, error) {
	t := p.peek()
	if err := p.want("has", fmt.Sprintf(", as %s is a list", c.name)); err != nil {
		return record.Predicate{}, err
	}
	if not {
		return record.Predicate{}, &Error{t.column, "has cannot be negated: no plan finds what a list " +
			"lacks"}
	}
	v, err := p.literal(c)
	return record.Has(c.name, v), err
}

// orNil returns the opposite of a predicate that a nil pointer does not satisfy, without nil, with
// it.
func orNil(c *column, opposite record.Predicate) record.Predicate {
	if !c.optional {
		return opposite
	}
	return record.Or(opposite, record.Eq(c.name, nil))
}

// comparisons are the operators and their opposites. It is immutable.
var comparisons = map[string]string{"=": "≠", "≠": "=", "<": "≥", "≥": "<", ">": "≤", "≤": ">"}

// compare parses a comparison, or a bool by itself.
func (p *parser) compare(c *column, not bool) (record.Predicate, error) {
	operator := p.peek().text
	switch operator {
	case "==":
		operator = "="
	case "!=", "<>":
		operator = "≠"
	case "<=":
		operator = "≤"
	case ">=":
		operator = "≥"
	}
	if p.peek().kind != symbol || comparisons[operator] == "" {
		if c.kind == "bool" && !c.optional {
			return record.Eq(c.name, !not), nil
		}
		return record.Predicate{}, p.expected("a comparison of " + c.name)
	}
	p.take()
	at := p.peek()
	v, err := p.literal(c)
	if err != nil {
		return record.Predicate{}, err
	}
	if v == nil && operator != "=" && operator != "≠" {
		return record.Predicate{}, &Error{at.column, "null has no order: write = or ≠"}
	}
	return compared(c, operator, v, not), nil
}

// compared returns the predicate of a comparison, or its opposite.
func compared(c *column, operator string, v record.Value, not bool) record.Predicate {
	if not {
		operator = comparisons[operator]
	}
	var p record.Predicate
	switch operator {
	case "=":
		return record.Eq(c.name, v)
	case "≠":
		return record.Ne(c.name, v)
	case "<":
		p = record.Lt(c.name, v)
	case "≤":
		p = record.Le(c.name, v)
	case ">":
		p = record.Gt(c.name, v)
	default:
		p = record.Ge(c.name, v)
	}
	if not {
		p = orNil(c, p)
	}
	return p
}

// between parses the bounds of a range.
func (p *parser) between(c *column, not bool) (record.Predicate, error) {
	low, err := p.bound(c)
	if err == nil {
		err = p.want("and", " between the bounds")
	}
	if err != nil {
		return record.Predicate{}, err
	}
	high, err := p.bound(c)
	if err != nil {
		return record.Predicate{}, err
	}
	if not {
		return orNil(c, record.Or(record.Lt(c.name, low), record.Gt(c.name, high))), nil
	}
	return record.Between(c.name, low, high), nil
}

// bound parses a bound of a range.
func (p *parser) bound(c *column) (record.Value, error) {
	t := p.peek()
	v, err := p.literal(c)
	if err == nil && v == nil {
		err = &Error{t.column, "null has no order: it cannot be a bound"}
	}
	return v, err
}

// in parses a list of values.
func (p *parser) in(c *column, not bool) (record.Predicate, error) {
	if err := p.want("(", " before the values"); err != nil {
		return record.Predicate{}, err
	}
	var values []record.Value
	var others []record.Predicate
	for {
		v, err := p.literal(c)
		if err != nil {
			return record.Predicate{}, err
		}
		values, others = append(values, v), append(others, record.Ne(c.name, v))
		if !p.skip(",") {
			break
		}
	}
	if err := p.want(")", " or a comma"); err != nil {
		return record.Predicate{}, err
	}
	if not {
		return record.And(others...), nil
	}
	return record.In(c.name, values...), nil
}

// startsWith parses the start of a text.
func (p *parser) startsWith(c *column, not bool) (record.Predicate, error) {
	if err := p.want("with", ""); err != nil {
		return record.Predicate{}, err
	}
	t := p.take()
	if c.kind != "string" {
		return record.Predicate{}, &Error{t.column, fmt.Sprintf("%s has type %s: starts with is for "+
			"strings", c.name, c.typ)}
	}
	if t.kind != quoted {
		return record.Predicate{}, &Error{t.column, "write the text in quotes, not " + t.String()}
	}
	if !not {
		return record.HasPrefix(c.name, t.text), nil
	}
	outside := []record.Predicate{record.Lt(c.name, t.text)}
	if end := stoat.Prefix([]byte(t.text)).End; end != nil {
		outside = append(outside, record.Ge(c.name, string(end)))
	}
	return orNil(c, record.Or(outside...)), nil
}

// isNull parses a test of a pointer.
func (p *parser) isNull(c *column, not bool) (record.Predicate, error) {
	if p.skip("not") {
		not = !not
	}
	t := p.peek()
	if err := p.want("null", ""); err != nil {
		return record.Predicate{}, err
	}
	if !c.optional {
		return record.Predicate{}, &Error{t.column, fmt.Sprintf("%s has type %s, which is never null",
			c.name, c.typ)}
	}
	if not {
		return record.Ne(c.name, nil), nil
	}
	return record.Eq(c.name, nil), nil
}
