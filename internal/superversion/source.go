package superversion

import (
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/table"
)

// source is a position in one sorted run or memtable: one input of a [Cursor]. A concrete switch
// between the two kinds costs a predictable branch where an interface would cost a call.
type source struct {
	run     *Run          // nil for a memtable
	newer   int           // so many of the cursor's deletions are newer
	gap     keyspace.Span // around the current key: none of those deletes any of its keys
	reading table.Reading
	bounds  *table.Bounds // nil if there are none
	at      int           // index in run of the table that tab is in
	tab     table.Cursor
	mem     memtable.Cursor

	measured, within bool // whether it is known, and so, that all that lies ahead is to be seen
	fetched          int  // so many values ahead were asked for early

	live bool   // positioned on an entry
	key  []byte // the entry's key, when live
	head uint64 // the first 8 bytes of key after the cursor's common prefix
	err  error
}

// enter moves to the table at index i and positions there with move. Tables that turn out empty of
// what move looks for are passed in direction step.
func (s *source) enter(i, step int, move, next func(*table.Cursor) bool) bool {
	for ; i >= 0 && i < len(s.run.Tables); i, move = i+step, next {
		s.at, s.fetched = i, 0
		s.tab.Init(s.run.Tables[i].Table, s.reading)
		s.tab.Bind(s.bounds)
		if move(&s.tab) {
			return true
		}
		if s.err = s.tab.Err(); s.err != nil || s.tab.Done() {
			return false
		}
	}
	return false
}

func (s *source) last() bool {
	if s.run == nil {
		return s.mem.Last()
	}
	return s.enter(len(s.run.Tables)-1, -1, (*table.Cursor).Last, (*table.Cursor).Last)
}

// seek moves to the first entry whose key is not below key.
func (s *source) seek(key []byte) bool {
	if s.run == nil {
		return s.mem.Seek(key)
	}
	seek := func(c *table.Cursor) bool { return c.Seek(key) }
	return s.enter(s.run.search(key), 1, seek, (*table.Cursor).First)
}

// seekBefore moves to the last entry whose key is below key.
func (s *source) seekBefore(key []byte) bool {
	if s.run == nil {
		return s.mem.SeekBefore(key)
	}
	seek := func(c *table.Cursor) bool { return c.SeekBefore(key) }
	return s.enter(min(s.run.search(key), len(s.run.Tables)-1), -1, seek, (*table.Cursor).Last)
}

func (s *source) next() bool {
	if s.run == nil {
		return s.mem.Next()
	}
	if s.tab.Next() {
		return true
	}
	if s.err = s.tab.Err(); s.err != nil || s.tab.Done() {
		return false
	}
	return s.enter(s.at+1, 1, (*table.Cursor).First, (*table.Cursor).First)
}

func (s *source) prev() bool {
	if s.run == nil {
		return s.mem.Prev()
	}
	if s.tab.Prev() {
		return true
	}
	if s.err = s.tab.Err(); s.err != nil || s.tab.Done() {
		return false
	}
	return s.enter(s.at-1, -1, (*table.Cursor).Last, (*table.Cursor).Last)
}

func (s *source) currentKey() []byte {
	if s.run == nil {
		return s.mem.Key()
	}
	return s.tab.Key()
}

func (s *source) value() []byte {
	if s.run == nil {
		return s.mem.Value()
	}
	return s.tab.Value()
}

func (s *source) kind() keyspace.Kind {
	if s.run == nil {
		return s.mem.Kind()
	}
	return s.tab.Kind()
}

func (s *source) until() uint64 {
	if s.run == nil {
		return s.mem.Until()
	}
	return s.tab.Until()
}

// entry returns the current entry, whatever it says; of a table read for keys only it has no value.
func (s *source) entry() keyspace.Entry {
	if s.run != nil {
		return s.tab.Entry()
	}
	e := keyspace.Entry{Kind: s.mem.Kind()}
	if e.Kind != keyspace.KindDelete {
		e.Until, e.Value = s.mem.Until(), s.mem.Value()
	}
	return e
}

// plain reports whether walk may be used.
func (s *source) plain() bool {
	if s.run == nil {
		return s.mem.Plain()
	}
	return s.tab.Plain()
}

// smallest returns the first key that the source has at all.
func (s *source) smallest() []byte {
	if s.run == nil {
		return s.mem.Smallest()
	}
	return s.run.Tables[0].Meta.Smallest
}

// largest returns the last key that the source has at all.
func (s *source) largest() []byte {
	if s.run == nil {
		return s.mem.Largest()
	}
	return s.run.Tables[len(s.run.Tables)-1].Meta.Largest
}

// windowEdge returns the key at the far end, in the direction of travel, of the leaf or block that
// the source is in.
func (s *source) windowEdge(reverse bool) []byte {
	switch {
	case s.run == nil && reverse:
		return s.mem.WindowFirst()
	case s.run == nil:
		return s.mem.WindowLast()
	case reverse:
		return s.tab.WindowFirst()
	default:
		return s.tab.WindowLast()
	}
}

// ahead returns how many entries of the current leaf or block lie beyond the current one in the
// direction of travel.
func (s *source) ahead(reverse bool) int {
	if s.run == nil {
		return s.mem.Ahead(reverse)
	}
	return s.tab.Ahead(reverse)
}

// keyAhead returns the key of the entry n beyond the current one in the direction of travel, which
// must be in the same leaf or block.
func (s *source) keyAhead(n int, reverse bool) []byte {
	if s.run == nil {
		return s.mem.KeyAhead(n, reverse)
	}
	return s.tab.KeyAhead(n, reverse)
}

// walk calls yield for the current entry and the n beyond it in the direction of travel, all of
// which must be in the same leaf or block, which must be plain; see [memtable.Cursor.Walk].
func (s *source) walk(
	n int, reverse bool, strip int, yield func(key, value []byte) bool,
) (calls int, more bool) {
	if s.run == nil {
		return s.mem.Walk(n, reverse, strip, yield)
	}
	return s.tab.Walk(n, reverse, strip, yield)
}
