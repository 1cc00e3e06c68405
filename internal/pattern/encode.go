package pattern

import "math/bits"

// Encoder encodes values with one dictionary. It is not safe for concurrent use.
type Encoder struct {
	d      *Dictionary
	x      *index
	w      writer
	value  []byte
	from   int // start of the bytes that no token stands for yet
	lexer  lexer
	fields int            // fields remembered so far
	spans  [spanRing]span // the last of them; the newest is at (fields-1)%spanRing
	copies copies
	used   []uint32 // if not nil, counts how often each token is used
	work   int      // spent on the value, without the lexer's
}

// spanRing is enough more than kindSame can refer to that a token which is undone overwrites
// nothing that is still needed.
const spanRing = 256

// The most work for a value: far more than values take that are worth encoding.
const (
	workBytes = 256 // for each of its bytes
	workLeast = 1 << 14
)

// stepBytes is how much longer than the value the output can get in one step before the encoder
// gives up: by pending bytes, codes, the end of a field, and a copy.
const stepBytes = pendingMax + 32

// NewEncoder returns an encoder. It takes up to half a megabyte, so values should share one.
func (d *Dictionary) NewEncoder() *Encoder {
	return &Encoder{d: d, x: newIndex(d)}
}

// Append appends the encoded value to dst: at most one byte more than the value has. dst must not
// overlap value.
func (e *Encoder) Append(dst, value []byte) []byte {
	if len(value) == 0 {
		return dst
	}
	if len(value) > maxValueBytes || !e.encode(value) {
		return append(append(dst, value...), 0)
	}
	e.w.put(1, 1)
	return append(dst, e.w.bytes()...)
}

// encode writes the tokens of a value. It returns false as soon as they are certain not to be
// shorter than the value, or turn out too hard to find.
func (e *Encoder) encode(value []byte) bool {
	e.w.reset(len(value), stepBytes)
	e.value, e.from, e.fields, e.work = value, 0, 0, 0
	e.lexer = lexer{p: value}
	if e.x.copy >= 0 {
		e.copies.reset(len(value))
	}
	for i := 0; i < len(value); {
		if next := e.step(i); next > i {
			i, e.from = next, next
		} else if i++; i-e.from >= e.x.pending {
			if e.x.bytes < 0 {
				return false
			}
			e.flush(i)
		}
		if e.w.at+i-e.from > len(value) || e.work+e.lexer.looked > workBytes*len(value)+workLeast {
			return false
		}
	}
	e.flush(len(value))
	return e.w.at < len(value)
}

// choice is a token that could be next.
type choice struct {
	token int
	size  int // how many bytes it stands for
	bits  int
}

// better reports whether the choice takes fewer bits for each byte than another.
func (c choice) better(other choice) bool {
	return other.size == 0 || c.bits*other.size < other.bits*c.size
}

// step writes the token for what is at i and returns where that ends, or i if there is none. A
// phrase with fields is taken at once; otherwise the longest phrase competes with a field and a
// copy.
func (e *Encoder) step(i int) int {
	word := load(e.value, uint(i)*8)
	best := choice{}
	for level := range e.x.levels {
		list := e.x.candidates(level, word)
		e.work += len(list)
		for j := range list {
			c := &list[j]
			if word&c.mask != c.word || int(c.size) > len(e.value)-i {
				continue
			}
			if c.plain {
				if best.size < int(c.size) && e.hasPhrase(c, i) {
					best = choice{int(c.token), int(c.size), int(c.bits)}
				}
			} else if end := e.try(c.token, i); end > i {
				return end
			}
		}
		if best.size > 0 {
			break
		}
	}
	if end := e.tryFields(i, word, best); end > i {
		return end
	}
	if end := e.tryCopy(i, best); end > i {
		return end
	}
	if best.size > 0 {
		e.flush(i)
		e.token(best.token)
		return i + best.size
	}
	return i
}

// hasPhrase reports whether the candidate's phrase is at i of the value. Its first 8 bytes are
// known to match.
func (e *Encoder) hasPhrase(c *candidate, i int) bool {
	n := int(c.size)
	return n <= 8 || string(e.value[i+8:i+n]) == string(e.d.heap[int(c.at)+8:int(c.at)+n])
}

func (e *Encoder) token(i int) {
	t := e.d.tokens[i]
	e.w.put(uint64(t.code), uint(t.bits))
	if e.used != nil {
		e.used[i]++
	}
}

// flush writes the bytes up to end that no token stands for, as they are. They fit one token, and
// there are none if the dictionary has no token for them.
func (e *Encoder) flush(end int) {
	if e.from == end {
		return
	}
	x := e.d.ops[e.d.tokens[e.x.bytes].first]
	n := end - e.from
	e.token(e.x.bytes)
	e.w.put(uint64(n-int(x.n)), uint(x.bits))
	e.w.putBytes(e.value[e.from:end])
	e.from = end
}

// state is what a token changes, to be restored if it is not taken.
type state struct {
	at     int
	acc    uint64
	n      uint
	from   int
	fields int
}

func (e *Encoder) save() state {
	return state{e.w.at, e.w.acc, e.w.n, e.from, e.fields}
}

// undo takes back the last token, and the bytes written before it.
func (e *Encoder) undo(token uint16, s state) {
	e.work += undoWork + e.w.at - s.at
	if e.used != nil {
		e.used[token]--
		if e.from > s.from {
			e.used[e.x.bytes]--
		}
	}
	e.w.at, e.w.acc, e.w.n, e.from, e.fields = s.at, s.acc, s.n, s.from, s.fields
}

// undoWork is the least work for a token that is tried and not taken.
const undoWork = 32

// try writes the token if it stands for what is at i, and returns where that ends, or i.
func (e *Encoder) try(token uint16, i int) int {
	before := e.save()
	e.flush(i)
	e.token(int(token))
	end := i
	for j := e.d.tokens[token].first; e.d.ops[j].kind != kindEnd; j++ {
		n := e.op(e.d.ops[j], end)
		if n == 0 {
			e.undo(token, before)
			return i
		}
		end += n
	}
	return end
}

// tryFields writes a token for the field that starts at i, if it is better than another choice.
func (e *Encoder) tryFields(i int, word uint64, other choice) int {
	if e.x.integers && hasZero(word) {
		if end := e.tryIntegers(e.x.fields[kindLittle], word, i, other); end > i {
			return end
		}
		if end := e.tryIntegers(e.x.fields[kindBig], bits.ReverseBytes64(word), i, other); end > i {
			return end
		}
	}
	if !e.x.texts || classes[byte(word)]&classAlnum == 0 {
		return i
	}
	k, n := e.lexer.lex(i)
	if k == kindEnd {
		return i
	}
	if n >= sameMin && len(e.x.fields[kindSame]) > 0 && e.remembers(e.value[i:i+n]) {
		if end := e.tryFirst(e.x.fields[kindSame], i, other); end > i {
			return end
		}
	}
	return e.tryFirst(e.x.fields[k], i, other)
}

func hasZero(word uint64) bool {
	return (word-0x0101010101010101)&^word&0x8080808080808080 != 0
}

// tryIntegers is tryFirst for tokens that start with a binary integer, all of one byte order; word
// has the next 8 bytes in that order. It first skips tokens that the number is too large for.
func (e *Encoder) tryIntegers(tokens []uint16, word uint64, i int, other choice) int {
	for len(tokens) > 0 {
		e.work++
		x := &e.d.ops[e.d.tokens[tokens[0]].first]
		v := word << (64 - 8*x.n) >> (64 - 8*x.n)
		if x.kind == kindBig {
			v = word >> (64 - 8*x.n)
		}
		if int(x.n) <= len(e.value)-i && e.fits(x, v) {
			if end := e.tryFirst(tokens[:1], i, other); end > i {
				return end
			}
		}
		tokens = tokens[1:]
	}
	return i
}

// tryFirst writes the first of the tokens that stands for what is at i, if it is better than
// another choice.
func (e *Encoder) tryFirst(tokens []uint16, i int, other choice) int {
	for _, t := range tokens {
		before := e.save()
		end := e.try(t, i)
		if end == i {
			continue
		}
		bits := 8*(e.w.at-before.at) + int(e.w.n) - int(before.n)
		if (choice{int(t), end - i, bits}).better(other) {
			return end
		}
		e.undo(t, before)
		return i
	}
	return i
}

// remembers reports whether a field that kindSame can refer to equals p.
func (e *Encoder) remembers(p []byte) bool {
	for back := range min(e.fields, maxRemembered) {
		if string(e.remembered(back)) == string(p) {
			return true
		}
	}
	return false
}

// remembered returns a remembered field: 0 is the last, 1 the one before.
func (e *Encoder) remembered(back int) []byte {
	s := e.spans[uint(e.fields-1-back)%spanRing]
	return e.value[s.start:s.end]
}
