package pattern

import (
	"math"
	"slices"
)

// How many symbols may be kept, and how large, to leave room for other tokens and for variants of
// these.
const (
	keptMax      = maxTokens * 3 / 4
	keptBytesMax = maxDictionaryBytes * 3 / 4
)

// prune replaces symbols in the sequence by what they stand for, unless they save more than they
// take in the dictionary.
func (t *trainer) prune() {
	length := t.keep(float64(len(t.sequence)), 8, decidedUses).length
	for least := 8.0; ; least *= 1.2 {
		if k := t.keep(length, least, decidedUses); k.symbols <= keptMax && k.bytes <= keptBytesMax {
			break
		}
	}
	t.sequence = t.cutAll()
}

// cutAll returns the sequence with nothing but kept symbols.
func (t *trainer) cutAll() []symbol {
	sequence := make([]symbol, 0, len(t.sequence))
	for _, s := range t.sequence {
		sequence = t.cut(sequence, s)
	}
	return sequence
}

// phraseUses says which uses of phrases keep counts.
type phraseUses bool

const (
	decidedUses phraseUses = false
	allUses     phraseUses = true
)

// keeping is what keep decided.
type keeping struct {
	symbols int
	bytes   int     // that they take in the dictionary
	length  float64 // of the sequence with them
}

// keep decides which symbols are kept: those that save at least so many bits for each byte that
// they take in the dictionary. length is about how long the sequence will be.
//
// It goes from the newest symbol to the oldest, so it knows what a symbol is needed for. For
// phrases, only uses that are already decided count, unless of says otherwise. For symbols with
// fields, all uses count, because whole families of them differ in one half and would each make the
// other half seem rare.
func (t *trainer) keep(length, least float64, of phraseUses) (k keeping) {
	counts := make([]float64, symbolPair+len(t.pairs))
	for _, s := range t.sequence {
		counts[s]++
	}
	full := slices.Clone(counts)
	for i := len(t.pairs) - 1; i >= 0; i-- {
		full[t.pairs[i].left] += full[symbolPair+i]
		full[t.pairs[i].right] += full[symbolPair+i]
	}
	total, units := float64(len(t.sequence)), 0.0
	for _, n := range full[:symbolPair] {
		units += n
	}
	t.kept = make([]bool, len(t.pairs))
	for i := len(t.pairs) - 1; i >= 0; i-- {
		p, c := t.pairs[i], counts[symbolPair+i]
		if c == 0 {
			continue
		}
		cost := float64(p.size) + 2
		left, right := counts[p.left]+c, counts[p.right]+c
		all := total
		switch {
		case p.fields > 0:
			cost += 3 * float64(p.fields)
			left, right, all = full[p.left], full[p.right], length
		case of == allUses:
			left, right, all = full[p.left], full[p.right], units
		}
		saved := c * math.Log2(c/left*(all/right))
		if saved >= cost*least {
			t.kept[i] = true
			k.symbols++
			k.bytes += int(cost)
			continue
		}
		counts[p.left] += c
		counts[p.right] += c
		counts[symbolPair+i] = 0
		total += c
	}
	k.length = total
	return k
}

// cut appends the symbol, or what it stands for if it is not kept.
func (t *trainer) cut(dst []symbol, s symbol) []symbol {
	if s < symbolPair || t.kept[s-symbolPair] {
		return append(dst, s)
	}
	p := t.pairs[s-symbolPair]
	return t.cut(t.cut(dst, p.left), p.right)
}
