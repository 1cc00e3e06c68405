package pattern

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// hostile returns a dictionary whose tokens take far more than what they stand for. Each has a code
// of 14 bits, except for some that are never used.
func hostile(tb testing.TB, programs ...[]op) *Dictionary {
	tb.Helper()
	b := newBuilder()
	for range 3 {
		b.add([]op{b.newPhrase([]byte("no value has this"))}, 2)
	}
	b.d.bases = append(b.d.bases, 0)
	for _, ops := range programs {
		for i := range ops {
			if ops[i].kind == kindPhrase {
				ops[i] = b.newPhrase([]byte{byte(ops[i].n)})
			}
		}
		b.add(ops, maxCodeBits)
	}
	d, err := b.dictionary()
	if err != nil {
		tb.Fatal(err)
	}
	return reparsed(tb, d)
}

// hostileDictionaries are dictionaries that make values longer.
func hostileDictionaries(tb testing.TB) map[string]*Dictionary {
	tb.Helper()
	number, comma := op{kind: kindNumber, bits: 64}, op{kind: kindPhrase, n: ','}
	var numbers, digits []op
	for range maxOps / 2 {
		numbers = append(numbers, number, comma)
		digits = append(digits, op{kind: kindDigits, n: 1, bits: 4}, comma)
	}
	return map[string]*Dictionary{
		"bytes one by one": hostile(tb, []op{{kind: kindBytes, n: 1}}),
		"wide bytes":       hostile(tb, []op{{kind: kindBytes, n: 1, bits: maxLengthBits}}),
		"many bytes":       hostile(tb, []op{{kind: kindBytes, n: maxPhraseBytes, bits: maxLengthBits}}),
		"bytes in a token": hostile(tb, []op{comma, {kind: kindBytes, n: 1, bits: maxLengthBits}},
			[]op{{kind: kindBytes, n: 1}}),
		"numbers": hostile(tb, numbers, digits, []op{number}, []op{{kind: kindBytes, n: 1, bits: 4}}),
		"copies":  hostile(tb, []op{{kind: kindCopy}}, []op{{kind: kindBytes, n: 1, bits: 4}}),
		"no bytes": hostile(tb, []op{{kind: kindLittle, n: 1, bits: 64}},
			[]op{{kind: kindUUID}}, []op{comma}),
	}
}

// rough is a value that is hard to encode.
type rough struct {
	name  string
	value []byte
}

// roughValues are values of about so many bytes.
func roughValues(r *rand.Rand, size int) []rough {
	letters := func(alphabet, between string) []byte {
		var v []byte
		for len(v) < size {
			v = append(append(v, alphabet[r.IntN(len(alphabet))]), between...)
		}
		return v
	}
	var han []byte
	for len(han) < size {
		han = append(han, string(rune(0x4E00+r.IntN(2000)))...)
	}
	values := []rough{
		{"han", han}, {"random", randomBytes(r, size)}, {"digits", letters("0123456789", "")},
		{"hex", letters("0123456789abcdef", "")}, {"base64", letters(lettersStandard, "")},
		{"slashes", letters(lettersStandard, "/")}, {"dashes", letters(lettersURL, "-")},
		{"commas", letters("0123456789", ",")}, {"zeros", letters("\x00\x01\xFF", "\x00\x00\x00")},
	}
	for _, p := range []string{"a", "\x00", "0", "1,", "[1,2]", `["abc"],["def"],`, `{"name":"userx`,
		"2024-01-01T00:00:0x", "123e4567-e89b-12d3-a456-42661417400x",
		strings.Repeat("a", 40) + "b"} {
		values = append(values, rough{p, repeated([]byte(p), size)})
	}
	return values
}

func TestEncoder_addsAtMostAByteWhateverTheDictionary(t *testing.T) {
	const seed = 1
	dictionaries := hostileDictionaries(t)
	dictionaries["handmade"] = handmade(t)
	dictionaries["items"] = train(t, valueKinds[2].values(500))
	r := rand.New(rand.NewPCG(seed, 0))
	var values []rough
	for _, size := range []int{1, 70, 2000, 3040, 100, 20_000, 30_400, 100_000, 3} {
		values = append(values, roughValues(r, size)...)
	}
	for name, d := range dictionaries {
		e := d.NewEncoder()
		for _, v := range values {
			encoded, n := e.Append(nil, v.value), len(v.value)
			if len(encoded) > n+1 {
				t.Fatalf("seed %d, %s: %d bytes of %q take %d", seed, name, n, v.name, len(encoded))
			}
			got, err := d.Decode(make([]byte, 0, n), encoded)
			if err != nil || !bytes.Equal(got, v.value) {
				t.Fatalf("seed %d, %s: %d bytes of %q are lost: %v", seed, name, n, v.name, err)
			}
		}
	}
}

// arrays are arrays of two numbers.
func arrays() (values [][]byte) {
	for i := range 1000 {
		values = append(values, fmt.Appendf(nil, "[%d,%d]", i*7919%100_000, i*104_729%100_000))
	}
	return values
}

func TestEncoder_worksInProportionToTheValue(t *testing.T) {
	const seed, size, most = 1, 16 << 10, 150
	dictionaries := map[string]*Dictionary{"handmade": handmade(t), "arrays": train(t, arrays())}
	for _, k := range valueKinds[1:] { // messages give up where base64 has slashes
		dictionaries[k.name] = train(t, k.values(500))
	}
	for name, d := range dictionaries {
		e := d.NewEncoder()
		for _, v := range roughValues(rand.New(rand.NewPCG(seed, 0)), size) {
			e.Append(nil, v.value)
			if n := e.work + e.lexer.looked; n > most*len(v.value) {
				t.Errorf("seed %d, %s: %d bytes of %q are %d work", seed, name, size, v.name, n)
			}
		}
	}
}

// Tokens that are undone have remembered fields, too.
func TestEncoder_remembersTheRunsOfTokensTaken(t *testing.T) {
	b := newBuilder()
	digits := make([]op, maxOps-1)
	for i := range digits {
		digits[i] = op{kind: kindDigits, n: 1}
	}
	b.add([]op{{kind: kindNumber, bits: 10, at: b.base(0)}, b.newPhrase([]byte(" "))}, 2)
	b.add([]op{{kind: kindSame, n: maxRemembered - 1}, b.newPhrase([]byte(" "))}, 2)
	b.add(append(digits, b.newPhrase([]byte("!"))), 2)
	b.add([]op{{kind: kindBytes, n: 1, bits: 4}}, 2)
	d, err := b.dictionary()
	if err != nil {
		t.Fatal(err)
	}
	var value []byte
	for i := range 2000 {
		value = fmt.Appendf(value, "%03d ", 100+i%maxRemembered)
		if i%100 == 99 {
			value = append(append(value, bytes.Repeat([]byte{'7'}, maxOps-1)...), "? "...)
		}
	}
	encoded := d.NewEncoder().Append(nil, value)
	checkDecodes(t, d, encoded, value)
	if most := len(value) * 6 / 10; len(encoded) > most {
		t.Errorf("%d bytes take %d, want at most %d", len(value), len(encoded), most)
	}
}

func TestBounded_cutsAndLeavesOutEvenly(t *testing.T) {
	small := [][]byte{{1, 2}, nil, {3}}
	if part, size := bounded(small); len(part) != 2 || size != 3 {
		t.Errorf("of small samples, %d with %d bytes are left", len(part), size)
	}
	huge := [][]byte{make([]byte, 2*sampleMax)}
	if part, size := bounded(huge); len(part) != 1 || size != sampleMax {
		t.Errorf("of a huge sample, %d with %d bytes are left", len(part), size)
	}
	many := make([][]byte, 5000)
	for i := range many {
		many[i] = []byte(strings.Repeat(string(rune('a'+i*5/len(many))), 1000))
	}
	part, size := bounded(many)
	if size > samplesMax || size < samplesMax*9/10 {
		t.Errorf("of many samples, %d bytes are left", size)
	}
	counts := make(map[byte]int)
	for _, p := range part {
		counts[p[0]]++
	}
	for c, n := range counts {
		if n < len(part)/5-2 || n > len(part)/5+2 {
			t.Errorf("%d of %d samples are of the fifth %c", n, len(part), c)
		}
	}
}

func TestLooksLikeNoise_onlyWhatNothingIsSavedOf(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	of := func(next func(i int) byte) []byte {
		p := make([]byte, sampleMax)
		for i := range p {
			p[i] = next(i)
		}
		return p
	}
	for _, c := range []struct {
		name   string
		sample []byte
		noise  bool
	}{
		{"all bytes", of(func(int) byte { return byte(r.Uint32()) }), true},
		{"200 bytes", of(func(int) byte { return byte(r.IntN(200)) }), true},
		{"4 bytes", of(func(int) byte { return byte(r.IntN(4)) }), false},
		{"a pattern", of(func(i int) byte { return byte(i) }), false},
		{"a byte", []byte{0}, true},
	} {
		if got := looksLikeNoise([][]byte{c.sample}); got != c.noise {
			t.Errorf("%s: noise is %v", c.name, got)
		}
	}
}
