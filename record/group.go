package record

import (
	"bytes"
	"errors"
	"iter"
	"maps"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/tuple"
)

// Grouping is a query whose records are grouped by the values of some fields. Like a query, it is
// immutable.
type Grouping[T any] struct{ core grouping }

// grouping is a [Grouping] whose query knows the type of the records by their shape only.
type grouping struct {
	q   query
	by  []*column
	of  []*column
	err error
}

// Group is the records of a result that have the same values in the fields of a [Grouping].
type Group struct {
	Values tuple.Tuple // of the fields that the records are grouped by
	Count  uint64      // the number of records
	fields []aggregate
}

// aggregate is the sum and the extremes of a numeric field in a group.
type aggregate struct {
	name             string
	sum, least, most float64
}

// GroupBy groups the records of the result by the values of the fields:
//
//	for g, err := range orders.Query().GroupBy("city").Of("amount").All(tx) {
//		fmt.Println(g.Values[0], g.Count, g.Sum("amount"))
//	}
//
// The query must have neither a limit nor an offset.
func (q Query[T]) GroupBy(fields ...string) Grouping[T] {
	return Grouping[T]{q.core.groupBy(fields)}
}

func (q query) groupBy(fields []string) grouping {
	g := grouping{q: q, err: q.err}
	if g.err == nil && (!q.entire() || len(fields) == 0) {
		g.err = q.c.wrap(errors.New("group by: name fields, and group without Limit, Offset and After"))
	}
	for _, name := range fields {
		if g.err != nil {
			return g
		}
		c, err := q.c.shape.sortColumn(name)
		g.by, g.err = append(g.by, c), q.c.wrap(err)
	}
	return g
}

// Of names the numeric fields that each [Group] aggregates.
func (g Grouping[T]) Of(fields ...string) Grouping[T] { return Grouping[T]{g.core.with(fields)} }

func (g grouping) with(fields []string) grouping {
	g.of = slices.Clone(g.of)
	for _, name := range fields {
		if g.err != nil {
			return g
		}
		var c *column
		c, g.err = g.q.number(name)
		g.of = append(g.of, c)
	}
	return g
}

// All returns an iterator over the groups, ordered by their values. If the key or an index provides
// that order, it keeps one group in memory at a time, and otherwise all of them. An error ends the
// loop.
func (g Grouping[T]) All(tx *stoat.Tx) iter.Seq2[Group, error] { return g.core.all(tx) }

func (g grouping) all(tx *stoat.Tx) iter.Seq2[Group, error] {
	return func(yield func(Group, error) bool) {
		loop(yield, func(each func(Group) error) error {
			if g.err != nil {
				return g.err
			}
			g.q.order, g.q.reverse = g.by, false
			p, err := g.q.plan()
			if err != nil {
				return err
			}
			if p.sorted {
				return g.stream(tx, each)
			}
			return g.collect(tx, each)
		})
	}
}

// Distinct returns an iterator over the distinct values of the fields in the result, in order. It
// otherwise behaves like [Query.GroupBy].
func (q Query[T]) Distinct(tx *stoat.Tx, fields ...string) iter.Seq2[tuple.Tuple, error] {
	return q.core.distinct(tx, fields)
}

func (q query) distinct(tx *stoat.Tx, fields []string) iter.Seq2[tuple.Tuple, error] {
	return func(yield func(tuple.Tuple, error) bool) {
		for g, err := range q.groupBy(fields).all(tx) {
			if !yield(g.Values, err) {
				return
			}
		}
	}
}

// stream passes groups on as their records come one group after another.
func (g *grouping) stream(tx *stoat.Tx, each func(Group) error) error {
	var group *Group
	var current, next []byte
	ended := false
	err := g.q.exec(tx, g.needs(), func(i *item) error {
		var err error
		if next, err = g.appendValues(next[:0], i); err != nil {
			return err
		}
		if group == nil || !bytes.Equal(current, next) {
			if group != nil {
				if err := each(*group); err != nil {
					ended = true
					return err
				}
			}
			current, next = next, current
			if group, err = g.newGroup(current); err != nil {
				return err
			}
		}
		return group.add(g.of, i)
	})
	if err == nil && group != nil && !ended {
		err = each(*group)
	}
	return err
}

// collect passes groups on after it has read all records.
func (g *grouping) collect(tx *stoat.Tx, each func(Group) error) error {
	groups := map[string]*Group{}
	g.q.order = nil
	var values []byte
	err := g.q.exec(tx, g.needs(), func(i *item) error {
		var err error
		if values, err = g.appendValues(values[:0], i); err != nil {
			return err
		}
		group := groups[string(values)]
		if group == nil {
			if group, err = g.newGroup(values); err != nil {
				return err
			}
			groups[string(values)] = group
		}
		return group.add(g.of, i)
	})
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		if err := each(*groups[key]); err != nil {
			return err
		}
	}
	return nil
}

// needs returns what the groups read of the records.
func (g *grouping) needs() needs { return needs{columns: slices.Concat(g.by, g.of)} }

// appendValues appends the elements that identify the group of a record.
func (g *grouping) appendValues(dst []byte, i *item) ([]byte, error) {
	for _, c := range g.by {
		var err error
		if dst, err = i.appendElement(dst, c); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// newGroup returns an empty group with the given values.
func (g *grouping) newGroup(values []byte) (*Group, error) {
	group := &Group{fields: make([]aggregate, len(g.of))}
	for n, c := range g.of {
		group.fields[n].name = c.name
	}
	var err error
	group.Values, err = tuple.Decode(values)
	return group, err
}

// add adds a record to the group.
func (g *Group) add(of []*column, i *item) error {
	for n, c := range of {
		v, err := i.float(c)
		if err != nil {
			return err
		}
		f := &g.fields[n]
		if g.Count == 0 {
			f.least, f.most = v, v
		}
		f.sum, f.least, f.most = f.sum+v, min(f.least, v), max(f.most, v)
	}
	g.Count++
	return nil
}

// field returns the aggregate of a field, or zero if [Grouping.Of] does not name it.
func (g *Group) field(name string) aggregate {
	for _, f := range g.fields {
		if f.name == name {
			return f
		}
	}
	return aggregate{}
}

// Sum returns the sum of a field named by [Grouping.Of]. For any other field, Sum, Avg, Min and Max
// return 0.
func (g *Group) Sum(field string) float64 { return g.field(field).sum }

// Avg returns the average of a field.
func (g *Group) Avg(field string) float64 { return g.field(field).sum / float64(max(g.Count, 1)) }

// Min returns the least value of a field.
func (g *Group) Min(field string) float64 { return g.field(field).least }

// Max returns the greatest value of a field.
func (g *Group) Max(field string) float64 { return g.field(field).most }
