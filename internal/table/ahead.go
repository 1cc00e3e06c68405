package table

import (
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/vfs"
)

const (
	// coldBlocks is how many blocks in a row a scan must have loaded by itself before it gets
	// helpers: fewer are done before a helper has woken up.
	coldBlocks = 2
	// aheadBlocks is how many blocks helpers may be ahead of a scan, and aheadShare the part of the
	// cache's limit, as a divisor, that these may take; both also bound the work in vain at its end.
	aheadBlocks = 16
	aheadShare  = 16
	// aheadBytes is the most that these blocks may take, and blockShare the part of it, as a divisor,
	// above which a block is too large for helpers: a scan never waits long for one of them.
	aheadBytes = 1 << 20
	blockShare = 8
	// aheadSpins is how often a scan looks whether a helper has finished its block before it loads
	// the block itself: some tens of microseconds, more than loading a block takes unless the helper
	// has lost its processor.
	aheadSpins = 1 << 15
	// restBlocks is how many blocks a scan loads by itself after helpers were of no use.
	restBlocks = 64
)

// ahead loads the blocks that a long scan is about to reach. The cursor of the scan and helpers,
// which are goroutines on idle processors, claim one block after another. If the cursor comes to a
// block that a helper is still loading, it loads a later one meanwhile. What goes wrong ahead is
// forgotten: the cursor tries again when it gets there.
//
// Helpers keep the reader alive as cursors do, and touch nothing else that the cursor owns.
type ahead struct {
	reader    *reader
	scope     Scope // without bounds
	first     int   // the block of step 0
	direction keyspace.Direction
	end       int64 // the step after the last one
	taken     int64 // steps before it have been taken; only the cursor uses it
	most      int64 // bytes to be held

	claimed atomic.Int64 // steps before it are claimed
	allowed atomic.Int64 // steps before it may be claimed
	held    atomic.Int64 // bytes of blocks that are loaded and not taken
	helpers atomic.Int32
	steps   [aheadBlocks]step // that are claimed and not taken, by number modulo aheadBlocks
}

// step is a block on its way from a helper to the cursor.
type step struct {
	content
	err    error
	loaded atomic.Bool // content and err are set
}

// newAhead returns an ahead for a cursor that is about to move in direction d into block b, or nil
// if helpers are of no use to it.
func newAhead(c *Cursor, b int, d keyspace.Direction) *ahead {
	r := c.reader
	most := min(aheadBytes, r.cache.limit.Load()/aheadShare)
	if r.cache.help == nil || !c.scope.decodes() || int64(c.values.DataBytes()) > most/blockShare {
		return nil
	}
	end := c.blocksAhead(b, d)
	if end <= 1 {
		return nil
	}
	return &ahead{
		reader: r, scope: Scope{Read: c.scope.Read, HeadBytes: c.scope.HeadBytes},
		first: b, direction: d, end: int64(end), most: most,
	}
}

// blocksAhead returns how many blocks the scope includes from block b on, more or less.
func (c *Cursor) blocksAhead(b int, d keyspace.Direction) int {
	n := 0
	if d == keyspace.Reverse {
		n = b + 1 - max(c.reader.index.search(c.scope.Lower), 0)
	} else if n = len(c.reader.slots) - b; c.scope.Upper != nil {
		n = c.reader.index.search(c.scope.Upper) + 1 - b
	}
	if c.scope.Limit > 0 {
		n = min(n, (c.scope.Limit-c.passed)/c.parsed.Len()+1)
	}
	return n
}

func (a *ahead) block(step int64) int {
	if a.direction == keyspace.Reverse {
		return a.first - int(step)
	}
	return a.first + int(step)
}

// stop makes helpers end after the blocks that they are loading.
func (a *ahead) stop() { a.allowed.Store(0) }

// take returns block b, to which the cursor moves in direction d, if helpers have loaded it. If ok
// is false, the cursor must take nothing more. A scan gets helpers only where it is cold.
func (a *ahead) take(b int, d keyspace.Direction, cold bool) (x content, loaded, ok bool) {
	n := a.taken
	if d != a.direction || n == a.end || b != a.block(n) {
		return content{}, false, false
	}
	a.taken++
	window := min(a.taken+coldBlocks, aheadBlocks)
	a.allowed.Store(min(n+window, a.end))
	mine := a.claimed.CompareAndSwap(n, n+1)
	behind := a.allowed.Load()-a.claimed.Load() >= window/2
	if cold && behind && !a.addHelper() && mine { // unless an earlier helper has loaded it
		return content{}, false, false
	}
	if mine {
		return content{}, false, true
	}
	s := &a.steps[n%aheadBlocks]
	if !a.await(s) {
		return content{}, false, false
	}
	x, err := s.content, s.err
	a.held.Add(-x.bytes())
	s.content, s.err = content{}, nil
	s.loaded.Store(false)
	return x, err == nil, true
}

// await loads other blocks until s is loaded. It reports false if that takes too long.
func (a *ahead) await(s *step) bool {
	for !s.loaded.Load() {
		if a.loadNext() {
			continue
		}
		for range aheadSpins {
			if s.loaded.Load() {
				return true
			}
		}
		return s.loaded.Load()
	}
	return true
}

// addHelper starts one more helper, if there may be one. It reports false if there is none.
func (a *ahead) addHelper() bool {
	a.helpers.Add(1)
	if a.reader.cache.help(a.help) {
		return true
	}
	return a.helpers.Add(-1) > 0
}

// help loads blocks until nothing is left to claim, but at most a window of them: a helper does not
// go on for as long as its scan.
func (a *ahead) help() {
	for range aheadBlocks {
		if !a.loadNext() {
			break
		}
	}
	a.helpers.Add(-1)
}

// loadNext claims the next block and loads it. It reports false if none may be claimed.
func (a *ahead) loadNext() bool {
	n := a.claimed.Load()
	for {
		if n >= a.allowed.Load() || a.held.Load() >= a.most {
			return false
		}
		if a.claimed.CompareAndSwap(n, n+1) {
			break
		}
		n = a.claimed.Load()
	}
	s := &a.steps[n%aheadBlocks]
	s.err = vfs.CatchFaults(func() (err error) {
		s.content, err = a.reader.whole(a.block(n), &a.scope)
		return err
	})
	a.held.Add(s.bytes())
	s.loaded.Store(true)
	return true
}

// loadAhead returns block b, to which the cursor moves on in direction d after it has seen all of
// another, if helpers have loaded it.
func (c *Cursor) loadAhead(b int, d keyspace.Direction) (x content, ok bool) {
	if c.ahead == nil {
		if c.misses < coldBlocks {
			return content{}, false
		}
		if c.ahead = newAhead(c, b, d); c.ahead == nil {
			c.misses = coldBlocks - restBlocks
			return content{}, false
		}
	}
	x, loaded, ok := c.ahead.take(b, d, c.misses > 0)
	if !ok {
		c.giveUpAhead()
		c.misses = coldBlocks - restBlocks
	}
	return x, loaded
}

// giveUpAhead forgets what helpers have loaded.
func (c *Cursor) giveUpAhead() {
	if c.ahead != nil {
		c.ahead.stop()
		c.ahead = nil
	}
}
