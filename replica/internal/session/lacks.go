package session

import (
	"cmp"
	"slices"
)

// A sink that has compared the ends of a source knows what the source lacks, too: ends of its own
// that are not in ranges where both are equal. It lists these, instead of comparing once more.

// leavesMax is the most ranges, and leafMax the most logs in them, that are remembered. Beyond
// that, this side compares as a source, too.
const (
	leavesMax = 1 << 12
	leafMax   = 1 << 13
)

// lacks is where a sink finds what the source lacks. Of the goroutine that merges.
type lacks struct {
	tail    bound                     // behind all ranges: from there on, the source lists all
	leaves  []part                    // ranges that differ, of which the source lists all
	awaited uint64                    // ends in them that it has not listed yet
	listed  map[[prefixSize]byte]bool // in leaves; the source has less of those set
	lost    bool                      // there was no room for all of that
}

// found is what the peer lacks, and was not told.
type found struct {
	heads    []Head
	position Position // up to which it was looked for
}

// expect notes a range whose ends the source will list.
func (l *lacks) expect(p part) {
	if len(l.leaves) == leavesMax {
		l.lost = true
		return
	}
	l.leaves = append(l.leaves, p)
	l.awaited += p.count
}

// note notes ends that the source lists since ranges were opened.
func (l *lacks) note(heads []Head, less []bool) {
	if l.awaited -= min(l.awaited, uint64(len(heads))); len(l.listed)+len(heads) > leafMax {
		l.lost = true
		return
	}
	if l.listed == nil {
		l.listed = map[[prefixSize]byte]bool{}
	}
	for i := range heads {
		l.listed[heads[i].Log] = less[i]
	}
}

// conclude gives the writer what the source lacks, once everything was compared.
func (s *Session) conclude() {
	c := &s.sink.compared
	if !c.over || c.ends == nil || c.lacks.awaited > 0 {
		return
	}
	if !c.lacks.lost && len(c.listed) <= listedMax {
		f := found{position: c.ends.Position}
		for i := range c.unequal() {
			e := &c.ends.All[i]
			if less, listed := c.isLess(e); less || !listed || e.Cut {
				f.heads = append(f.heads, e.Head)
			}
		}
		s.mu.Lock()
		s.source.found = &f
		s.wakeLocked()
		s.mu.Unlock()
	}
	*c = comparison{over: true}
}

// isLess reports whether the source has listed the log of an end, and has less of it.
func (c *comparison) isLess(e *End) (less, listed bool) {
	if less, listed = c.lacks.listed[e.Log]; !listed {
		less, listed = c.listed[e.Log]
	}
	return less, listed
}

// unequal yields the indexes of the ends of this side that may not be those of the source: all that
// are in no range in which both are equal, and of the logs that the source has listed.
func (c *comparison) unequal() func(yield func(int) bool) {
	leaves := slices.SortedFunc(slices.Values(c.lacks.leaves), func(a, b part) int {
		return cmp.Or(cmp.Compare(a.end.time, b.end.time), cmp.Compare(a.end.log, b.end.log))
	})
	tail := c.ends.index(c.lacks.tail)
	return func(yield func(int) bool) {
		from, to := 0, 0 // of the leaf that does not end before i
		for i := range c.ends.All {
			for i >= to && len(leaves) > 0 {
				from, to = c.ends.index(leaves[0].begin), c.ends.index(leaves[0].end)
				leaves = leaves[1:]
			}
			within := i >= tail || i >= from && i < to
			if _, listed := c.isLess(&c.ends.All[i]); (within || listed) && !yield(i) {
				return
			}
		}
	}
}
