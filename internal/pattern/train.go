package pattern

import "math"

// trainer makes a dictionary of samples. It sees a sample as a sequence of bytes and runs, finds
// which neighbours occur together often, and makes tokens of those that are worth it.
type trainer struct {
	grammar
	runs   []run // of all samples, in the order of the sequence
	order  kind  // which integers to look for: kindLittle, kindBig, or none
	size   int   // of the samples, encoded
	kept   []bool
	drafts []draft
}

// run is a run that was found in a sample.
type run struct {
	text []byte
	kind kind
	same int  // the earlier run that has the same text, or -1
	op   bool // an op that is remembered stands for it
}

// saveMin is the least part of the samples, as a divisor, that a dictionary must save.
const saveMin = 32

// Train returns a dictionary of what the samples have in common, or nil if that is not worth one.
// They should be taken evenly from the values to encode. It uses a mebibyte of them at most, and
// 64 KiB of each, which takes about a tenth of a second, or half a second for the worst ones. It
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

// add adds a sample to the sequence.
func (t *trainer) add(p []byte) {
	first, integers := len(t.runs), t.integers(p)
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
		t.addRun(k, p[i:i+n], first)
		i += n
	}
	t.sequence = append(t.sequence, symbolEnd)
}

// addRun adds a run of a sample whose first run is given.
func (t *trainer) addRun(k kind, text []byte, first int) {
	s := symbolRun + symbol(k)
	if k == kindBase64URL {
		s = symbolRun + symbol(kindBase64) // which of them it is turns out later
	}
	same, back := t.earlier(text, first)
	if same >= 0 {
		s = symbolSame + back
	}
	t.sequence = append(t.sequence, s)
	t.runs = append(t.runs, run{text: text, kind: k, same: same})
}

func (t *trainer) addInteger(text []byte) {
	s := symbol(symbolInt4)
	if len(text) == 8 {
		s = symbolInt8
	}
	t.sequence = append(t.sequence, s)
	t.runs = append(t.runs, run{text: text, kind: t.order, same: -1})
}

// earlier returns a run with that text, from the one given on, and how many runs to go back to it,
// or -1. Runs that are themselves the same as an earlier one do not count.
func (t *trainer) earlier(text []byte, first int) (same int, back symbol) {
	if len(text) < sameMin {
		return -1, 0
	}
	for i := len(t.runs) - 1; i >= first && back < maxRemembered; i-- {
		switch r := t.runs[i]; {
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
	gapBits  = 7.8 // how many bits each of its bytes takes at least as a token
	gapShare = 16  // gaps must be one of so many bytes, to be worth it
)

// openGaps makes gaps of bytes that were not joined and take more bits as tokens than as they are.
// When neighbours are joined again, a gap can be any bytes. It returns false if there are too few.
func (t *trainer) openGaps() bool {
	t.keep(float64(len(t.sequence)), 8, true)
	sequence := t.cutAll()
	costs := byteCosts(sequence)
	g := gapOpener{old: t.runs, place: make([]int, len(t.runs))}
	for i := 0; i < len(sequence); {
		s := sequence[i]
		n, bits := 0, 0.0
		for ; n < gapMax && sequence[i+n] < symbolRun; n++ { // it ends with symbolEnd
			bits += costs[sequence[i+n]]
		}
		switch {
		case n == 0:
			g.keep(s, t.runsIn(s))
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
	t.sequence, t.runs = g.sequence, g.runsInPlace()
	return true
}

// byteCosts returns how many bits each byte would take as a token of its own.
func byteCosts(sequence []symbol) (costs [symbolRun]float64) {
	for _, s := range sequence {
		if s < symbolRun {
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

// gapOpener copies a sequence and its runs, with gaps.
type gapOpener struct {
	sequence []symbol
	runs     []run
	old      []run
	place    []int // where the old runs are now
	next     int   // the next of the old runs
	covered  int   // bytes in gaps
}

// keep copies a symbol that stands for so many runs.
func (g *gapOpener) keep(s symbol, runs int) {
	g.sequence = append(g.sequence, s)
	for range runs {
		g.place[g.next] = len(g.runs)
		g.runs = append(g.runs, g.old[g.next])
		g.next++
	}
}

// open makes a gap of bytes.
func (g *gapOpener) open(bytes []symbol) {
	text := make([]byte, len(bytes))
	for i, s := range bytes {
		text[i] = byte(s)
	}
	g.sequence = append(g.sequence, symbolGap+symbol(len(text)-1))
	g.runs = append(g.runs, run{text: text, kind: kindBytes, same: -1})
	g.covered += len(text)
}

// runsInPlace returns the runs, which refer to where others are now.
func (g *gapOpener) runsInPlace() []run {
	for i, r := range g.runs {
		if r.same >= 0 {
			g.runs[i].same = g.place[r.same]
		}
	}
	return g.runs
}
