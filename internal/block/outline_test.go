package block

import (
	"bytes"
	"math/rand"
	"testing"
)

// outlineOf parses the outline of the value block p, of which it reads no more than it must.
func outlineOf(p []byte, count int) (o Outline, ok bool, err error) {
	return ParseOutline(p[:min(len(p), OutlineBytes(count))], len(p), count)
}

func TestOutline_placesEachPartOfTheValues(t *testing.T) {
	const seed = 1
	rng := rand.New(rand.NewSource(seed))
	for _, encoding := range encodings(t) {
		for _, v := range valueShapes(rng) {
			p, codec := appendValues(t, nil, fillValues(v.all, encoding))
			o, ok, err := outlineOf(p, len(v.all))
			if err != nil || ok != (codec == Raw) {
				t.Fatalf("%s, %v: outline %v, %v, seed %d", v.name, codec, ok, err, seed)
			}
			for range 50 {
				if !ok {
					break
				}
				first := rng.Intn(len(v.all))
				n := 1 + rng.Intn(len(v.all)-first)
				from, to := o.Place(first, n)
				part := o.Part(p[from:to], first, n)
				for i, want := range v.all[first : first+n] {
					if got := part.At(i); got == nil || !bytes.Equal(got, want) {
						t.Fatalf("%s: value %d of %d from %d on is %.20x, want %.20x, seed %d", v.name, i,
							n, first, got, want, seed)
					}
				}
			}
		}
	}
}

func TestParseOutline_refusesWhatIsNoBlock(t *testing.T) {
	p := valueBlock(t, Encoding{}, []byte("ab"), []byte("abcd"), []byte("abc"))
	for n := range valueHeaderBytes + 3 {
		if _, ok, err := ParseOutline(p[:n], len(p), 3); ok || err == nil {
			t.Errorf("%d bytes are taken for the start of a block", n)
		}
	}
	for _, bytes := range []int{0, len(p) - 1, len(p) + 1} {
		if _, ok, err := ParseOutline(p, bytes, 3); ok || err == nil {
			t.Errorf("a block of %d bytes is taken for one of %d", len(p), bytes)
		}
	}
	if _, ok, err := ParseOutline(p, len(p), 2); ok || err == nil {
		t.Error("a block of three values is taken for one of two")
	}
	for _, at := range []int{1, 2, 4, 7, 8, 11, 12} {
		p[at] ^= 0x81
		if _, ok, err := ParseOutline(p, len(p), 3); ok || err == nil {
			t.Errorf("a block with another byte %d is taken", at)
		}
		p[at] ^= 0x81
	}
}

func FuzzParseOutline(f *testing.F) {
	for _, v := range valueShapes(rand.New(rand.NewSource(1))) {
		if p := valueBlock(f, Encoding{}, v.all...); len(p) < 5000 {
			f.Add(p, len(p), len(v.all))
		}
	}
	f.Fuzz(func(t *testing.T, p []byte, bytes, count int) {
		o, ok, err := ParseOutline(p, bytes, count)
		if !ok || err != nil {
			return
		}
		at, _ := o.Place(0, 0)
		for i := range count {
			from, to := o.Place(i, 1)
			if from != at || to < from || to > bytes {
				t.Fatalf("value %d of a block of %d bytes lies at [%d, %d)", i, bytes, from, to)
			}
			at = to
		}
	})
}
