package superversion

import (
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/valuelog"
)

const (
	// prefetchAfter is how many values are read one by one before a cursor counts as a scan.
	prefetchAfter  = 2
	prefetchValues = 512     // at a time, at most
	prefetchBytes  = 2 << 20 // at a time, about
)

// load returns the value of the current entry, wherever it lies. The entry must not be a tombstone.
func (m *merge) load(l *Levels) ([]byte, error) {
	in := m.winner
	e := in.entry()
	if e.Kind == keyspace.KindPointer {
		if in.run.prefetched == 0 {
			in.run.prefetched = in.run.prefetch(l, m.direction)
		}
		in.run.prefetched--
	}
	return l.Resolve(&e, m.scope.Scratch)
}

// prefetch asks for the values of the current entry and of those ahead in its window, unless they
// are in memory, so that the disk reads many at once. It returns how many entries need no prefetch
// now. Values of one block lie side by side only if they were written in key order.
func (c *runCursor) prefetch(l *Levels, d keyspace.Direction) (entries int) {
	entries = min(prefetchValues, c.Ahead(d)+1)
	// The current value alone proves nothing: it may share a page with the previous one.
	if l.isCold(c.Entry()) || l.isCold(c.EntryAhead(entries-1, d)) {
		return c.prefetchCold(l, d, entries)
	}
	return entries
}

// isCold reports whether an entry points to a value that is not in memory.
func (l *Levels) isCold(e keyspace.Entry) bool {
	if e.Kind != keyspace.KindPointer {
		return false
	}
	p, err := valuelog.ParsePointer(e.Value)
	file := l.values[p.File]
	return err == nil && file != nil && file.Cold(p)
}

// prefetchCold asks for the values of at most limit entries. It returns how many entries it looked
// at.
func (c *runCursor) prefetchCold(l *Levels, d keyspace.Direction, limit int) (entries int) {
	var files [4]uint64 // most blocks point into no more
	var pointers [len(files)][]valuelog.Pointer
	bytes := 0
	for entries < limit && bytes < prefetchBytes {
		e := c.EntryAhead(entries, d)
		entries++
		if e.Kind != keyspace.KindPointer {
			continue
		}
		p, err := valuelog.ParsePointer(e.Value)
		if err != nil {
			break // the read of that value will report it
		}
		bytes += int(p.Length)
		for i := range files {
			if files[i] == p.File || files[i] == 0 {
				files[i] = p.File
				pointers[i] = append(pointers[i], p)
				break
			}
		}
	}
	for i, number := range files {
		if file := l.values[number]; file != nil {
			file.Prefetch(pointers[i])
		}
	}
	return entries
}
