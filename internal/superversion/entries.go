package superversion

import (
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/table"
	"github.com/stoatdb/stoat/internal/valuelog"
)

// Entry returns what is stored for the current key, whatever it says. The cursor must be one for
// compactions.
func (c *Cursor) Entry() (keyspace.Entry, error) {
	if err := c.winner.tab.Load(); err != nil {
		return keyspace.Entry{}, err
	}
	return c.winner.entry(), nil
}

// Whole returns the table that the current entry is in if that is the first of a block of which all
// comes next, nothing is hidden, and all are puts that do not expire; else nil. The cursor must be
// one for compactions.
func (c *Cursor) Whole() *manifest.Table {
	if s := c.winner; s.tab.Puts() && c.free == s.ahead(false) {
		return s.run.Tables[s.at].Meta
	}
	return nil
}

// Block returns the block that the current entry is in.
func (c *Cursor) Block() (table.Block, error) { return c.winner.tab.Copy() }

// SkipBlock is Next behind the block that the current entry is in, of which all comes next.
func (c *Cursor) SkipBlock() bool {
	c.winner.tab.Leave()
	c.free = 0
	return c.advance()
}

// exists reports whether the current entry says that its key is there. What has expired is measured
// by one moment, the first time that it matters, so that a loop is consistent and asks once.
func (c *Cursor) exists() bool {
	if c.winner.kind() == keyspace.KindDelete {
		return false
	}
	until := c.winner.until()
	if until == 0 {
		return true
	}
	if c.now == 0 {
		c.now = c.snapshot.Levels.now()
	}
	return until > c.now
}

// walkEntries is Walk for entries of any kind: it looks at each, and returns where the fast way is
// possible again.
func (c *Cursor) walkEntries(
	strip, limit int, yield func(key, value []byte) bool,
) (calls int, more bool) {
	for c.winner != nil && !c.winner.plain() {
		var value []byte
		if c.reading != table.ReadKeys {
			if value, c.err = c.fetch(); c.err != nil {
				c.winner = nil
				break
			}
		}
		calls++
		if !yield(c.Key()[strip:], value) || calls == limit || !c.advance() {
			return calls, false
		}
	}
	return calls, c.winner != nil
}

// fetch returns the current entry's value from wherever it is.
func (c *Cursor) fetch() ([]byte, error) {
	s := c.winner
	e := s.entry()
	if e.Kind != keyspace.KindPointer {
		return c.snapshot.Levels.decode(e, c.scratch)
	}
	if s.fetched == 0 {
		s.fetched = c.prefetch(s)
	}
	s.fetched--
	return c.snapshot.Levels.Resolve(e, c.scratch)
}

const (
	// prefetchAfter is how many values are fetched one by one before a cursor counts as a scan.
	prefetchAfter  = 2
	prefetchValues = 512
	prefetchBytes  = 2 << 20
)

// prefetch asks for the values of the current entry and of those ahead in its block, so that the
// disk works on many at once, and returns how many entries that were. Values of one block are
// neighbours only where they were written in the order of their keys.
func (c *Cursor) prefetch(s *source) (entries int) {
	entries = min(prefetchValues, s.ahead(c.reverse)+1)
	// The next value alone would not tell: it may share a page with the one before.
	if c.cold(s.entry()) || c.cold(s.tab.Peek(entries-1, c.reverse)) {
		return c.prefetchUpTo(s, entries)
	}
	return entries
}

// cold reports whether an entry points to a value that is not in memory.
func (c *Cursor) cold(e keyspace.Entry) bool {
	if e.Kind != keyspace.KindPointer {
		return false
	}
	p, err := valuelog.ParsePointer(e.Value)
	file := c.snapshot.Levels.values[p.File]
	return err == nil && file != nil && file.Cold(p)
}

// prefetchUpTo asks for the values of at most so many entries, and returns how many those were.
func (c *Cursor) prefetchUpTo(s *source, most int) (entries int) {
	var files [4]uint64 // of most blocks, all the files
	var pointers [len(files)][]valuelog.Pointer
	bytes := 0
	for entries < most && bytes < prefetchBytes {
		e := s.tab.Peek(entries, c.reverse)
		entries++
		if e.Kind != keyspace.KindPointer {
			continue
		}
		p, err := valuelog.ParsePointer(e.Value)
		if err != nil {
			break // whoever comes to it will report it
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
		if file := c.snapshot.Levels.values[number]; file != nil {
			file.Prefetch(pointers[i])
		}
	}
	return entries
}
