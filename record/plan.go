package record

import "slices"

// rangesMax is the maximum number of ranges in a plan. Ranges multiply when several columns each
// have several values; beyond the limit, the last columns are checked record by record.
const rangesMax = 1000

// plan is how a query finds its records: ranges of the primary keys or of an index, and the
// conditions to check on each record found there. It is immutable.
type plan struct {
	index   *index      // nil: the primary keys
	columns []*column   // the columns of the index, or of the key
	ranges  []span      // ascending, disjoint
	rest    []condition // conditions to check on each record
	used    []condition // conditions that the ranges guarantee
	exact   bool        // each range holds at most one record, as all columns have values
	single  int         // the number of leading columns that have a single value
	sorted  bool        // records come in the order of the query
	score   int         // the higher, the fewer records are read
}

// choosePlan returns the best plan for the conditions; if paged is true, the best sorted one, if
// any is sorted.
func (s *shape) choosePlan(where []condition, order []*column, paged bool) plan {
	best := s.newPlan(nil, s.key, where, order)
	for _, x := range s.indexes {
		p := s.newPlan(x, x.columns, where, order)
		if x.list >= 0 && !p.uses(x.columns[x.list]) {
			continue // records without elements have no entry, and others have several
		}
		better := p.score > best.score
		if paged && p.sorted != best.sorted {
			better = p.sorted
		}
		if better {
			best = p
		}
	}
	return best
}

// uses reports whether the ranges guarantee a condition on the column.
func (p *plan) uses(c *column) bool {
	return slices.ContainsFunc(p.used, func(used condition) bool { return used.column == c })
}

// newPlan returns the plan that reads an index, or the primary keys if x is nil. It turns the
// conditions on leading columns into ranges, up to the first column without a condition or with
// more than single values.
func (s *shape) newPlan(x *index, columns []*column, where []condition, order []*column) plan {
	p := plan{index: x, columns: columns, ranges: []span{{}}, rest: slices.Clone(where)}
	points := true // all columns so far have only single values
	depth := 0     // the number of columns in the ranges
	for ; depth < len(columns) && points; depth++ {
		i := slices.IndexFunc(p.rest, func(c condition) bool { return c.column == columns[depth] })
		if i < 0 {
			break
		}
		c := p.rest[i]
		points = !slices.ContainsFunc(c.spans, func(s span) bool { return !s.point() })
		if c.column.list && (!points || len(c.spans) != 1) ||
			len(p.ranges) > 1 && len(p.ranges)*len(c.spans) > rangesMax {
			points = false
			break
		}
		p.extend(c, points)
		p.rest = slices.Delete(p.rest, i, i+1)
		p.used = append(p.used, c)
		if points && len(c.spans) == 1 && p.single == depth {
			p.single++
		}
	}
	p.exact = points && depth == len(columns) && depth > 0 && (x == nil || x.Unique)
	p.sorted = p.givesOrder(order, s.key)
	p.finishScore(order != nil)
	return p
}

// extend splits each range into one for each span of a condition on the next column. It scores the
// column by how narrow its spans are.
func (p *plan) extend(c condition, points bool) {
	var ranges []span
	for i := range p.ranges {
		for j := range c.spans {
			ranges = append(ranges, c.spans[j].within(p.ranges[i].low))
		}
	}
	p.ranges = ranges
	p.score += 10
	if points {
		return
	}
	p.score -= 5
	for _, s := range c.spans {
		if s.high == nil || len(s.low) <= 1 {
			p.score -= 2 // open at one end: more records
			return
		}
	}
}

// finishScore completes the score.
func (p *plan) finishScore(ordered bool) {
	if p.exact {
		p.score += 1000
	}
	if p.sorted && ordered {
		p.score += 2
	}
	if p.index == nil {
		p.score++ // no lookup for each entry
	}
}

// givesOrder reports whether the plan yields records in the given order, and then by key. Columns
// with a single value do not matter for the order.
func (p *plan) givesOrder(order, key []*column) bool {
	isFixed := func(c *column) bool { return p.fixed(c) != nil }
	wanted := slices.DeleteFunc(slices.Clone(order), isFixed)
	given := p.columns[min(p.single, len(p.columns)):]
	if p.index != nil {
		given = slices.DeleteFunc(slices.Clone(given), isFixed)
	}
	switch {
	case p.index == nil:
		return begins(given, wanted)
	case order == nil:
		return true
	case !begins(wanted, given):
		return false
	}
	return p.index.Unique || begins(key, wanted[len(given):])
}

// fixed returns the element of a column that has a single value in the result, or nil. A list has
// one if the ranges guarantee it: what lies in them are entries of that element.
func (p *plan) fixed(c *column) []byte {
	for _, w := range p.used {
		if w.column == c && w.single() {
			return w.spans[0].low
		}
	}
	for _, w := range p.rest {
		if w.column == c && !c.list && w.single() {
			return w.spans[0].low
		}
	}
	return nil
}

// begins reports whether the list begins with the others.
func begins(list, others []*column) bool {
	return len(others) <= len(list) && slices.Equal(list[:len(others)], others)
}
