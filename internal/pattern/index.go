package pattern

import "slices"

// candidate is a token that starts with a phrase.
type candidate struct {
	word, mask uint64 // up to 8 first bytes of the phrase, and a mask of them
	at         uint32 // position of the phrase in the heap
	token      uint16
	size       uint16 // of the phrase
	bits       uint8  // of the code
	plain      bool   // the phrase is the whole token
}

// index finds the tokens that may come next. It is immutable.
type index struct {
	levels   [3]level        // by how many bytes the first phrases have: 4 and more, 2 and more, 1
	fields   [kinds][]uint16 // the tokens that start with an op of that kind
	bytes    int             // the token that is kindBytes, for one byte or more, or -1
	pending  int             // the most bytes that it stands for, or 0
	copy     int             // the token that is kindCopy, or -1
	texts    bool            // whether there are tokens that start with a field of characters
	integers bool            // whether there are tokens that start with a binary integer
}

// level is candidates, by the first bytes of their phrases.
type level struct {
	all    []candidate
	starts []uint16 // of each slot, in all
	size   int      // how many bytes of a phrase determine its slot
}

const slotBits = 12

// pendingMax is the most bytes that wait for a token before they are written as they are.
const pendingMax = 64

// slot returns the slot of phrases that start with the bytes of the word.
func (l *level) slot(word uint64) uint32 {
	if l.size == 1 {
		return uint32(byte(word))
	}
	return uint32(word<<(32-8*l.size)) * 0x9E3779B1 >> (32 - slotBits)
}

// candidates returns the candidates of a level for a value that continues with the bytes of the
// word.
func (x *index) candidates(l int, word uint64) []candidate {
	level := &x.levels[l]
	slot := level.slot(word)
	return level.all[level.starts[slot]:level.starts[slot+1]]
}

func newIndex(d *Dictionary) *index {
	x := &index{bytes: -1, copy: -1}
	x.levels[0].size, x.levels[1].size, x.levels[2].size = 4, 2, 1
	var phrases [3][]int
	for i, t := range d.tokens {
		first := d.ops[t.first]
		alone := d.ops[t.first+1].kind == kindEnd
		switch k := first.kind; {
		case k == kindPhrase:
			j := slices.IndexFunc(x.levels[:], func(l level) bool { return int(first.n) >= l.size })
			phrases[j] = append(phrases[j], i)
		case k == kindBytes && alone && first.n == 1:
			x.bytes, x.pending = i, min(1<<first.bits, pendingMax)
		case k == kindCopy && alone:
			x.copy = i
		case k != kindBytes && k != kindCopy:
			x.fields[k] = append(x.fields[k], uint16(i))
			x.integers = x.integers || k == kindLittle || k == kindBig
			x.texts = x.texts || k != kindLittle && k != kindBig
		}
	}
	weights := d.weights()
	for i := range x.levels {
		x.levels[i].fill(d, phrases[i], weights)
	}
	for _, list := range x.fields {
		slices.SortStableFunc(list, func(a, b uint16) int { return weights[a].compare(weights[b]) })
	}
	return x
}

// fill makes candidates of the tokens.
func (l *level) fill(d *Dictionary, tokens []int, weights []weight) {
	slots := 1 << slotBits
	if l.size == 1 {
		slots = 1 << 8
	}
	type entry struct {
		slot  uint32
		token int
	}
	entries := make([]entry, 0, len(tokens))
	for _, i := range tokens {
		word := load(d.heap, uint(d.ops[d.tokens[i].first].at)*8)
		entries = append(entries, entry{l.slot(word), i})
	}
	slices.SortStableFunc(entries, func(a, b entry) int {
		if a.slot != b.slot {
			return int(a.slot) - int(b.slot)
		}
		return weights[a.token].compare(weights[b.token])
	})
	l.starts = make([]uint16, slots+1)
	for _, p := range entries {
		l.starts[p.slot+1]++
		l.all = append(l.all, d.candidate(p.token))
	}
	for i := range slots {
		l.starts[i+1] += l.starts[i]
	}
}

func (d *Dictionary) candidate(token int) candidate {
	t := d.tokens[token]
	first := d.ops[t.first]
	mask := ^uint64(0) >> (64 - 8*min(uint(first.n), 8))
	return candidate{
		word:  load(d.heap, uint(first.at)*8) & mask,
		mask:  mask,
		at:    first.at,
		token: uint16(token),
		size:  first.n,
		bits:  t.bits,
		plain: d.ops[t.first+1].kind == kindEnd,
	}
}

// weight says how good a token is to try.
type weight struct {
	size int // least bytes that it stands for
	bits int // that it takes for them
}

// compare orders tokens by which to try first: those that stand for more bytes and, among equals,
// those that take fewer bits.
func (w weight) compare(other weight) int {
	if w.size != other.size {
		return other.size - w.size
	}
	return w.bits - other.bits
}

func (d *Dictionary) weights() []weight {
	weights := make([]weight, len(d.tokens))
	for i, t := range d.tokens {
		w := weight{bits: int(t.bits)}
		for _, x := range d.opsOf(t) {
			w.add(x)
		}
		weights[i] = w
	}
	return weights
}

func (w *weight) add(x op) {
	switch {
	case x.kind == kindPhrase:
		w.size += int(x.n)
	case x.kind.based():
		w.size += max(x.kind.size(), int(x.n), 1)
		w.bits += int(x.bits)
	case x.kind.counted():
		w.size += int(x.n)
		w.bits += int(x.bits) + int(x.dataBits(int(x.n)))
	case x.kind == kindSame:
		w.size += sameMin
	case x.kind.size() > 0:
		w.size += x.kind.size()
		w.bits += uuidBits
	}
}
