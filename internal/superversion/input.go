package superversion

import (
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/memtable"
)

// input is one sorted input of a [merge]: a cursor over a run or over a memtable, and what the
// merge knows of its position. A concrete switch between the two kinds costs a predictable branch;
// an interface would cost a call.
type input struct {
	run runCursor       // run.run is nil for a memtable
	mem memtable.Cursor // for a memtable

	newer int           // how many of the merge's deletions are newer than this input
	gap   keyspace.Span // around the current key: no newer deletion has any of its keys
	rest  rest

	live bool   // on an entry within the bounds that no newer deletion hides
	key  []byte // of that entry
	head uint64 // the first 8 bytes of key after what all keys within the bounds share
}

// rest is whether a merge yields all that lies ahead of an input, if no other input is live.
type rest uint8

const (
	restUnknown rest = iota
	restYielded
	restCut // by the bounds, or by a deletion
)

func (in *input) last() bool {
	if in.run.run == nil {
		return in.mem.Last()
	}
	return in.run.Last()
}

func (in *input) seek(key []byte) bool {
	if in.run.run == nil {
		return in.mem.Seek(key)
	}
	return in.run.Seek(key)
}

func (in *input) seekBefore(key []byte) bool {
	if in.run.run == nil {
		return in.mem.SeekBefore(key)
	}
	return in.run.SeekBefore(key)
}

func (in *input) step(d keyspace.Direction) bool {
	switch {
	case in.run.run == nil && d == keyspace.Reverse:
		return in.mem.Prev()
	case in.run.run == nil:
		return in.mem.Next()
	case d == keyspace.Reverse:
		return in.run.Prev()
	default:
		return in.run.Next()
	}
}

// currentKey returns the key of the current entry, which may be ahead of in.key.
func (in *input) currentKey() []byte {
	if in.run.run == nil {
		return in.mem.Key()
	}
	return in.run.Key()
}

func (in *input) value() []byte {
	if in.run.run == nil {
		return in.mem.Value()
	}
	return in.run.Value()
}

func (in *input) kind() keyspace.Kind {
	if in.run.run == nil {
		return in.mem.Kind()
	}
	return in.run.Kind()
}

func (in *input) until() uint64 {
	if in.run.run == nil {
		return in.mem.Until()
	}
	return in.run.Until()
}

// entry returns the current entry, whatever it says; without its value if the run's scope is
// [ReadKeys].
func (in *input) entry() keyspace.Entry {
	if in.run.run != nil {
		return in.run.Entry()
	}
	e := keyspace.Entry{Kind: in.mem.Kind()}
	if e.Kind != keyspace.KindDelete {
		e.Until, e.Value = in.mem.Until(), in.mem.Value()
	}
	return e
}

// plain reports whether walk and value may be used.
func (in *input) plain() bool {
	if in.run.run == nil {
		return in.mem.Plain()
	}
	return in.run.Plain()
}

// ahead returns how many entries of the current leaf or window lie beyond the current one in
// direction d.
func (in *input) ahead(d keyspace.Direction) int {
	if in.run.run == nil {
		return in.mem.Ahead(d)
	}
	return in.run.Ahead(d)
}

// keyAhead returns the key n entries beyond the current one in direction d, in the same leaf or
// window.
func (in *input) keyAhead(n int, d keyspace.Direction) []byte {
	if in.run.run == nil {
		return in.mem.KeyAhead(n, d)
	}
	return in.run.KeyAhead(n, d)
}

// end returns the last key in direction d that the input has at all.
func (in *input) end(d keyspace.Direction) []byte {
	switch {
	case in.run.run == nil && d == keyspace.Reverse:
		return in.mem.Smallest()
	case in.run.run == nil:
		return in.mem.Largest()
	}
	tables := in.run.run.Tables
	if d == keyspace.Reverse {
		return tables[0].Meta.Smallest
	}
	return tables[len(tables)-1].Meta.Largest
}

// walk calls yield for the current entry and the n beyond it in direction d, all in the same leaf
// or window, which must be plain; see [memtable.Cursor.Walk].
func (in *input) walk(
	n int, d keyspace.Direction, strip int, yield func(key, value []byte) bool,
) (calls int, more bool) {
	if in.run.run == nil {
		return in.mem.Walk(n, d, strip, yield)
	}
	return in.run.Walk(n, d, strip, yield)
}
