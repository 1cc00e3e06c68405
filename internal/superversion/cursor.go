package superversion

import (
	"bytes"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/table"
)

// Cursor walks the entries of a superversion in key order, in both directions, within bounds.
//
// It compactions the runs. The cursor of the run whose key comes next is the winner; as long as the
// rest of the winner's leaf or block lies before every other run's key and within the bounds,
// entries are taken from it without any comparison. That is nearly always so, because one run holds
// nearly all data or runs do not interleave.
//
// The zero Cursor must be initialised with Init, and not be copied then. It keeps its superversion
// alive. Not safe for concurrent use. Keys and values are valid as long as the superversion is
// reachable, and what is in the scratch until that is reset; they must not be modified.
type Cursor struct {
	snapshot     *Superversion
	sources      []source     // newest first, so that the lower index wins among equal keys
	deletions    []deletion   // newest first: what is deleted as ranges within the bounds
	runs         int          // so many runs that delete ranges were looked at
	lower, upper []byte       // [lower, upper); a nil upper is no bound
	bounds       table.Bounds // the same, for the sources of a cursor that is narrowed
	shared       int          // bytes that all keys within the bounds have in common
	reading      table.Reading
	scratch      *Scratch // of values that have to be decoded
	all          bool     // yield what is deleted or expired, too: for compactions
	now          uint64   // by which entries have expired; 0 until the first that can
	passing      passing  // what it skips at the moment
	longest      passing  // the most that it has skipped in a row
	patience     int      // after so many it ends; 0 stands for never

	winner   *source // at the current entry; nil if the cursor is not on one
	runnerUp *source // the next in line; nil if no other source is live
	alone    bool    // no other source is live
	free     int     // entries after the current one that need no comparison
	reverse  bool    // the direction of travel that the sources are positioned for
	err      error
}

// What a cursor reads of values, if not so many bytes.
const (
	NoValues = int(table.ReadKeys)
	Values   = int(table.ReadValues)
)

// Init makes c a cursor over the entries of s whose keys are in [lower, upper), on none of them. It
// reads so many bytes of each value, or more; with [NoValues], Value must not be called. Values
// that have to be decoded are put into scratch; if that is nil, into new memory.
func (c *Cursor) Init(s *Superversion, lower, upper []byte, values int, scratch *Scratch) {
	*c = Cursor{
		snapshot: s, sources: c.sources[:0], deletions: c.deletions[:0],
		lower: lower, upper: upper, reading: table.Reading(values), scratch: scratch,
	}
	c.shared = sharedPrefix(lower, upper)
	c.addMemtable(&s.Mem)
	for i := range s.Sealed {
		c.addMemtable(&s.Sealed[i])
	}
	for i := range s.Levels.Young {
		c.addRun(&s.Levels.Young[i])
	}
	c.addRun(&s.Levels.Bottom)
}

// Narrow tells c, which is on no entry and has a scratch, that it will pass all entries within its
// bounds, or about limit entries if that is not 0. Where that is few of a block, c brings in only
// these, with their keys in the scratch, too.
func (c *Cursor) Narrow(limit int) {
	c.bounds = table.Bounds{Lower: c.lower, Upper: c.upper, Limit: limit, Scratch: c.scratch}
	for i := range c.sources {
		c.sources[i].bounds = &c.bounds
	}
}

// InitCompaction makes c a cursor over all entries of the given runs of l, newest run first, that
// yields whatever they say, values as they are stored: what compactions read. What newer runs of l
// delete as ranges is left out. It goes forwards only, and Value is for entries of which Entry was
// called.
func (c *Cursor) InitCompaction(l *Levels, runs []Run) {
	*c = Cursor{all: true, reading: table.ReadStored, snapshot: &Superversion{Levels: l}}
	for i := range runs {
		c.addRun(&runs[i])
	}
}

func (c *Cursor) addMemtable(root *memtable.Root) {
	if root.Len() > 0 {
		c.addSource(nil)
		c.sources[len(c.sources)-1].mem.Init(*root)
	}
	c.addDeletion(deletion{root: root})
}

func (c *Cursor) addRun(run *Run) {
	for _, spans := range run.newer[c.runs:] {
		c.addDeletion(deletion{spans: spans})
	}
	c.runs = len(run.newer)
	if run.overlaps(c.lower, c.upper) {
		c.addSource(run)
	}
}

// addSource adds a source, of a run or a memtable, that is older than the deletions so far.
func (c *Cursor) addSource(run *Run) {
	s := source{run: run, newer: len(c.deletions), reading: c.reading}
	s.gap.End = []byte{} // no key is in it yet
	c.sources = append(c.sources, s)
}

// Release lets go of the superversion, and keeps the cursor's own memory for another Init.
func (c *Cursor) Release() {
	clear(c.sources)
	clear(c.deletions)
	*c = Cursor{sources: c.sources[:0], deletions: c.deletions[:0]}
}

// First moves to the first entry and reports whether there is one.
func (c *Cursor) First() bool { return c.Seek(c.lower) }

// Last moves to the last entry and reports whether there is one.
func (c *Cursor) Last() bool {
	if c.upper != nil {
		return c.SeekBefore(c.upper)
	}
	return c.position(true, (*source).last)
}

// Seek moves to the first entry whose key is not below key and reports whether there is one.
func (c *Cursor) Seek(key []byte) bool {
	if bytes.Compare(key, c.lower) < 0 {
		key = c.lower
	}
	return c.position(false, func(s *source) bool { return s.seek(key) })
}

// SeekBefore moves to the last entry whose key is below key and reports whether there is one.
func (c *Cursor) SeekBefore(key []byte) bool {
	if c.upper != nil && bytes.Compare(key, c.upper) > 0 {
		key = c.upper
	}
	return c.position(true, func(s *source) bool { return s.seekBefore(key) })
}

// Next moves to the next entry and reports whether there is one. Once there is none, the cursor has
// to be positioned anew.
func (c *Cursor) Next() bool {
	if c.reverse {
		return c.turn(false)
	}
	return c.advance()
}

// Prev moves to the entry before and reports whether there is one. Once there is none, the cursor
// has to be positioned anew.
func (c *Cursor) Prev() bool {
	if !c.reverse {
		return c.turn(true)
	}
	return c.advance()
}

// Walk calls yield for the current entry and for those that follow it in the direction of travel
// and need no comparison, but for limit entries at most, unless that is negative. Of each key it
// leaves out the first strip bytes. It moves on behind them, and returns how often it called yield
// and whether it is on an entry and yield wants more. It is the fast way through many entries: one
// costs a call of yield, and finding where its bytes are.
func (c *Cursor) Walk(
	strip, limit int, yield func(key, value []byte) bool,
) (calls int, more bool) {
	if !c.winner.plain() {
		return c.walkEntries(strip, limit, yield)
	}
	n := c.free
	if limit >= 0 {
		n = min(n, limit-1)
	}
	c.free -= n
	calls, more = c.winner.walk(n, c.reverse, strip, yield)
	return calls, more && calls != limit && c.advance()
}

// Valid reports whether the cursor is on an entry.
func (c *Cursor) Valid() bool { return c.winner != nil }

// Key returns the current entry's key.
func (c *Cursor) Key() []byte { return c.winner.currentKey() }

// Value returns the current entry's value, wherever it lies.
func (c *Cursor) Value() ([]byte, error) {
	if c.winner.plain() {
		return c.winner.value(), nil
	}
	return c.fetch()
}

// Until returns when the current entry expires, in milliseconds since 1970, or 0 if it does not.
func (c *Cursor) Until() uint64 { return c.winner.until() }

// Snapshot returns what c moves over.
func (c *Cursor) Snapshot() *Superversion { return c.snapshot }

// Err returns the error that ended the last move, or nil if it simply met the end.
func (c *Cursor) Err() error { return c.err }

// position puts every source in place with move and finds the first entry in the given direction.
func (c *Cursor) position(reverse bool, move func(*source) bool) bool {
	c.reverse, c.err, c.passing = reverse, nil, passing{}
	for i := range c.sources {
		s := &c.sources[i]
		s.err, s.measured = nil, false
		ok := move(s)
		s.fetched = prefetchAfter
		if !c.settle(s, ok) {
			return false
		}
	}
	c.choose()
	return c.skipAbsent()
}

// turn changes the direction of travel and moves one entry in it.
func (c *Cursor) turn(reverse bool) bool {
	if c.winner == nil {
		return false
	}
	key := c.winner.currentKey()
	if reverse {
		return c.position(true, func(s *source) bool { return s.seekBefore(key) })
	}
	return c.position(false, func(s *source) bool {
		return s.seek(key) && (!bytes.Equal(s.currentKey(), key) || s.next())
	})
}

// advance moves to the next entry in the direction of travel.
func (c *Cursor) advance() bool {
	if c.winner == nil {
		return false
	}
	return c.step() && c.skipAbsent()
}

// skipAbsent moves on until the current entry is one to yield.
func (c *Cursor) skipAbsent() bool {
	for c.winner != nil && !c.all && !c.exists() {
		if !c.pass() || !c.step() {
			return false
		}
	}
	if c.passing.entries > 0 && c.err == nil {
		c.endPassing()
	}
	return c.winner != nil
}

// step takes the winner one entry on and finds the new winner. It reports false on error.
func (c *Cursor) step() bool {
	s := c.winner
	if c.free > 0 {
		c.free--
		return c.move(s)
	}
	ok := c.move(s)
	if ok && c.alone && c.holds(s) {
		c.free = s.ahead(c.reverse)
		return true
	}
	if !c.settle(s, ok) {
		return false
	}
	if !s.live || c.runnerUp != nil && !c.before(s, c.runnerUp) {
		c.choose()
		return c.err == nil
	}
	c.setFree()
	if c.free == 0 {
		c.seekFree()
	}
	return true
}

func (c *Cursor) move(s *source) bool {
	if c.reverse {
		return s.prev()
	}
	return s.next()
}

// settle records where a move has left s: on an entry within the bounds, or out of the running. It
// reports false on error, which ends the cursor.
func (c *Cursor) settle(s *source, ok bool) bool {
	s.live = false
	if ok && s.newer > 0 {
		ok = c.leaveDeleted(s)
	}
	if !ok {
		if s.err != nil {
			c.err, c.winner = s.err, nil
		}
		return s.err == nil
	}
	s.key = s.currentKey()
	if c.reverse {
		s.live = bytes.Compare(s.key, c.lower) >= 0
	} else {
		s.live = c.upper == nil || bytes.Compare(s.key, c.upper) < 0
	}
	if s.live {
		s.head = keyspace.Head(s.key[c.shared:])
	}
	return true
}

// choose finds the winner among the live sources, moves shadowed entries of its key out of the way
// in the others, and finds the runner-up.
func (c *Cursor) choose() {
	c.winner, c.runnerUp, c.free, c.alone = nil, nil, 0, false
	for i := range c.sources {
		if s := &c.sources[i]; s.live && (c.winner == nil || c.before(s, c.winner)) {
			c.winner = s
		}
	}
	if c.winner == nil {
		return
	}
	for i := range c.sources {
		s := &c.sources[i]
		if !s.live || s == c.winner {
			continue
		}
		if s.head == c.winner.head && bytes.Equal(s.key, c.winner.key) {
			if !c.settle(s, c.move(s)) {
				return
			}
			if !s.live {
				continue
			}
		}
		if c.runnerUp == nil || c.before(s, c.runnerUp) {
			c.runnerUp = s
		}
	}
	c.alone = c.runnerUp == nil
	c.setFree()
}

// before reports whether a's key comes strictly before b's in the direction of travel.
func (c *Cursor) before(a, b *source) bool {
	if a.head != b.head {
		return (a.head < b.head) != c.reverse
	}
	return c.ordered(a.key, b.key)
}

func (c *Cursor) ordered(a, b []byte) bool {
	order := bytes.Compare(a, b)
	return order < 0 && !c.reverse || order > 0 && c.reverse
}

// sharedPrefix returns how many leading bytes all keys in [lower, upper) have in common.
func sharedPrefix(lower, upper []byte) int {
	n := keyspace.Shared(lower, upper)
	if n < len(lower) && n+1 == len(upper) && lower[n]+1 == upper[n] {
		n++ // upper is the successor of lower's first n+1 bytes
	}
	return n
}
