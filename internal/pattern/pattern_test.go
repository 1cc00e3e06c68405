package pattern

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestEncoder_roundTrips(t *testing.T) {
	for _, k := range valueKinds {
		t.Run(k.name, func(t *testing.T) {
			values := k.values(1500)
			d := train(t, values[:1000])
			e, parsed, ref := d.NewEncoder(), reparsed(t, d), newReference(d.Append(nil))
			for _, value := range values[900:1100] {
				encoded := e.Append(nil, value)
				checkDecodes(t, d, encoded, value)
				checkDecodes(t, parsed, encoded, value)
				if got, err := ref.decode(encoded); err != nil || !bytes.Equal(got, value) {
					t.Fatalf("the reference decodes %q, %v, want %q", got, err, value)
				}
			}
		})
	}
}

func TestEncoder_packsWhatItUnderstands(t *testing.T) {
	for _, k := range valueKinds {
		values := k.values(2500)
		e, size := train(t, values[:2000]).NewEncoder(), 0
		for _, value := range values[2000:] {
			size += len(e.Append(nil, value))
		}
		if mean := float64(size) / 500; mean > k.most {
			t.Errorf("%s take %.1f bytes each, want at most %.1f", k.name, mean, k.most)
		}
	}
}

// A difference from the samples costs a little more, not everything.
func TestEncoder_packsWhatIsLikeTheSamples(t *testing.T) {
	values := valueKinds[0].values(300)
	e := train(t, values).NewEncoder()
	for _, change := range []struct{ old, new string }{
		{`"sequence": `, `"sequence": 999999`},
		{`"hash"`, `"extra": "field", "hash"`},
		{`.sha256`, `.sha512`},
	} {
		value := []byte(strings.Replace(string(values[0]), change.old, change.new, 1))
		if n := len(e.Append(nil, value)); n > 300 {
			t.Errorf("with %s, %d bytes take %d", change.new, len(value), n)
		}
	}
}

func TestEncoder_addsAtMostAByte(t *testing.T) {
	const seed = 1
	r := rand.New(rand.NewPCG(seed, 0))
	for _, d := range []*Dictionary{handmade(t), train(t, valueKinds[4].values(500))} {
		e := d.NewEncoder()
		for n := range 300 {
			value := randomBytes(r, n)
			encoded := e.Append(nil, value)
			if len(encoded) > n+1 {
				t.Fatalf("seed %d: %d bytes take %d", seed, n, len(encoded))
			}
			checkDecodes(t, d, encoded, value)
		}
	}
}

func TestEncoder_encodesValuesLikeNoSample(t *testing.T) {
	long := strings.Repeat("a long run of text that repeats, ", 5000)
	for _, d := range []*Dictionary{handmade(t), train(t, valueKinds[1].values(500))} {
		e := d.NewEncoder()
		for _, value := range []string{
			"", "x", "\x00", "\x00\x00\x00\x00\x00\x00\x00\x00\x00", "hello, world",
			strings.Repeat("\x00", 100_000), strings.Repeat("ab", 40), long,
			"18446744073709551615", "18446744073709551616", "00000000000000000000000001",
			"9999-12-31T23:59:59Z", "1970-01-01", "2023-02-29", "2024-02-29 24:00:00",
			"id: 999 and id: 1000 and id: 5095 and id: 5096 and ",
		} {
			checkDecodes(t, d, e.Append(nil, []byte(value)), []byte(value))
		}
	}
}

func TestEncoder_appends(t *testing.T) {
	d := handmade(t)
	e, value := d.NewEncoder(), []byte("hello, worldhello, world")
	encoded := e.Append(nil, value)
	if got := e.Append([]byte("before"), value); string(got) != "before"+string(encoded) {
		t.Errorf("Append = %q, want it behind what was there", got)
	}
}

func TestDictionary_neverAllocatesToDecode(t *testing.T) {
	for _, k := range valueKinds {
		values := k.values(500)
		d := train(t, values)
		encoded := d.NewEncoder().Append(nil, values[7])
		room := make([]byte, 0, len(values[7]))
		if n := testing.AllocsPerRun(10, func() {
			_, _ = d.DecodedLen(encoded)
			_, _ = d.Decode(room, encoded)
			_, _ = d.Decode(room[:0:10], encoded)
			_, _ = d.Decode(room, encoded[:len(encoded)/2])
		}); n != 0 {
			t.Errorf("%s: %v allocations", k.name, n)
		}
	}
}

func TestDictionary_refusesCutRecords(t *testing.T) {
	value := bytes.Repeat([]byte("id: 1234 and hello, world"), 3)
	d := handmade(t)
	encoded, ref := d.NewEncoder().Append(nil, value), newReference(d.Append(nil))
	for n := 1; n < len(encoded); n++ {
		cut := encoded[:n]
		if _, err := ref.decode(cut); err == nil {
			continue // the tokens end where it was cut
		}
		if size, err := d.DecodedLen(cut); err == nil {
			t.Errorf("DecodedLen of %d of %d bytes = %d", n, len(encoded), size)
		}
		if got, err := d.Decode(make([]byte, 0, 1000), cut); err == nil {
			t.Errorf("Decode of %d of %d bytes = %q", n, len(encoded), got)
		}
	}
}

func TestTrain_isWorthNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	random := make([][]byte, 100)
	for i := range random {
		random[i] = randomBytes(r, 1000)
	}
	for name, samples := range map[string][][]byte{
		"no samples": nil, "empty samples": {{}, {}}, "one byte": {{'x'}}, "random bytes": random,
	} {
		if d := Train(samples); d != nil {
			t.Errorf("%s: a dictionary of %d bytes", name, len(d.Append(nil)))
		}
	}
}

func TestTrain_isDeterministic(t *testing.T) {
	for _, k := range valueKinds {
		values := k.values(400)
		first := train(t, values).Append(nil)
		for range 3 {
			if !bytes.Equal(train(t, values).Append(nil), first) {
				t.Fatalf("%s: two dictionaries of the same samples differ", k.name)
			}
		}
	}
}

func TestTrain_keepsDictionariesSmall(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	var samples [][]byte
	for range 400 { // each text twice, so that there is far more to know than there is room for
		text := make([]byte, 500)
		for i := range text {
			text[i] = byte('a' + r.IntN(26))
		}
		samples = append(samples, text, text)
	}
	d := train(t, samples)
	if n := len(d.Append(nil)); n > maxDictionaryBytes {
		t.Errorf("the dictionary has %d bytes, want at most %d", n, maxDictionaryBytes)
	}
	reparsed(t, d)
}

func TestParse_refusesDamage(t *testing.T) {
	good := handmade(t).Append(nil)
	for n := range good {
		if _, err := Parse(good[:n]); err == nil {
			t.Errorf("the first %d bytes of a dictionary are one", n)
		}
	}
	bad := func(at int, b byte) []byte {
		p := bytes.Clone(good)
		p[at] = b
		return p
	}
	for name, p := range map[string][]byte{
		"one byte more":    append(bytes.Clone(good), 0),
		"another version":  bad(0, 2),
		"no width":         bad(1, 0),
		"codes too long":   bad(1, maxCodeBits+1),
		"too many codes":   bad(4, 9),
		"too large":        make([]byte, maxDictionaryBytes+1),
		"token of no ops":  {version, 1, 1, programMark},
		"unknown op":       {version, 1, 1, programMark | 1, kinds, 0, 0, 0},
		"end as op":        {version, 1, 1, programMark | 1, 0, 0},
		"marked op":        {version, 1, 1, programMark | 1, refBit | byte(kindUUID), 0},
		"reference beyond": {version, 1, 1, programMark | 1, refBit | byte(kindPhrase), 1, 0},
		"empty phrase":     {version, 1, 1, programMark | 1, byte(kindPhrase), 0},
		"20 digits":        {version, 1, 1, programMark | 1, byte(kindDigits), 0, 0, 20},
		"65 bits":          {version, 1, 1, programMark | 1, byte(kindNumber), 65, 0, 0},
		"integer of 9":     {version, 1, 1, programMark | 1, byte(kindBig), 8, 9, 0},
		"same as none":     {version, 1, 1, programMark | 1, byte(kindSame), maxRemembered},
	} {
		if _, err := Parse(p); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestDictionary_isSafeForConcurrentUse(t *testing.T) {
	values := valueKinds[1].values(300)
	d := train(t, values)
	done := make(chan error)
	for range 4 {
		go func() {
			e := d.NewEncoder()
			for _, value := range values {
				encoded := e.Append(nil, value)
				if got, err := d.Decode(make([]byte, 0, 500), encoded); string(got) != string(value) {
					done <- fmt.Errorf("Decode = %q, %w", got, err)
					return
				}
			}
			done <- nil
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
