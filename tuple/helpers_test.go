package tuple_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stoatdb/stoat/tuple"
)

// encode returns the encoding of the values.
func encode(tb testing.TB, values ...any) []byte {
	tb.Helper()
	p, err := tuple.Encode(values...)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// same reports whether two decoded elements are the same, to the bit.
func same(a, b any) bool {
	if d, ok := a.(tuple.Descending); ok {
		e, ok := b.(tuple.Descending)
		return ok && same(d.Value, e.Value)
	}
	return rank(a) == rank(b) && compare(a, b) == 0
}

// rank returns where the type of a decoded element sorts.
func rank(v any) int {
	switch v := v.(type) {
	case nil:
		return 1
	case bool:
		return 2
	case int64, uint64:
		return 3
	case float64:
		return 4
	case string:
		return 5
	case []byte:
		return 6
	case time.Time:
		return 7
	case [16]byte:
		return 8
	case tuple.Descending:
		return 100 - rank(v.Value)
	}
	return 0
}

// compare returns the order of two decoded elements, decided by their values.
func compare(a, b any) int {
	if rank(a) != rank(b) {
		return cmp.Compare(rank(a), rank(b))
	}
	switch a := a.(type) {
	case bool:
		return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
	case int64, uint64:
		return compareIntegers(a, b)
	case float64:
		return compareFloats(a, b.(float64))
	case string:
		return cmp.Compare(a, b.(string))
	case []byte:
		return bytes.Compare(a, b.([]byte))
	case time.Time:
		b := b.(time.Time)
		if c := cmp.Compare(a.Unix(), b.Unix()); c != 0 {
			return c
		}
		return cmp.Compare(a.Nanosecond(), b.Nanosecond())
	case [16]byte:
		b := b.([16]byte)
		return bytes.Compare(a[:], b[:])
	case tuple.Descending:
		return compare(b.(tuple.Descending).Value, a.Value)
	}
	return 0
}

func compareIntegers(a, b any) int {
	x, small := a.(int64)
	y, low := b.(int64)
	switch {
	case small && low:
		return cmp.Compare(x, y)
	case small:
		return -1
	case low:
		return 1
	}
	return cmp.Compare(a.(uint64), b.(uint64))
}

func compareFloats(a, b float64) int {
	switch {
	case a != a || b != b:
		return -cmp.Compare(a, b) // which has NaN first
	case a == 0 && b == 0:
		return cmp.Compare(1/a, 1/b)
	}
	return cmp.Compare(a, b)
}

// compareTuples returns the order of two decoded tuples.
func compareTuples(a, b tuple.Tuple) int {
	for i := range min(len(a), len(b)) {
		if c := compare(a[i], b[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

// edges are elements at the limits of their types, in no order.
func edges() tuple.Tuple {
	values := tuple.Tuple{
		nil, false, true, int64(math.MinInt64), int64(math.MaxInt64), uint64(math.MaxUint64),
		uint64(math.MaxInt64 + 1), math.Inf(-1), math.Inf(1), math.NaN(), 0.0,
		math.Copysign(0, -1), math.SmallestNonzeroFloat64, -math.MaxFloat64, "", "\x00",
		"\x00\x00", "\x01", "\x01\x01", "\x02", "a", "a\x00", "a\x00b", "a\x01", "ab", "\xff",
		"\xff\xff", []byte{}, []byte{0}, []byte{1}, []byte{0xFF}, time.Time{},
		time.Unix(math.MinInt64, 0).UTC(), time.Unix(math.MaxInt64, 999_999_999).UTC(),
		time.Unix(0, 1).UTC(), [16]byte{}, [16]byte{15: 1},
	}
	for _, shift := range []int{0, 1, 7, 8, 15, 16, 24, 31, 32, 40, 48, 52, 53, 56, 61, 62} {
		for _, d := range []int64{-1, 0, 1} {
			v := int64(1)<<shift + d
			values = append(values, v, -v, float64(v), -float64(v)/3)
		}
	}
	for _, v := range values {
		values = append(values, tuple.Desc(v))
	}
	return values
}

// random returns a tuple of n elements, most of them from a few, so that tuples share beginnings.
func random(r *rand.Rand, from tuple.Tuple, n int) tuple.Tuple {
	var values tuple.Tuple
	for range n {
		values = append(values, from[r.IntN(len(from))])
	}
	return values
}
