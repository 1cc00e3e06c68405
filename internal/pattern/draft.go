package pattern

import (
	"math"
	"math/bits"
	"slices"
)

// draft is a token in the making.
type draft struct {
	ops   []draftOp
	count uint32
	at    []int // the first field of each use, if it has fields
	keep  bool  // even if unused
}

// draftOp is an op of a draft.
type draftOp struct {
	op
	text  []byte // of a phrase
	base  uint64
	field int // index of the draft's field that it stands for
}

// draft makes tokens of the symbols in the sequence.
func (t *trainer) draft() {
	counts := make([]uint32, symbolPair+len(t.pairs))
	at := make([][]int, symbolPair+len(t.pairs))
	next := 0
	for _, s := range t.sequence {
		counts[s]++
		if n := t.fieldsIn(s); n > 0 {
			at[s] = append(at[s], next)
			next += n
		}
	}
	var units []symbol
	for s, n := range counts {
		// A gap by itself is bytes without a token.
		if n > 0 && (s < symbolGap || s >= symbolPair) {
			units = t.expand(units[:0], symbol(s))
			t.variants(units, at[s], n, variantsMax)
		}
	}
	t.link()
}

const variantsMax = 16 // tokens made of one symbol

// variants makes tokens of what units stand for: as many as are worth it, at most limit. at has the
// first field of each use.
func (t *trainer) variants(units []symbol, at []int, count uint32, limit int) {
	if limit > 1 && len(at) > 16 {
		if inside, outside := t.split(units, at); len(inside) > 0 && len(outside) > 0 {
			t.variants(units, inside, uint32(len(inside)), limit/2)
			t.variants(units, outside, uint32(len(outside)), limit-1)
			return
		}
	}
	d := draft{count: count, at: at}
	var phrase []byte
	j := -1
	for _, u := range units {
		if u < symbolField {
			phrase = append(phrase, byte(u))
			continue
		}
		if j++; len(at) > 1 && t.constant(at, j) {
			phrase = append(phrase, t.fields[at[0]+j].text...)
			continue
		}
		d.addPhrase(phrase)
		phrase = nil
		d.ops = append(d.ops, t.slot(u, at, j))
	}
	d.addPhrase(phrase)
	if len(d.ops) <= maxOps {
		t.drafts = append(t.drafts, d)
	}
}

func (d *draft) addPhrase(text []byte) {
	for len(text) > 0 {
		n := min(len(text), maxPhraseBytes)
		d.ops = append(d.ops, draftOp{op: op{kind: kindPhrase, n: uint16(n)}, text: text[:n]})
		text = text[n:]
	}
}

// constant reports whether the j-th field has the same text in all uses.
func (t *trainer) constant(at []int, j int) bool {
	text := t.fields[at[0]+j].text
	for _, r := range at[1:] {
		if string(t.fields[r+j].text) != string(text) {
			return false
		}
	}
	return true
}

// slot returns the op that stands for the j-th field, the symbol u, in all uses.
func (t *trainer) slot(u symbol, at []int, j int) draftOp {
	if u >= symbolSame && u < symbolInt4 {
		return draftOp{op: op{kind: kindSame}, field: j}
	}
	x := t.cover(at, j)
	for _, r := range at {
		t.fields[r+j].op = x.kind.remembered()
	}
	return x
}

// cover returns an op that can stand for the j-th field in all uses, or nearly all.
func (t *trainer) cover(at []int, j int) draftOp {
	x := draftOp{op: op{kind: t.fields[at[0]+j].kind}, field: j}
	switch {
	case x.kind == kindBase64 || x.kind == kindBase64URL:
		t.coverLengths(&x, at)
		t.coverBase64(&x, at)
	case x.kind.counted():
		t.coverLengths(&x, at)
	case x.kind.based():
		t.coverNumbers(&x, at)
	}
	return x
}

// coverNumbers gives an op the bits, and perhaps the base, for the numbers of all uses, and some
// headroom: more for times, as they only grow.
func (t *trainer) coverNumbers(x *draftOp, at []int) {
	least, most := uint64(math.MaxUint64), uint64(0)
	for _, r := range at {
		v := t.fields[r+x.field].number()
		least, most = min(least, v), max(most, v)
	}
	spread := most - least
	switch {
	case x.kind.size() > 0:
		spread *= 4
	case spread < 1<<62:
		spread += spread / 4
	}
	if x.kind == kindLittle || x.kind == kindBig {
		x.n = uint16(len(t.fields[at[0]+x.field].text))
	}
	x.bits = uint8(bits.Len64(most))
	if n := bits.Len64(spread); n+2 <= int(x.bits) && len(at) > 8 {
		x.base, x.bits = least, uint8(n)
	}
}

// number returns the number that a field of a kind with a base is.
func (r field) number() (v uint64) {
	switch r.kind {
	case kindNumber:
		v, _ = parseNumber(r.text)
	case kindLittle, kindBig:
		v = integer(r.kind, r.text)
	default:
		v, _ = parseClock(r.kind, r.text)
	}
	return v
}

// coverLengths gives an op the lengths of all uses.
func (t *trainer) coverLengths(x *draftOp, at []int) {
	least, most := math.MaxInt, 0
	for _, r := range at {
		n := len(t.fields[r+x.field].text)
		least, most = min(least, n), max(most, n)
	}
	x.bits = uint8(min(bits.Len(uint(most-least)), maxLengthBits))
	if x.kind == kindDigits {
		x.bits = min(x.bits, maxDigitsBits)
		least = max(1, min(least, maxDigits-1<<x.bits+1))
	}
	x.n = uint16(least)
}

// coverBase64 chooses the alphabet of an op, and whether to omit the unused bits.
func (t *trainer) coverBase64(x *draftOp, at []int) {
	standard, url := 0, 0
	x.kind, x.at = kindBase64, 1
	for _, r := range at {
		text := t.fields[r+x.field].text
		if anyOf(text, classURL) {
			url++
		} else if anyOf(text, classStandard) {
			standard++
		}
		unused := byte(1)<<tailBits(len(text)) - 1
		if six := sixURL[text[len(text)-1]]; len(text)%4 == 1 || six != invalid && six&unused != 0 {
			x.at = 0
		}
	}
	if url > standard {
		x.kind = kindBase64URL
	}
}

// link sets how far ops that repeat an earlier field go back, by majority of the uses. It drops
// drafts with an op that no use can link.
func (t *trainer) link() {
	ranks := make([]int, len(t.fields)+1) // how many remembered fields precede each
	for i, r := range t.fields {
		ranks[i+1] = ranks[i]
		if r.op {
			ranks[i+1]++
		}
	}
	kept := t.drafts[:0]
	for _, d := range t.drafts {
		ok := true
		for i := range d.ops {
			if x := &d.ops[i]; x.kind == kindSame {
				ok = t.linkOp(x, d.at, ranks) && ok
			}
		}
		if ok {
			kept = append(kept, d)
		}
	}
	t.drafts = kept
}

func (t *trainer) linkOp(x *draftOp, at, ranks []int) bool {
	var votes [maxRemembered]int
	for _, r := range at {
		from := t.fields[r+x.field].same
		if from < 0 || !t.fields[from].op {
			continue
		}
		if back := ranks[r+x.field] - 1 - ranks[from]; back < maxRemembered {
			votes[back]++
		}
	}
	best := slices.Index(votes[:], slices.Max(votes[:]))
	x.n = uint16(best)
	return votes[best] > 0
}
