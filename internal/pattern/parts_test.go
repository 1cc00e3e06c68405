package pattern

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestClock_readsAndWritesAllDays(t *testing.T) {
	var d, c [dateBytes + 9]byte
	for day := range uint64(daysInAll) {
		at := time.Unix(int64(day)*secondsADay, 0).UTC()
		want := at.AppendFormat(d[:0], time.DateOnly)
		got := (*[dateBytes]byte)(c[:])
		putDate(got, day)
		if string(got[:]) != string(want) {
			t.Fatalf("day %d is %s, want %s", day, got, want)
		}
		if v, ok := parseDate((*[dateBytes]byte)(want)); !ok || v != day {
			t.Fatalf("%s is day %d, %v, want %d", want, v, ok, day)
		}
	}
}

func TestClock_refusesWhatItWouldWriteOtherwise(t *testing.T) {
	for _, text := range []string{
		"2023-02-29", "2023-13-01", "2023-00-01", "2023-01-00", "2023-04-31", "1969-12-31",
		"2023-1-01x", "2023/01/01", "10000-01-0", "2023-01-0",
	} {
		if v, ok := parseClock(kindDate, []byte(text)); ok {
			t.Errorf("%s is day %d", text, v)
		}
	}
	for _, text := range []string{
		"2023-01-01T24:00:00", "2023-01-01T00:60:00", "2023-01-01T00:00:60", "2023-01-01 00:00:00",
		"2023-01-01T00:00:0", "2023-01-01T00.00:00",
	} {
		if v, ok := parseClock(kindTime, []byte(text)); ok {
			t.Errorf("%s is second %d", text, v)
		}
	}
}

func TestNumber_isReadAndWritten(t *testing.T) {
	const seed = 1
	r := rand.New(rand.NewPCG(seed, 0))
	values := []uint64{0, 9, 10, 99, 100, 1e8 - 1, 1e8, 1e16, math.MaxUint64}
	for range 2000 {
		values = append(values, r.Uint64()>>r.IntN(64))
	}
	for _, v := range values {
		want := fmt.Sprint(v)
		if got, n := parseNumber([]byte(want + "x")); got != v || n != len(want) {
			t.Fatalf("seed %d: parseNumber of %s = %d, %d", seed, want, got, n)
		}
		if n := decimalLen(v); n != len(want) {
			t.Fatalf("seed %d: decimalLen of %s = %d", seed, want, n)
		}
		out := make([]byte, digitsRoom)
		if n := putDecimal(out, 0, v); string(out[:n]) != want {
			t.Fatalf("seed %d: putDecimal of %s = %s", seed, want, out[:n])
		}
		if putDigits(out, 0, len(want), v); string(out[:len(want)]) != want {
			t.Fatalf("seed %d: putDigits of %s = %s", seed, want, out[:len(want)])
		}
	}
	for _, text := range []string{"", "x", "01", "00", "18446744073709551616", "99999999999999999999",
		"100000000000000000000"} {
		if v, n := parseNumber([]byte(text)); n != 0 {
			t.Errorf("parseNumber of %q = %d, %d", text, v, n)
		}
	}
}

func TestDigitBits_areEnoughAndNoneTooMany(t *testing.T) {
	for n := 1; n <= maxDigits; n++ {
		most := math.Pow10(n) - 1
		if bits := math.Ceil(math.Log2(most)); float64(digitBits[n]) != bits && n < 16 {
			t.Errorf("%d digits have %d bits, want %v", n, digitBits[n], bits)
		}
	}
}

func TestLex_findsRuns(t *testing.T) {
	const b64 = "LCa0a2j/xo/5m0U8HTBBNBNCLXBkg7+g+YpeiGJm564"
	for _, want := range []struct {
		text string // the field is between the bars
		kind kind
	}{
		{`"n":|12345|,`, kindNumber},
		{`"n":|0|,`, kindNumber},
		{`x.|7|`, kindNumber},
		{`1.|0725|`, kindDigits},
		{`|007|`, kindDigits},
		{`|18446744073709551615|`, kindNumber},
		{`|1844674407370955161|6`, kindDigits},
		{`tag|1234|`, kindNumber},
		{`|2024-02-29T12:34:56|.5Z`, kindTime},
		{`|2024-02-29 12:34:56|`, kindTimeSpace},
		{`at |2024-02-29|.`, kindDate},
		{`|2024|-02-30`, kindNumber},
		{`"|123e4567-e89b-12d3-a456-426614174000|"`, kindUUID},
		{`"|123E4567-E89B-12D3-A456-426614174000|"`, kindUUIDUpper},
		{`<|0123456789abcdef|>`, kindHex},
		{`<|0123456789ABCDEF|>`, kindHexUpper},
		{`%|` + b64 + `|=.sha256`, kindBase64},
		{`"|a8F-b3_Kz9Qw2xY7pL|"`, kindBase64URL},
	} {
		parts := strings.Split(want.text, "|")
		l := lexer{p: []byte(parts[0] + parts[1] + parts[2])}
		k, n := l.lex(len(parts[0]))
		if k != want.kind || n != len(parts[1]) {
			t.Errorf("%s: a field of kind %d and %d bytes, want %d, %d", want.text, k, n, want.kind,
				len(parts[1]))
		}
	}
}

func TestLex_leavesWords(t *testing.T) {
	for _, text := range []string{
		"|word", "|deadbeef", "sha|256", "/|usr/share/doc/example", "|NewReaderFromFileWithOptions",
		"x86|64", "\x01|7\x02",
	} {
		before, after, _ := strings.Cut(text, "|")
		l := lexer{p: []byte(before + after)}
		if k, n := l.lex(len(before)); k != kindEnd {
			t.Errorf("%q: a field of kind %d and %d bytes", text, k, n)
		}
	}
}

func TestCodeLengths_makeACode(t *testing.T) {
	const seed = 1
	r := rand.New(rand.NewPCG(seed, 0))
	for _, n := range []int{1, 2, 3, 100, 5000, maxTokens} {
		counts := make([]uint32, n)
		for i := range counts {
			counts[i] = uint32(r.IntN(1 << r.IntN(11)))
		}
		lengths := codeLengths(counts)
		taken, total := 0, 0.0
		for i, bits := range lengths {
			if bits < 1 || bits > maxCodeBits {
				t.Fatalf("seed %d: a code of %d tokens has %d bits", seed, n, bits)
			}
			taken += 1 << (maxCodeBits - bits)
			total += float64(bits) * float64(counts[i])
		}
		if taken > 1<<maxCodeBits {
			t.Errorf("seed %d: %d tokens do not fit a code", seed, n)
		}
		if most := entropyOf(counts); n >= 100 && n < maxTokens && total > 1.05*most {
			t.Errorf("seed %d: %d tokens take %.0f bits, their entropy is %.0f", seed, n, total, most)
		}
	}
}

func TestCodeLengths_areShorterWhereThatTakesLittle(t *testing.T) {
	counts := make([]uint32, 100)
	copy(counts, []uint32{1_000_000, 100_000, 10_000, 1000, 100, 10})
	lengths := codeLengths(counts)
	if most := bits.Len(uint(len(counts))) + spareBits; int(slices.Max(lengths)) >= most {
		t.Errorf("the longest codes have all of %d bits: %d", most, lengths)
	}
	if want := []uint8{1, 2, 3}; !slices.Equal(lengths[:3], want) {
		t.Errorf("the most used tokens have codes of %d bits, want %d", lengths[:3], want)
	}
}

func TestLoad_returnsZerosBeyondTheEnd(t *testing.T) {
	p := bytes.Repeat([]byte{0xB5, 0xFF}, 10)
	for n := range len(p) {
		for bit := range uint(8*n + 70) {
			var want uint64
			for i := range uint(loadedBits) {
				if at := bit + i; at < 8*uint(n) {
					want |= uint64(p[at>>3]>>(at&7)&1) << i
				}
			}
			if got := load(p[:n:n], bit) & (1<<loadedBits - 1); got != want {
				t.Fatalf("from bit %d of %d bytes: %#x, want %#x", bit, n, got, want)
			}
		}
	}
}

func entropyOf(counts []uint32) (bits float64) {
	sum := 0.0
	for _, n := range counts {
		sum += float64(n)
	}
	for _, n := range counts {
		if n > 0 {
			bits += float64(n) * math.Log2(sum/float64(n))
		}
	}
	return bits
}

func TestIntegers_areFoundByTheirZeros(t *testing.T) {
	for _, want := range []struct {
		order kind
		bytes string
		found []span
	}{
		{kindLittle, "\x07\x01\x00\x00\x00\x00\x00\x00\x09\x00\x00\x00", []span{{0, 8}, {8, 12}}},
		{kindLittle, "TAG\x07\x01\x00\x00\x00\x00\x00\x00x", []span{{3, 11}}},
		{kindLittle, "\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00",
			[]span{{0, 8}, {8, 16}}},
		{kindBig, "\x00\x00\x00\x00\x00\x00\x07\x01x\x00\x00\x01\x02", []span{{0, 8}, {9, 13}}},
		{kindEnd, "\x07\x01\x00\x00\x00\x00\x00\x00", nil},
		{kindLittle, "text", nil},
	} {
		tr := trainer{order: want.order}
		if got := tr.integers([]byte(want.bytes)); !slices.Equal(got, want.found) {
			t.Errorf("%d: in %q are %v, want %v", want.order, want.bytes, got, want.found)
		}
	}
}

func TestGrammar_standsForWhatItWasMadeOf(t *testing.T) {
	text := strings.Repeat("the cat sat on the mat and aaaaaaaaaaaaaa ", 50)
	g := grammar{sequence: []symbol{symbolEnd}}
	for i := range len(text) {
		g.sequence = append(g.sequence, symbol(text[i]))
	}
	g.sequence = append(g.sequence, symbolEnd)
	g.join()
	if len(g.sequence) > 40 {
		t.Errorf("%d symbols are left of %d bytes", len(g.sequence), len(text))
	}
	var got []byte
	for _, s := range g.sequence {
		for _, unit := range g.expand(nil, s) {
			if unit != symbolEnd {
				got = append(got, byte(unit))
			}
		}
		if n := len(g.expand(nil, s)); n != g.size(s) {
			t.Errorf("a symbol of size %d stands for %d", g.size(s), n)
		}
	}
	if string(got) != text {
		t.Errorf("the sequence stands for %q", got)
	}
	for i := range g.counts.slots {
		if n := g.counts.slots[i].count; n < 0 {
			t.Fatalf("a pair is counted %d times", n)
		}
	}
}
