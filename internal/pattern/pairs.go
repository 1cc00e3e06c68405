package pattern

import (
	"math/bits"
)

// Symbols of the grammar that training finds: bytes; runs, by their kinds; runs that are the same
// as an earlier one, by how many to go back; integers of 4 and 8 bytes; gaps, by their lengths; the
// end of a value; and pairs of earlier symbols.
const (
	symbolRun  = 256
	symbolSame = symbolRun + kinds
	symbolInt4 = symbolSame + maxRemembered
	symbolInt8 = symbolInt4 + 1
	symbolGap  = symbolInt8 + 1
	symbolEnd  = symbolGap + gapMax
	symbolPair = symbolEnd + 1
	maxSymbols = 1<<16 - 1
)

// symbol is a symbol of the grammar.
type symbol = uint16

// grammar is what neighbours the samples have in common.
type grammar struct {
	sequence []symbol // the samples, each behind symbolEnd, and another one at the end
	pairs    []pair   // what symbols from symbolPair on stand for
	counts   pairTable
}

// pair is two symbols that are one.
type pair struct {
	left, right symbol
	size        uint16 // how many symbols below symbolPair it stands for
	runs        uint16 // how many of those are no bytes
}

// isRun reports whether a symbol below symbolPair is a run, or a gap, or an integer.
func isRun(s symbol) bool { return s >= symbolRun && s != symbolEnd }

// size returns how many symbols below symbolPair the symbol stands for.
func (g *grammar) size(s symbol) int {
	if s < symbolPair {
		return 1
	}
	return int(g.pairs[s-symbolPair].size)
}

// runsIn returns how many runs the symbol stands for.
func (g *grammar) runsIn(s symbol) int {
	switch {
	case s >= symbolPair:
		return int(g.pairs[s-symbolPair].runs)
	case isRun(s):
		return 1
	}
	return 0
}

// expand appends to dst what the symbol stands for.
func (g *grammar) expand(dst []symbol, s symbol) []symbol {
	if s < symbolPair {
		return append(dst, s)
	}
	p := g.pairs[s-symbolPair]
	return g.expand(g.expand(dst, p.left), p.right)
}

const (
	maxSymbolSize = 1 << 11
	maxSymbolRuns = 60 // so that a token has fewer ops than maxOps
	pairMin       = 4  // the fewest uses of a pair
)

// joinWork bounds how many symbols and pairs join looks at, for each symbol of the sequence. It is
// half as many again as samples need that have much in common.
const joinWork = 40

// join joins frequent neighbours until there are none, or until that has taken too long. Each round
// looks at all that is left and replaces all pairs that are more than half as frequent as the most
// frequent one.
func (g *grammar) join() {
	g.counts = pairTable{}
	for i := 1; i < len(g.sequence); i++ {
		g.count(g.sequence[i-1], g.sequence[i], 1)
	}
	for work := joinWork*len(g.sequence) + 1<<20; work > 0; {
		work -= len(g.sequence) + len(g.counts.slots)
		chosen, last := g.choose()
		if len(chosen.slots) > 0 {
			g.replace(chosen)
		}
		if last {
			return
		}
	}
}

// count adds to the number of times that two symbols are neighbours.
func (g *grammar) count(a, b symbol, n int32) {
	if a != symbolEnd && b != symbolEnd {
		g.counts.add(keyOf(a, b), n)
	}
}

// chosen is the pairs that a round replaces.
type chosen struct {
	pairTable
	parts []uint8 // by symbol: whether a pair starts with it, and whether one ends with it
}

// choose makes symbols of the most frequent pairs. last says that all less frequent ones are not
// worth it.
func (g *grammar) choose() (c chosen, last bool) {
	most := int32(0)
	for i := range g.counts.slots {
		if s := &g.counts.slots[i]; s.count > most && g.fits(s) {
			most = s.count
		}
	}
	limit := max(most/2+1, pairMin)
	var list []pairSlot
	for i := range g.counts.slots {
		if s := &g.counts.slots[i]; s.count >= limit && g.fits(s) && g.name(s) {
			list = append(list, *s)
		}
	}
	if len(list) == 0 {
		return c, true
	}
	c.parts = make([]uint8, symbolPair+len(g.pairs))
	c.slots = make([]pairSlot, 1<<bits.Len(uint(4*len(list))))
	for _, s := range list {
		*c.slot(s.key) = s
		a, b := s.pair()
		c.parts[a] |= startsPair
		c.parts[b] |= endsPair
	}
	return c, limit == pairMin
}

// fits reports whether the pair can become a symbol: it must be short enough, and not start with a
// gap, because an encoder would have nothing to find it by.
func (g *grammar) fits(s *pairSlot) bool {
	a, b := s.pair()
	return (a < symbolGap || a >= symbolPair) &&
		g.size(a)+g.size(b) <= maxSymbolSize && g.runsIn(a)+g.runsIn(b) <= maxSymbolRuns
}

// name gives the pair a symbol, unless it has one or there are too many.
func (g *grammar) name(s *pairSlot) bool {
	if s.symbol == 0 && symbolPair+len(g.pairs) < maxSymbols {
		a, b := s.pair()
		s.symbol = symbolPair + symbol(len(g.pairs))
		g.pairs = append(g.pairs, pair{
			a, b, uint16(g.size(a) + g.size(b)), uint16(g.runsIn(a) + g.runsIn(b)),
		})
	}
	return s.symbol != 0
}

const (
	startsPair = 1 << iota
	endsPair
)

// find returns the chosen pair of two neighbours, or nil.
func (c *chosen) find(a, b symbol) *pairSlot {
	if s := c.slot(keyOf(a, b)); s.key != 0 {
		return s
	}
	return nil
}

// replace replaces the chosen pairs in the sequence, and counts its new neighbours.
func (g *grammar) replace(c chosen) {
	in, out := g.sequence, g.sequence[:1]
	joined := false // whether the last symbol of out is new
	for i := 1; i < len(in); i++ {
		first, s, again := i, in[i], joined
		if joined = false; c.parts[s]&startsPair != 0 && c.parts[in[i+1]]&endsPair != 0 {
			if p := c.pair(in[i:]); p != nil {
				g.count(s, in[i+1], -1)
				s, joined = p.symbol, true
				i++
			}
		}
		if joined || again {
			g.count(in[first-1], in[first], -1)
			g.count(out[len(out)-1], s, 1)
		}
		out = append(out, s)
	}
	g.sequence = out
}

// pair returns the chosen pair that p starts with, or nil if there is none or the next one is more
// frequent.
func (c *chosen) pair(p []symbol) *pairSlot {
	s := c.find(p[0], p[1])
	if s == nil || c.parts[p[1]]&startsPair == 0 || c.parts[p[2]]&endsPair == 0 {
		return s
	}
	if next := c.find(p[1], p[2]); next != nil && next.count > s.count {
		return nil
	}
	return s
}

// pairTable counts pairs.
type pairTable struct {
	slots []pairSlot // a power of two of them
	used  int
}

// pairSlot is how often a pair occurs, and the symbol that was made of it, if any.
type pairSlot struct {
	key    uint32 // 0 if the slot is free
	count  int32
	symbol symbol
}

// keyOf returns the key of a pair. It is not 0.
func keyOf(a, b symbol) uint32 { return (uint32(a)<<16 | uint32(b)) + 1 }

// pair returns the pair that the slot is for.
func (s *pairSlot) pair() (a, b symbol) { return symbol((s.key - 1) >> 16), symbol(s.key - 1) }

// slot returns the slot that the key has, or is to have.
func (t *pairTable) slot(key uint32) *pairSlot {
	mask := uint32(len(t.slots) - 1)
	for i := key * 0x9E3779B1 >> 8; ; i++ {
		if s := &t.slots[i&mask]; s.key == key || s.key == 0 {
			return s
		}
	}
}

// add adds n to the count of a pair.
func (t *pairTable) add(key uint32, n int32) {
	if 2*t.used >= len(t.slots) {
		t.grow()
	}
	s := t.slot(key)
	if s.key != key {
		s.key = key
		t.used++
	}
	s.count += n
}

// grow doubles the table, or frees it of pairs that no longer occur.
func (t *pairTable) grow() {
	old := t.slots
	t.used = 0
	for _, s := range old {
		if s.count > 0 || s.symbol != 0 {
			t.used++
		}
	}
	size := max(len(old), 1<<12)
	if 4*t.used > size {
		size *= 2
	}
	t.slots = make([]pairSlot, size)
	for _, s := range old {
		if s.count > 0 || s.symbol != 0 {
			*t.slot(s.key) = s
		}
	}
}
