package pattern

// Encoder encodes values with one dictionary. It is not safe for concurrent use.
type Encoder struct {
	d      *Dictionary
	x      *index
	w      writer
	value  []byte
	from   int    // where the bytes start that no token has taken yet
	spans  []span // the remembered runs so far
	copies copies
	used   []uint32 // how often each token was used, if not nil
}

// NewEncoder returns an encoder. It takes up to half a megabyte, so values should share one.
func (d *Dictionary) NewEncoder() *Encoder {
	return &Encoder{d: d, x: newIndex(d)}
}

// Append appends the encoded value to dst: at most one byte more than it has. dst must not overlap
// value.
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

// encode writes the tokens of a value. It returns false if they are not shorter than it.
func (e *Encoder) encode(value []byte) bool {
	// What a token writes beyond the bytes that it stands for is limited by its ops.
	e.w.reset(len(value) + maxOps*(maxRunBits+64)/8)
	e.value, e.from, e.spans = value, 0, e.spans[:0]
	if e.x.copy >= 0 {
		e.copies.reset(len(value))
	}
	for i := 0; i < len(value); {
		if next := e.step(i); next > i {
			i, e.from = next, next
		} else {
			i++
		}
		if e.w.at+i-e.from > len(value) {
			return false
		}
	}
	return e.flush(len(value)) && e.w.at < len(value)
}

// choice is a token that could be next.
type choice struct {
	token int
	size  int // of what it stands for
	bits  int
}

// better reports whether the choice takes fewer bits a byte than another one.
func (c choice) better(other choice) bool {
	return other.size == 0 || c.bits*other.size < other.bits*c.size
}

// step writes the token for what is at i, and returns the end of that, or i if there is none. A
// token with runs that starts with a phrase is taken at once, since it says more than any other;
// else the longest phrase competes with a run and with a copy.
func (e *Encoder) step(i int) int {
	word := load(e.value, uint(i)*8)
	best := choice{}
	for level := range e.x.levels {
		list := e.x.candidates(level, word)
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
	if end := e.tryRuns(i, word, best); end > i {
		return end
	}
	if end := e.tryCopy(i, best); end > i {
		return end
	}
	if best.size > 0 && e.flush(i) {
		e.token(best.token)
		return i + best.size
	}
	return i
}

// hasPhrase reports whether the candidate's phrase is at i of the value, where its first 8 bytes
// are known to be.
func (e *Encoder) hasPhrase(c *candidate, i int) bool {
	n := int(c.size)
	return n <= 8 || string(e.value[i+8:i+n]) == string(e.d.heap[int(c.at)+8:int(c.at)+n])
}

// token writes the code of a token.
func (e *Encoder) token(i int) {
	t := e.d.tokens[i]
	e.w.put(uint64(t.code), uint(t.bits))
	if e.used != nil {
		e.used[i]++
	}
}

// flush writes the bytes up to end that no token has taken yet, as they are. It returns false if
// the dictionary has no token for that.
func (e *Encoder) flush(end int) bool {
	for e.from < end {
		if e.x.bytes < 0 {
			return false
		}
		x := e.d.ops[e.d.tokens[e.x.bytes].first]
		n := min(end-e.from, int(x.n)+1<<x.bits-1)
		if n < int(x.n) {
			return false
		}
		e.token(e.x.bytes)
		e.w.put(uint64(n-int(x.n)), uint(x.bits))
		e.w.putBytes(e.value[e.from : e.from+n])
		e.from += n
	}
	return true
}

// state is what a token that is not taken in the end has changed.
type state struct {
	at    int
	acc   uint64
	n     uint
	from  int
	spans int
}

func (e *Encoder) save() state {
	return state{e.w.at, e.w.acc, e.w.n, e.from, len(e.spans)}
}

func (e *Encoder) restore(s state) {
	e.w.at, e.w.acc, e.w.n, e.from, e.spans = s.at, s.acc, s.n, s.from, e.spans[:s.spans]
}

// undo takes back the last token.
func (e *Encoder) undo(token uint16, s state) {
	e.restore(s)
	if e.used != nil {
		e.used[token]--
	}
}

// try writes the token if it stands for what is at i, and returns the end of that, or i.
func (e *Encoder) try(token uint16, i int) int {
	before := e.save()
	if !e.flush(i) {
		e.restore(before)
		return i
	}
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

// tryRuns writes the token for the run that starts at i, if it is better than another choice.
func (e *Encoder) tryRuns(i int, word uint64, other choice) int {
	if e.x.integers && hasZero(word) {
		for _, k := range [...]kind{kindLittle, kindBig} {
			if end := e.tryIntegers(e.x.runs[k], i, other); end > i {
				return end
			}
		}
	}
	if !e.x.texts || classes[byte(word)]&classAlnum == 0 {
		return i
	}
	k, n := lex(e.value, i)
	if k == kindEnd {
		return i
	}
	if n >= sameMin && len(e.x.runs[kindSame]) > 0 && e.remembers(e.value[i:i+n]) {
		if end := e.tryFirst(e.x.runs[kindSame], i, other); end > i {
			return end
		}
	}
	return e.tryFirst(e.x.runs[k], i, other)
}

// hasZero reports whether any byte of the word is zero.
func hasZero(word uint64) bool {
	return (word-0x0101010101010101)&^word&0x8080808080808080 != 0
}

// tryIntegers is tryFirst for tokens that start with a binary integer. As nothing in the value says
// that there is one, it leaves out those for which the integer is too large before it tries.
func (e *Encoder) tryIntegers(tokens []uint16, i int, other choice) int {
	for len(tokens) > 0 {
		x := e.d.ops[e.d.tokens[tokens[0]].first]
		if v, n := x.parse(e.value[i:]); n > 0 && e.fits(x, v) {
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

// remembers reports whether a run that kindSame can refer to is like p.
func (e *Encoder) remembers(p []byte) bool {
	for _, s := range e.spans[max(0, len(e.spans)-maxRemembered):] {
		if string(e.value[s.start:s.end]) == string(p) {
			return true
		}
	}
	return false
}
