package keyspace

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestSpans_agreeWithASetOfKeys(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	const keys = 24
	key := func(i int) []byte { return fmt.Appendf(nil, "%02d", i) }
	for range 2000 {
		var spans Spans
		var want [keys + 1]bool
		for range rng.IntN(6) {
			from, to := rng.IntN(keys), rng.IntN(keys)
			span := Span{Start: key(from), End: key(to)}
			if rng.IntN(20) == 0 {
				span.End, to = nil, keys+1
			}
			for i := from; i < to; i++ {
				want[i] = true
			}
			spans = spans.With(span)
		}
		for i, span := range spans {
			if i > 0 && (spans[i-1].End == nil || string(spans[i-1].End) >= string(span.Start)) {
				t.Fatalf("spans touch: %q", spans)
			}
		}
		first, last := rng.IntN(keys), rng.IntN(keys+1)
		meets, covers := false, true
		for i := range want {
			if spans.Contains(key(i)) != want[i] {
				t.Fatalf("%q contains %q: %v", spans, key(i), !want[i])
			}
			if i >= first && i <= last {
				meets, covers = meets || want[i], covers && want[i]
			}
		}
		if first > last {
			continue
		}
		if got := spans.Meets(key(first), key(last)); got != meets {
			t.Fatalf("%q meets %q to %q: %v", spans, key(first), key(last), got)
		}
		if want := covers; spans.Covers(key(first), key(last)) && !want {
			t.Fatalf("%q covers %q to %q", spans, key(first), key(last))
		}
	}
}

func TestSpans_coverOneSpanOnly(t *testing.T) {
	spans := Spans{}.With(Span{[]byte("b"), []byte("d")}, Span{[]byte("d"), []byte("f")})
	if !spans.Covers([]byte("b"), []byte("e")) || spans.Covers([]byte("b"), []byte("f")) {
		t.Errorf("%q covers the wrong keys", spans)
	}
	if !(Spans{{Start: []byte("b")}}).Covers([]byte("c"), []byte("zzz")) {
		t.Error("a span without end does not cover what follows")
	}
}
