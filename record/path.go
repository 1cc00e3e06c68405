package record

import "slices"

// rangesMax is the number of ranges that a path may have because several columns have several
// values each: beyond that, the values of the last columns are checked one by one.
const rangesMax = 1000

// path is a way to the records of a query: ranges of the primary keys, or of an index. It is
// immutable.
type path struct {
	index   *index // nil: the records themselves
	columns []*column
	ranges  []span      // ascending, without overlaps
	rest    []condition // what the ranges do not guarantee
	used    []condition // what they do
	exact   bool        // each range is at most one record: all its columns have values
	single  int         // so many of the first columns have one value
	sorted  bool        // the order is the one that is asked for
	score   int
}

// choose returns the best path to the records for which all conditions hold; if paged is true, the
// best of those that are sorted, if any is.
func (s *shape) choose(where []condition, order []*column, paged bool) path {
	best := s.path(nil, s.key, where, order)
	for _, x := range s.indexes {
		p := s.path(x, x.columns, where, order)
		if x.list >= 0 && !slices.Contains(p.usedColumns(), x.columns[x.list]) {
			continue // a record has many entries, or none
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

// usedColumns returns the columns of the conditions that the ranges guarantee.
func (p *path) usedColumns() []*column {
	var all []*column
	for i := range p.used {
		all = append(all, p.used[i].column)
	}
	return all
}

// path returns the path over an index with the columns, or over the records.
func (s *shape) path(x *index, columns []*column, where []condition, order []*column) path {
	p := path{index: x, columns: columns, ranges: []span{{}}, rest: slices.Clone(where)}
	points := true
	depth := 0
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
	p.sorted = p.gives(order, where, s.key)
	p.rate(order != nil)
	return p
}

// extend makes each range a range for each span of the condition on the next column.
func (p *path) extend(c condition, points bool) {
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
			p.score -= 2 // open at an end: it has more records
			return
		}
	}
}

// rate completes the score: the higher, the fewer records are read.
func (p *path) rate(ordered bool) {
	if p.exact {
		p.score += 1000
	}
	if p.sorted && ordered {
		p.score += 2
	}
	if p.index == nil {
		p.score++ // no lookups
	}
}

// gives reports whether the path yields records in the order of the columns and then of the key.
func (p *path) gives(order []*column, where []condition, key []*column) bool {
	wanted := slices.DeleteFunc(slices.Clone(order), func(c *column) bool {
		return slices.ContainsFunc(where, func(w condition) bool {
			return w.column == c && len(w.spans) == 1 && w.spans[0].point()
		})
	})
	given := p.columns[min(p.single, len(p.columns)):]
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

// begins reports whether the list begins with the others.
func begins(list, others []*column) bool {
	return len(others) <= len(list) && slices.Equal(list[:len(others)], others)
}
