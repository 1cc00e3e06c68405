package ask

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stoatdb/stoat/record"
)

// parser turns tokens into a query. The grammar is in the package comment.
type parser struct {
	tokens []token
	at     int
	depth  int
	fields map[string]column
	names  []string // of the fields, in order
	now    time.Time
}

// peek returns the next token.
func (p *parser) peek() token { return p.tokens[p.at] }

// take returns the next token and goes on.
func (p *parser) take() token {
	t := p.tokens[p.at]
	if t.kind != end {
		p.at++
	}
	return t
}

// skip goes on if the next tokens are these.
func (p *parser) skip(texts ...string) bool {
	for i, text := range texts {
		if p.at+i >= len(p.tokens) || !p.tokens[p.at+i].is(text) {
			return false
		}
	}
	p.at += len(texts)
	return true
}

// want is skip for what must come.
func (p *parser) want(text, why string) error {
	if p.skip(text) {
		return nil
	}
	return p.expected(text + why)
}

// expected returns the error of a token that is not what must come.
func (p *parser) expected(what string) error {
	return &Error{p.peek().column, fmt.Sprintf("there should be %s, not %s", what, p.peek())}
}

// query parses all.
func (p *parser) query() (*Query, error) {
	q := &Query{}
	if !p.ends() {
		where, err := p.condition(false)
		if err != nil {
			return nil, err
		}
		q.where = []record.Predicate{where}
	}
	if p.skip("order", "by") {
		if err := p.order(q); err != nil {
			return nil, err
		}
	}
	if p.skip("limit") {
		t := p.take()
		n, err := strconv.Atoi(t.text)
		if t.kind != number || err != nil || n < 1 {
			return nil, &Error{t.column, "limit takes a number from 1 on, not " + t.String()}
		}
		q.limit = n
	}
	if p.peek().kind != end {
		return nil, p.expected("and, or, order by, limit or the end")
	}
	return q, nil
}

// ends reports whether the condition is over before it begins.
func (p *parser) ends() bool {
	if t := p.peek(); t.kind == end {
		return true
	}
	next := p.tokens[p.at+1]
	return p.peek().is("order") && next.is("by") || p.peek().is("limit") && next.kind == number
}

// condition parses a condition, and negates it if not is true.
func (p *parser) condition(not bool) (record.Predicate, error) {
	return p.parts("or", not, func() (record.Predicate, error) {
		return p.parts("and", not, func() (record.Predicate, error) { return p.factor(not) })
	})
}

// parts parses what words join.
func (p *parser) parts(
	join string, not bool, part func() (record.Predicate, error),
) (record.Predicate, error) {
	var all []record.Predicate
	for {
		one, err := part()
		if err != nil {
			return one, err
		}
		if all = append(all, one); !p.skip(join) {
			break
		}
	}
	switch {
	case len(all) == 1:
		return all[0], nil
	case (join == "or") != not:
		return record.Or(all...), nil
	}
	return record.And(all...), nil
}

// factor parses a test, or a condition in parentheses.
func (p *parser) factor(not bool) (record.Predicate, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > depthMost {
		return record.Predicate{}, &Error{p.peek().column,
			fmt.Sprintf("conditions are at most %d deep", depthMost)}
	}
	if p.skip("not") {
		return p.factor(!not)
	}
	if !p.skip("(") {
		return p.test(not)
	}
	c, err := p.condition(not)
	if err == nil {
		err = p.want(")", " or and, or")
	}
	return c, err
}

// field parses the name of a field.
func (p *parser) field() (column, error) {
	t := p.take()
	if t.kind != word && t.kind != name {
		return column{}, &Error{t.column, fmt.Sprintf("there should be a field, not %s", t)}
	}
	c, ok := p.fields[t.text]
	if ok {
		return c, nil
	}
	known := slices.Clone(p.names)
	if len(known) > 20 {
		known = append(known[:20], "…")
	}
	text := fmt.Sprintf("there is no field %s; there are %s", t, strings.Join(known, ", "))
	if len(known) == 0 {
		text = fmt.Sprintf("there is no field %s that can be read without the Go type", t)
	}
	return c, &Error{t.column, text}
}

// order parses what follows order by.
func (p *parser) order(q *Query) error {
	q.order = []string{}
	if _, taken := p.fields["key"]; !taken && p.skip("key") {
		q.desc = p.way()
		return nil
	}
	for {
		at := p.peek().column
		c, err := p.field()
		if err != nil {
			return err
		}
		if c.list || !c.scalar() {
			return &Error{at, fmt.Sprintf("%s has type %s, which has no order", c.name, c.typ)}
		}
		way := p.peek()
		desc := p.way()
		if len(q.order) > 0 && desc != q.desc {
			return &Error{way.column, "all fields must have the same order: ascending or descending"}
		}
		if q.desc = desc; slices.Contains(q.order, c.name) {
			return &Error{at, c.name + " is there already"}
		}
		if q.order = append(q.order, c.name); !p.skip(",") {
			return nil
		}
	}
}

// way parses a direction and reports whether it is descending.
func (p *parser) way() (desc bool) { return !p.skip("asc") && p.skip("desc") }
