package ask

import (
	"fmt"
	"time"

	"github.com/stoatdb/stoat/record"
)

// Bounds of a query.
const (
	textMost  = 16 << 10 // bytes
	depthMost = 50       // of parentheses and nots
)

// Query is a parsed query. It is immutable.
type Query struct {
	where []record.Predicate
	order []string // nil: any; empty: by key
	desc  bool
	limit int
}

// Error says what is wrong with the text of a query, and where.
type Error struct {
	Column int // of the character, from 1
	Text   string
}

// Error returns the column and the text.
func (e *Error) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.Text) }

// Parse parses a query on records with the fields, at the time now. An error is an [*Error].
func Parse(text string, fields []record.StoredField, now time.Time) (*Query, error) {
	if len(text) > textMost {
		return nil, &Error{1, fmt.Sprintf("the query has %d bytes: use at most %d", len(text), textMost)}
	}
	tokens, err := scan(text)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens, fields: map[string]column{}, now: now}
	for _, f := range fields {
		p.fields[f.Name] = columnOf(f)
		p.names = append(p.names, f.Name)
	}
	return p.query()
}

// Of returns the query of a collection, without the limit. A query that states no order has any
// order that pages can have.
func (q *Query) Of(s *record.Stored) record.Query[record.Row] {
	all := s.Query().Where(q.where...)
	if q.order == nil {
		return all.AnyOrder()
	}
	if all = all.OrderBy(q.order...); q.desc {
		all = all.Desc()
	}
	return all
}

// Limit returns how many records the query wants; 0 means all.
func (q *Query) Limit() int { return q.limit }
