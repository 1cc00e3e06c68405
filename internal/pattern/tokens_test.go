package pattern

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// everything returns a dictionary with all kinds of ops in many variants, each after a phrase of
// another length.
func everything(tb testing.TB) *Dictionary {
	tb.Helper()
	b := newBuilder()
	b.add([]op{b.newPhrase([]byte("x"))}, 3) // a code that shifts what follows by three bits
	var ops []op
	for _, k := range []kind{kindHex, kindHexUpper, kindBase64, kindBase64URL, kindBytes} {
		ops = append(ops, op{kind: k, n: 1, bits: 8}, op{kind: k, n: 43}, op{kind: k, n: 1, bits: 4})
	}
	for _, k := range []kind{kindBase64, kindBase64URL} {
		ops = append(ops, op{kind: k, n: 1, bits: 8, at: 1}, op{kind: k, n: 134, at: 1})
	}
	for _, bits := range []uint8{0, 1, 7, 10, 20, 30, 34, 54, 57, 58, 64} {
		ops = append(ops, op{kind: kindNumber, bits: bits, at: b.base(0)})
	}
	ops = append(ops, op{kind: kindNumber, bits: 5, at: b.base(990)},
		op{kind: kindNumber, bits: 5, at: b.base(1e6 - 10)},
		op{kind: kindNumber, bits: 5, at: b.base(1e9 - 10)},
		op{kind: kindNumber, bits: 10, at: b.base(1e16 - 10)},
		op{kind: kindDigits, n: 1, bits: 4}, op{kind: kindDigits, n: 6}, op{kind: kindDigits, n: 9},
		op{kind: kindUUID}, op{kind: kindUUIDUpper}, op{kind: kindTime, bits: 36, at: b.base(0)},
		op{kind: kindTimeSpace, bits: 38, at: b.base(0)}, op{kind: kindDate, bits: 22, at: b.base(0)},
		op{kind: kindSame}, op{kind: kindSame, n: 7}, op{kind: kindCopy})
	for n := range uint16(8) {
		ops = append(ops, op{kind: kindLittle, bits: 8 * uint8(n), n: n + 1, at: b.base(0)},
			op{kind: kindBig, bits: 8*uint8(n) + 8, n: n + 1, at: b.base(7)})
	}
	for i, x := range ops {
		phrase := b.newPhrase(bytes.Repeat([]byte{'p'}, 1+i*3%70))
		b.add([]op{phrase, x, b.newPhrase([]byte("/"))}, 7)
	}
	d, err := b.dictionary()
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// anyDictionary returns a dictionary of random tokens.
func anyDictionary(tb testing.TB, r *rand.Rand) *Dictionary {
	tb.Helper()
	counts := make([]uint32, 1+r.IntN(1<<r.IntN(8)))
	for i := range counts {
		counts[i] = uint32(r.IntN(1 << r.IntN(20)))
	}
	lengths := codeLengths(counts)
	slices.Sort(lengths)
	b := newBuilder()
	for _, n := range lengths {
		var ops []op
		for range 1 + r.IntN(1+r.IntN(6)) {
			ops = append(ops, anyOp(r, b))
		}
		b.add(ops, n)
	}
	d, err := b.dictionary()
	if err != nil {
		tb.Fatal(err)
	}
	return reparsed(tb, d)
}

func anyOp(r *rand.Rand, b *builder) op {
	for {
		x := op{kind: kind(r.IntN(kinds)), bits: uint8(r.IntN(1 + r.IntN(65)))}
		switch {
		case x.kind == kindPhrase:
			return b.newPhrase(randomBytes(r, 1+r.IntN(1+r.IntN(100))))
		case x.kind.based():
			x.at = b.base(r.Uint64() >> r.IntN(64))
			if x.kind == kindLittle || x.kind == kindBig {
				x.n = 1 + uint16(r.IntN(8))
			}
		case x.kind.counted():
			x.n, x.at = 1+uint16(r.IntN(1+r.IntN(400))), uint32(r.IntN(2))
		case x.kind == kindSame:
			x.n, x.bits = uint16(r.IntN(maxRemembered)), 0
		default:
			x.bits = 0
		}
		if x.check() == nil {
			return x
		}
	}
}

// randomTokens returns an encoded value of n tokens with random fields. Those of a kindCopy may be
// damaged.
func randomTokens(r *rand.Rand, d *Dictionary, n int) []byte {
	var w writer
	w.reset(n<<15, 0)
	random := func(bits uint) {
		for ; bits > 32; bits -= 32 {
			w.put(uint64(r.Uint32()), 32)
		}
		w.put(uint64(r.Uint32())&(1<<bits-1), bits)
	}
	for range n {
		t := d.tokens[max(0, r.IntN(len(d.tokens)+9)-9)]
		w.put(uint64(t.code), uint(t.bits))
		for _, x := range d.opsOf(t) {
			switch {
			case x.kind == kindPhrase || x.kind == kindSame:
			case x.kind == kindCopy:
				random(copyBits + 3)
			case x.kind.based():
				random(uint(x.bits))
			default:
				more := r.Uint64N(1 << x.bits)
				if x.kind.counted() {
					w.put(more, uint(x.bits))
				}
				random(x.dataBits(int(x.n) + int(more)))
			}
		}
	}
	w.put(1, 1)
	return w.bytes()
}

func TestDecoders_agreeWithTheReference(t *testing.T) {
	const seed = 1
	r := rand.New(rand.NewPCG(seed, 0))
	d := everything(t)
	ref := newReference(d.Append(nil))
	damaged := 0
	for i := range 3000 {
		encoded := randomTokens(r, d, 1+r.IntN(12))
		want, refErr := ref.decode(encoded)
		if refErr != nil {
			damaged++
			if _, err := checkTwins(t, d, encoded, 10_000); err == nil {
				t.Fatalf("seed %d, value %d: no error, the reference has one", seed, i)
			}
			continue
		}
		for extra := range 45 {
			got, err := checkTwins(t, d, encoded, len(want)+extra)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("seed %d, value %d: Decode = %q, %v, want %q", seed, i, got, err, want)
			}
		}
		checkTwins(t, d, encoded, r.IntN(len(want)))
	}
	if damaged > 1000 {
		t.Errorf("%d values are damaged", damaged)
	}
}

func TestDecoders_agreeOnDamage(t *testing.T) {
	const seed = 1
	r := rand.New(rand.NewPCG(seed, 0))
	dictionaries := hostileDictionaries(t)
	dictionaries["everything"], dictionaries["handmade"] = everything(t), handmade(t)
	for name, d := range dictionaries {
		for range 2000 {
			encoded := randomTokens(r, d, 1+r.IntN(8))
			for range r.IntN(4) {
				encoded[r.IntN(len(encoded))] ^= 1 << r.IntN(8)
			}
			encoded = encoded[:1+r.IntN(len(encoded))]
			got, err := checkTwins(t, d, encoded, r.IntN(2000))
			if n, lenErr := d.DecodedLen(encoded); err == nil && (lenErr != nil || n != len(got)) {
				t.Fatalf("seed %d, %s: %d bytes of %x, but DecodedLen = %d, %v", seed, name, len(got),
					encoded, n, lenErr)
			}
		}
	}
}

func TestDecoders_agreeWhateverTheDictionary(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 0))
		d := anyDictionary(t, r)
		ref := newReference(d.Append(nil))
		for i := range 100 {
			encoded := randomTokens(r, d, 1+r.IntN(20))
			if i%2 > 0 {
				encoded[r.IntN(len(encoded))] ^= 1 << r.IntN(8)
			}
			want, refErr := ref.decode(encoded)
			for range 10 {
				got, err := checkTwins(t, d, encoded, len(want)+r.IntN(60))
				if (err == nil) != (refErr == nil) || err == nil && !bytes.Equal(got, want) {
					t.Fatalf("seed %d, value %d: Decode of %x = %q, %v, want %q, %v", seed, i, encoded, got,
						err, want, refErr)
				}
			}
			checkTwins(t, d, encoded, r.IntN(1+len(want)))
		}
	}
}

// Copies that overlap what they are copied from repeat it.
func TestDecoders_copyFromAnyDistance(t *testing.T) {
	const first = "0123456789abcdefghijklmnopqrstuvwxyzABCD"
	b := newBuilder()
	b.add([]op{b.newPhrase([]byte(first))}, 1)
	b.add([]op{{kind: kindCopy}}, 1)
	d, err := b.dictionary()
	if err != nil {
		t.Fatal(err)
	}
	for distance := 1; distance <= len(first); distance++ {
		for size := copyMin; size <= 3*len(first); size++ {
			var w writer
			w.reset(64, 0)
			w.put(0, 1)
			w.put(1, 1)
			more := size - copyMin
			w.put(uint64(min(more, copyLong)), copyBits)
			if more >= copyLong {
				w.put(uint64(more-copyLong), copyLongBits)
			}
			w.put(uint64(distance-1), distanceBits(len(first)))
			w.put(1, 1)
			want := []byte(first)
			for range size {
				want = append(want, want[len(want)-distance])
			}
			for _, extra := range []int{0, 15, 16, 40} {
				got, err := checkTwins(t, d, w.bytes(), len(want)+extra)
				if err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%d bytes from %d back: %q, %v, want %q", size, distance, got, err, want)
				}
			}
		}
	}
}
