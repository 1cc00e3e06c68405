package tuple_test

import (
	"bytes"
	"testing"

	"github.com/stoatdb/stoat/tuple"
)

// FuzzDecode decodes any two byte strings: each is either refused or exactly what its elements
// encode to, and the two compare as their elements do.
func FuzzDecode(f *testing.F) {
	for _, g := range golden {
		f.Add(encode(f, g.values...), encode(f, 1, tuple.Desc("ab\x00")))
	}
	values := edges()
	for i := range len(values) - 3 {
		f.Add(encode(f, values[i:i+1]...), encode(f, values[i:i+3]...))
	}
	f.Fuzz(func(t *testing.T, p, q []byte) {
		a, err := tuple.Decode(p)
		if err != nil {
			return
		}
		if again := encode(t, a...); !bytes.Equal(again, p) {
			t.Fatalf("%x is accepted as %#v, which is %x", p, a, again)
		}
		b, err := tuple.Decode(q)
		if err != nil {
			return
		}
		if got, want := bytes.Compare(p, q), compareTuples(a, b); got != want {
			t.Fatalf("%x and %x compare as %d, their elements as %d", p, q, got, want)
		}
	})
}

// FuzzReader skips through any bytes without a look at the values.
func FuzzReader(f *testing.F) {
	f.Add(encode(f, edges()...))
	f.Fuzz(func(t *testing.T, p []byte) {
		r, n := tuple.NewReader(p), 0
		for r.More() && r.Skip() == nil {
			n++
		}
		if n > len(p) {
			t.Fatalf("%d elements in %d bytes", n, len(p))
		}
	})
}
