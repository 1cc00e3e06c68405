package pattern

import (
	"bytes"
	"testing"
)

// cut cuts p into samples, at each byte that equals the first.
func cut(p []byte) [][]byte {
	if len(p) == 0 {
		return nil
	}
	return bytes.Split(p[1:], p[:1])
}

// joined returns what cut cuts into the samples.
func joined(samples [][]byte) []byte {
	return append([]byte{'\xFF'}, bytes.Join(samples, []byte{'\xFF'})...)
}

// FuzzEncoder encodes and decodes any values with a dictionary of any samples, and with one that
// has all kinds of ops. Every second value is repeated up to the given length.
func FuzzEncoder(f *testing.F) {
	for _, k := range valueKinds {
		values := k.values(30)
		f.Add(joined(values), joined(values[5:9]), uint16(1))
	}
	f.Add([]byte(",aaaa,aaaa,aaaab,aaaa"), []byte(",aaaaaaaaaa,\x80\x81\x82,,aaab"), uint16(5000))
	f.Add([]byte(nil), []byte("/id: 1234 and 1234 and 2023-04-05T06:07:08Z/hello, world/1/?!"),
		uint16(20_000))
	made := handmade(f)
	f.Fuzz(func(t *testing.T, samples, values []byte, size uint16) {
		list := cut(values)
		for i := 1; i < len(list); i += 2 {
			list[i] = repeated(list[i], int(size))
		}
		checkRoundTrip(t, made, list...)
		if d := Train(cut(samples)); d != nil {
			checkRoundTrip(t, reparsed(t, d), list...)
			checkRoundTrip(t, d, cut(samples)[:1]...)
		}
	})
}

// repeated returns p repeated to at least size bytes, unless it is empty.
func repeated(p []byte, size int) []byte {
	return bytes.Repeat(p, 1+size/max(len(p), 1))
}

// checkRoundTrip encodes and decodes the values, one after the other with the same encoder.
func checkRoundTrip(tb testing.TB, d *Dictionary, values ...[]byte) {
	tb.Helper()
	e := d.NewEncoder()
	for _, value := range values {
		encoded := e.Append(nil, value)
		if len(encoded) > len(value)+1 {
			tb.Fatalf("%d bytes take %d", len(value), len(encoded))
		}
		checkDecodes(tb, d, encoded, value)
	}
}

// FuzzDictionary decodes any bytes with any dictionary. All decoders and the reference must agree.
func FuzzDictionary(f *testing.F) {
	made := handmade(f)
	for _, value := range []string{"", "hello, world", "id: 1234 and 1234 and 1234",
		"2023-04-05T06:07:08Z and 2023-04-05", "0123456789abcdef"} {
		f.Add(made.Append(nil), made.NewEncoder().Append(nil, []byte(value)))
	}
	for _, k := range valueKinds {
		values := k.values(40)
		d := train(f, values)
		f.Add(d.Append(nil), d.NewEncoder().Append(nil, values[9]))
	}
	f.Fuzz(func(t *testing.T, serial, encoded []byte) {
		d, err := Parse(serial)
		if err != nil {
			return
		}
		checkRoundTrip(t, d, encoded, repeated(encoded, 5000), encoded)
		size, err := d.DecodedLen(encoded)
		if size > 1<<20 {
			return
		}
		d.Work(encoded)
		want, refErr := newReference(serial).decode(encoded)
		if (err == nil) != (refErr == nil) {
			t.Fatalf("DecodedLen = %d, %v, but the reference says %v", size, err, refErr)
		}
		if err == nil {
			checkDecodes(t, d, encoded, want)
			return
		}
		for _, size := range []int{1 << 12, 100, 10} {
			if got, err := checkTwins(t, d, encoded, size); err == nil {
				t.Fatalf("Decode = %q without an error, DecodedLen has one", got)
			}
		}
		for _, n := range []int{0, 1, 100} {
			// Damage after the head causes no error.
			got, err := d.DecodeHead(make([]byte, 0, n+HeadRoom), encoded, n)
			if err == nil && len(got) < n {
				t.Fatalf("DecodeHead of %d bytes = %q of a damaged value", n, got)
			}
		}
	})
}
