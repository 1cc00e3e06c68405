package pattern

import "math"

// trainer makes a dictionary from samples. It sees a sample as a sequence of bytes and fields,
// finds neighbours that often occur together, and makes tokens of those that are worth it.
type trainer struct {
	grammar
	fields []field // of all samples, in sequence order
	order  kind    // byte order of the integers to look for: kindLittle, kindBig, or kindEnd for none
	size   int     // of the encoded samples
	kept   []bool
	drafts []draft
}

// field is a field that was found in a sample.
type field struct {
	text []byte
	kind kind
	same int  // an earlier field with the same text, or -1
	op   bool // a remembered op stands for it
}

// saveMin is the least part of the samples, as a divisor, that a dictionary must save.
const saveMin = 32

// Train returns a dictionary of what the samples have in common, or nil if that is not worth one.
// The samples should be taken evenly from the values to encode. Train uses at most a mebibyte of
// them and 64 KiB of each, which takes a tenth of a second, or half a second for the worst ones. It
// does not keep them.
func Train(samples [][]byte) *Dictionary {
	samples, raw := bounded(samples)
	if looksLikeNoise(samples) {
		return nil
	}
	t := trainer{order: orderOf(samples)}
	d := t.train(samples)
	if d == nil || t.size >= raw-raw/saveMin {
		return nil
	}
	return d
}

func (t *trainer) train(samples [][]byte) *Dictionary {
	t.sequence = append(t.sequence, symbolEnd)
	for _, p := range samples {
		t.add(p)
	}
	t.join()
	if t.openGaps() {
		t.join()
	}
	t.prune()
	t.draft()
	return t.finish(samples)
}

func (t *trainer) add(p []byte) {
	first, integers := len(t.fields), t.integers(p)
	l := lexer{p: p}
	for i := 0; i < len(p); {
		limit := len(p)
		if len(integers) > 0 {
			limit = integers[0].start
		}
		if i == limit {
			t.addInteger(p[i:integers[0].end])
			i, integers = integers[0].end, integers[1:]
			continue
		}
		k, n := kindEnd, 0
		if classes[p[i]]&classAlnum != 0 {
			k, n = l.lex(i)
		}
		if k == kindEnd || i+n > limit {
			t.sequence = append(t.sequence, symbol(p[i]))
			i++
			continue
		}
		t.addField(k, p[i:i+n], first)
		i += n
	}
	t.sequence = append(t.sequence, symbolEnd)
}

// addField adds a field to the sequence. first is the first field of its sample.
func (t *trainer) addField(k kind, text []byte, first int) {
	s := symbolField + symbol(k)
	if k == kindBase64URL {
		s = symbolField + symbol(kindBase64) // the alphabet is determined later
	}
	same, back := t.earlier(text, first)
	if same >= 0 {
		s = symbolSame + back
	}
	t.sequence = append(t.sequence, s)
	t.fields = append(t.fields, field{text: text, kind: k, same: same})
}

func (t *trainer) addInteger(text []byte) {
	s := symbol(symbolInt4)
	if len(text) == 8 {
		s = symbolInt8
	}
	t.sequence = append(t.sequence, s)
	t.fields = append(t.fields, field{text: text, kind: t.order, same: -1})
}

// earlier returns an earlier field with that text, not before first, and how many fields to go back
// to it; or -1. Fields that repeat an earlier one do not count.
func (t *trainer) earlier(text []byte, first int) (same int, back symbol) {
	if len(text) < sameMin {
		return -1, 0
	}
	for i := len(t.fields) - 1; i >= first && back < maxRemembered; i-- {
		switch r := t.fields[i]; {
		case r.same >= 0 || !r.kind.remembered():
		case string(r.text) == string(text):
			return i, back
		default:
			back++
		}
	}
	return -1, 0
}

const (
	gapMax   = 32  // the most bytes that become one gap
	gapMin   = 2   // the fewest
	gapBits  = 7.8 // the least bits for each of its bytes, as a token
	gapShare = 16  // the least part of all bytes, as a divisor, that makes gaps worth it
)

// openGaps makes gaps, which stand for any bytes, of bytes that were not joined and take more bits
// as tokens than as they are. It returns false if there are too few.
func (t *trainer) openGaps() bool {
	t.keep(float64(len(t.sequence)), 8, allUses)
	sequence := t.cutAll()
	costs := byteCosts(sequence)
	g := gapOpener{old: t.fields, moved: make([]int, len(t.fields))}
	for i := 0; i < len(sequence); {
		s := sequence[i]
		n, bits := 0, 0.0
		for ; n < gapMax && sequence[i+n] < symbolField; n++ { // it ends with symbolEnd
			bits += costs[sequence[i+n]]
		}
		switch {
		case n == 0:
			g.keep(s, t.fieldsIn(s))
			i++
		case n < gapMin || bits < gapBits*float64(n):
			g.sequence = append(g.sequence, sequence[i:i+n]...)
			i += n
		default:
			g.open(sequence[i : i+n])
			i += n
		}
	}
	if g.covered*gapShare < len(sequence) {
		return false
	}
	t.sequence, t.fields = g.sequence, g.relinked()
	return true
}

// byteCosts returns how many bits each byte would take as a token of its own.
func byteCosts(sequence []symbol) (costs [symbolField]float64) {
	for _, s := range sequence {
		if s < symbolField {
			costs[s]++
		}
	}
	for i, n := range costs {
		if n > 0 {
			costs[i] = math.Log2(float64(len(sequence)) / n)
		}
	}
	return costs
}

// gapOpener copies a sequence and its fields, with gaps.
type gapOpener struct {
	sequence []symbol
	fields   []field
	old      []field
	moved    []int // the new index of each old field
	next     int   // the next old field
	covered  int   // bytes in gaps
}

// keep copies a symbol that stands for the given number of fields.
func (g *gapOpener) keep(s symbol, fields int) {
	g.sequence = append(g.sequence, s)
	for range fields {
		g.moved[g.next] = len(g.fields)
		g.fields = append(g.fields, g.old[g.next])
		g.next++
	}
}

func (g *gapOpener) open(bytes []symbol) {
	text := make([]byte, len(bytes))
	for i, s := range bytes {
		text[i] = byte(s)
	}
	g.sequence = append(g.sequence, symbolGap+symbol(len(text)-1))
	g.fields = append(g.fields, field{text: text, kind: kindBytes, same: -1})
	g.covered += len(text)
}

// relinked returns the fields, with references to the new indexes of others.
func (g *gapOpener) relinked() []field {
	for i, r := range g.fields {
		if r.same >= 0 {
			g.fields[i].same = g.moved[r.same]
		}
	}
	return g.fields
}
