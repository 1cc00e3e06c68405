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
		checkAround(t, spans, rng.IntN(keys+1), want[:], key)
		first, last := rng.IntN(keys), rng.IntN(keys+1)
		meets := false
		for i := range want {
			if spans.Contains(key(i)) != want[i] {
				t.Fatalf("%q contains %q: %v", spans, key(i), !want[i])
			}
			if i >= first && i <= last {
				meets = meets || want[i]
			}
		}
		if first > last {
			continue
		}
		if got := spans.Meets(key(first), key(last)); got != meets {
			t.Fatalf("%q meets %q to %q: %v", spans, key(first), key(last), got)
		}
		between := spans.Between(key(first), key(last))
		for _, span := range spans {
			within := Spans{span}.Meets(key(first), key(last))
			if within != between.Meets(span.Start, span.Start) {
				t.Fatalf("%q between %q and %q: %q", spans, key(first), key(last), between)
			}
		}
	}
}

// checkAround checks that the span around a key has just those neighbours that are in the set, or
// not, as it is.
func checkAround(t *testing.T, spans Spans, at int, want []bool, key func(i int) []byte) {
	t.Helper()
	first, last := at, at
	for first > 0 && want[first-1] == want[at] {
		first--
	}
	for last+1 < len(want) && want[last+1] == want[at] {
		last++
	}
	span, inside := spans.Around(key(at))
	for i := range want {
		if inside != want[at] || span.Contains(key(i)) != (first <= i && i <= last) {
			t.Fatalf("%q around %q: %q, %v, want %d to %d", spans, key(at), span, inside, first, last)
		}
	}
}

func TestSpan_intersectsAsItsKeysDo(t *testing.T) {
	bounds := []string{"a", "b", "c", "d"}
	var all []Span
	for _, start := range bounds {
		all = append(all, Span{Start: []byte(start)})
		for _, end := range bounds {
			all = append(all, Span{[]byte(start), []byte(end)})
		}
	}
	all = append(all, Span{}, Span{End: []byte("c")}, Span{End: []byte{}})
	for _, a := range all {
		for _, b := range all {
			both := a.Intersect(b)
			for _, key := range []string{"", "a", "b", "bb", "c", "d", "e"} {
				k := []byte(key)
				if want := a.Contains(k) && b.Contains(k); both.Contains(k) != want {
					t.Errorf("%q and %q have %q in common: %v, want %v", a, b, key, !want, want)
				}
			}
		}
	}
}

func TestSpans_thatAreEmptyHaveNoKey(t *testing.T) {
	if span, inside := (Spans{}).Around([]byte("a")); inside || span.Start != nil || span.End != nil {
		t.Errorf("around a key: %q, %v", span, inside)
	}
	empty := Spans{}.With(Span{[]byte("b"), []byte("b")}, Span{[]byte("c"), []byte("a")})
	if len(empty) > 0 || empty.Meets([]byte("a"), []byte("z")) {
		t.Errorf("%q is not empty", empty)
	}
}
