package pattern

import "math/bits"

// Symbols of the grammar: bytes; fields, by kind; fields that repeat an earlier one, by distance;
// integers of 4 and 8 bytes; gaps, by length; the end of a value; and pairs of earlier symbols.
const (
	symbolField = 256
	symbolSame  = symbolField + kinds
	symbolInt4  = symbolSame + maxRemembered
	symbolInt8  = symbolInt4 + 1
	symbolGap   = symbolInt8 + 1
	symbolEnd   = symbolGap + gapMax
	symbolPair  = symbolEnd + 1
	maxSymbols  = 1<<16 - 1
)

// symbol is a symbol of the grammar.
type symbol = uint16

// grammar is what the samples have in common: neighbours that occur together.
type grammar struct {
	sequence []symbol // the samples, each after a symbolEnd, and a last symbolEnd
	pairs    []pair   // what symbols from symbolPair on stand for
	counts   pairTable
}

// pair is two symbols joined into one.
type pair struct {
	left, right symbol
	size        uint16 // symbols below symbolPair that it stands for
	fields      uint16 // those of them that are not bytes
}

// size returns how many symbols below symbolPair the symbol stands for.
func (g *grammar) size(s symbol) int {
	if s < symbolPair {
		return 1
	}
	return int(g.pairs[s-symbolPair].size)
}

// fieldsIn returns how many fields, gaps and integers the symbol stands for.
func (g *grammar) fieldsIn(s symbol) int {
	switch {
	case s >= symbolPair:
		return int(g.pairs[s-symbolPair].fields)
	case s >= symbolField && s != symbolEnd:
		return 1
	}
	return 0
}

func (g *grammar) expand(dst []symbol, s symbol) []symbol {
	if s < symbolPair {
		return append(dst, s)
	}
	p := g.pairs[s-symbolPair]
	return g.expand(g.expand(dst, p.left), p.right)
}

const (
	maxSymbolSize   = 1 << 11
	maxSymbolFields = 60 // so that a token has fewer ops than maxOps
	pairMin         = 4  // the fewest uses of a pair
)

// joinWork limits how many symbols and pairs join looks at, for each symbol of the sequence: half
// as many again as samples with much in common need.
const joinWork = 40

// join joins frequent neighbours until none are left, or until that has taken too long. Each round
// replaces all pairs that are more than half as frequent as the most frequent one.
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
	parts []uint8 // by symbol: whether a pair starts or ends with it
}

// choose makes symbols of the most frequent pairs. last says that no others are worth it.
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
// gap, which gives an encoder nothing to find it by.
func (g *grammar) fits(s *pairSlot) bool {
	a, b := s.pair()
	return (a < symbolGap || a >= symbolPair) &&
		g.size(a)+g.size(b) <= maxSymbolSize && g.fieldsIn(a)+g.fieldsIn(b) <= maxSymbolFields
}

// name gives the pair a symbol. It returns false if there are too many.
func (g *grammar) name(s *pairSlot) bool {
	if s.symbol == 0 && symbolPair+len(g.pairs) < maxSymbols {
		a, b := s.pair()
		s.symbol = symbolPair + symbol(len(g.pairs))
		g.pairs = append(g.pairs, pair{
			a, b, uint16(g.size(a) + g.size(b)), uint16(g.fieldsIn(a) + g.fieldsIn(b)),
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

// replace replaces the chosen pairs in the sequence, and counts the new neighbours.
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

// pair returns the chosen pair that p starts with, or nil if there is none or the next pair is more
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

// pairTable counts pairs. It is a hash table with open addressing.
type pairTable struct {
	slots []pairSlot // a power of two of them
	used  int
}

// pairSlot is how often a pair occurs, and the symbol for it, if any.
type pairSlot struct {
	key    uint32 // 0 if the slot is free
	count  int32
	symbol symbol
}

// keyOf returns the key of a pair, which is not 0.
func keyOf(a, b symbol) uint32 { return (uint32(a)<<16 | uint32(b)) + 1 }

func (s *pairSlot) pair() (a, b symbol) { return symbol((s.key - 1) >> 16), symbol(s.key - 1) }

// slot returns the slot that the key has, or would get.
func (t *pairTable) slot(key uint32) *pairSlot {
	mask := uint32(len(t.slots) - 1)
	for i := key * 0x9E3779B1 >> 8; ; i++ {
		if s := &t.slots[i&mask]; s.key == key || s.key == 0 {
			return s
		}
	}
}

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

// grow doubles the table, or only frees the slots of pairs that no longer occur.
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
