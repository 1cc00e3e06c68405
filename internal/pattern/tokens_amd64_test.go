//go:build !purego && !race

package pattern

import (
	"bytes"
	"reflect"
	"testing"
)

// The collector waits for the assembly.
func TestAssembly_leavesLargeValues(t *testing.T) {
	if !hasAssembly {
		t.Skip("this processor lacks AVX2, BMI1 or BMI2, so nothing decodes with assembly")
	}
	b := newBuilder()
	b.add([]op{b.newPhrase([]byte("a short phrase"))}, 1)
	b.add([]op{b.newPhrase(bytes.Repeat([]byte("phrases, "), 300))}, 1)
	d, err := b.dictionary()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range d.tokens {
		var w writer
		w.reset(1<<16, 0)
		phrase, size := int(d.opsOf(x)[0].n), 0
		for ; size < 3*maxUninterrupted; size += phrase {
			w.put(uint64(x.code), uint(x.bits))
		}
		w.put(1, 1)
		if got, err := checkTwins(t, d, w.bytes(), size); err != nil || len(got) != size {
			t.Fatalf("%d bytes, %v, want %d", len(got), err, size)
		}
		end, _ := endOf(w.bytes())
		s := decoder{d: d, p: w.bytes(), out: make([]byte, size), enough: size}
		_, err := s.assembled(end)
		if err != nil || s.n < maxUninterrupted-phrase || s.n > maxUninterrupted+phrase {
			t.Errorf("%d bytes, %v, want about %d at a time", s.n, err, maxUninterrupted)
		}
	}
}

// The assembly has these numbers in shifts, masks and instructions.
func TestAssembly_knowsSizes(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want int
	}{
		{"step", int(reflect.TypeFor[step]().Size()), 16},
		{"span", int(reflect.TypeFor[span]().Size()), 16},
		{"remembered fields", maxRemembered, 8},
		{"padding", padding, 16},
		{"bits of a long copy", copyLongBits, 16},
		{"bits of a code", maxCodeBits, 14},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, the assembly assumes %d", c.name, c.got, c.want)
		}
	}
}
