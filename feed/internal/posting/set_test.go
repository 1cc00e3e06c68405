package posting

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// draw returns a random set and the same as a plain slice.
func draw(r *rand.Rand) (Set, []bool) {
	in := make([]bool, Size)
	low := r.IntN(Size)
	high := low + r.IntN(Size-low) + 1
	switch r.IntN(4) {
	case 0: // a few
		for range r.IntN(50) {
			in[r.IntN(Size)] = true
		}
	case 1: // of any density
		density := r.IntN(100)
		for n := low; n < high; n++ {
			in[n] = r.IntN(100) < density
		}
	case 2: // runs
		for n := low; n < high; n += r.IntN(3000) + 1 {
			for m := n; m < min(n+r.IntN(2000), Size); m++ {
				in[m] = true
			}
		}
	case 3: // around what a list can hold
		for n := range listMax - 2 + r.IntN(5) {
			in[n*(1+r.IntN(2))] = true
		}
	}
	return Of(numbers(in)), in
}

func numbers(in []bool) []uint16 {
	var all []uint16
	for n, ok := range in {
		if ok {
			all = append(all, uint16(n))
		}
	}
	return all
}

func random(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// wantSet wants a set to have just these numbers, asked in all ways.
func wantSet(t *testing.T, r *rand.Rand, s Set, in []bool) {
	t.Helper()
	want := numbers(in)
	if s.Len() != len(want) {
		t.Fatalf("%d numbers, want %d", s.Len(), len(want))
	}
	var got []uint16
	for n, ok := s.Next(0); ok; n, ok = s.Next(n + 1) {
		got = append(got, uint16(n))
	}
	if !slices.Equal(got, want) {
		t.Fatal("other numbers on the way up")
	}
	got = got[:0]
	for n, ok := s.Prev(Size); ok; n, ok = s.Prev(n) {
		got = append(got, uint16(n))
	}
	slices.Reverse(got)
	if !slices.Equal(got, want) {
		t.Fatal("other numbers on the way down")
	}
	for range 20 {
		n := r.IntN(Size + 1)
		rank, _ := slices.BinarySearch(want, uint16(n))
		if n == Size {
			rank = len(want)
		} else if s.Has(uint16(n)) != in[n] {
			t.Fatalf("Has(%d) is %t", n, !in[n])
		}
		if s.Rank(n) != rank {
			t.Fatalf("Rank(%d) is %d, want %d", n, s.Rank(n), rank)
		}
		if got, ok := s.Select(rank); ok != (rank < len(want)) || ok && got != int(want[rank]) {
			t.Fatalf("Select(%d) is %d, %t", rank, got, ok)
		}
	}
}

func TestSet_isWhatWasPutIn(t *testing.T) {
	r := random(t)
	wantSet(t, r, Set{}, make([]bool, Size))
	for range 60 {
		s, in := draw(r)
		wantSet(t, r, s, in)
		stored := s.Append(nil)
		if len(stored) > bitmapBytes+1 {
			t.Errorf("%d bytes for %d numbers", len(stored), s.Len())
		}
		back, err := Parse(stored)
		if err != nil {
			t.Fatal(err)
		}
		wantSet(t, r, back, in)
	}
}

func TestSet_algebra(t *testing.T) {
	r := random(t)
	for range 60 {
		a, inA := draw(r)
		b, inB := draw(r)
		and, or, not := make([]bool, Size), make([]bool, Size), make([]bool, Size)
		for n := range Size {
			and[n], or[n], not[n] = inA[n] && inB[n], inA[n] || inB[n], inA[n] && !inB[n]
		}
		wantSet(t, r, a.And(b), and)
		wantSet(t, r, a.Or(b), or)
		wantSet(t, r, a.AndNot(b), not)
		wantSet(t, r, a, inA)
		wantSet(t, r, b, inB)
	}
}

func TestSpan_hasAllBetween(t *testing.T) {
	r := random(t)
	spans := [][2]int{{0, Size}, {0, 0}, {5, 4}, {63, 64}, {64, 65}, {0, 64}, {Size - 1, Size + 9}}
	for range 20 {
		spans = append(spans, [2]int{r.IntN(Size), r.IntN(Size)})
	}
	for _, span := range spans {
		in := make([]bool, Size)
		for n := span[0]; n < min(span[1], Size); n++ {
			in[n] = true
		}
		wantSet(t, r, Span(span[0], span[1]), in)
	}
}

func TestAppend_isSmall(t *testing.T) {
	var every3, every64 []uint16
	for n := 0; n < Size; n += 3 {
		every3 = append(every3, uint16(n))
	}
	for n := 0; n < Size; n += 64 {
		every64 = append(every64, uint16(n))
	}
	for _, c := range []struct {
		name string
		set  Set
		max  int
	}{
		{"empty", Set{}, 1}, {"one", Of([]uint16{9}), 2}, {"all", Span(0, Size), 5},
		{"every third", Of(every3), bitmapBytes + 1}, {"every 64th", Of(every64), 1025},
	} {
		if got := len(c.set.Append(nil)); got > c.max {
			t.Errorf("%s: %d bytes, want at most %d", c.name, got, c.max)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte{})
	f.Add(Span(3, 9).Append(nil))
	f.Add(Of([]uint16{1, 2, 700, 65535}).Append(nil))
	f.Add([]byte{formRuns, 0, 1, 0, 1})
	f.Add([]byte{formGaps, 0xff, 0xff, 0x03, 0})
	f.Fuzz(func(t *testing.T, p []byte) {
		s, err := Parse(p)
		if err != nil {
			return
		}
		back, err := Parse(s.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		if s.Len() != back.Len() || s.AndNot(back).Len() != 0 {
			t.Fatalf("%d numbers became %d others", s.Len(), back.Len())
		}
	})
}
