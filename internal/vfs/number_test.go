package vfs

import (
	"fmt"
	"math"
	"testing"
)

func TestParseNumber_readsWhatNamesHave(t *testing.T) {
	for _, n := range []uint64{0, 7, 999_999, 1_000_000, math.MaxInt64} {
		if got, ok := ParseNumber(fmt.Sprintf("%06d", n)); !ok || got != n {
			t.Errorf("%d is read as %d, %v", n, got, ok)
		}
	}
	for _, digits := range []string{
		"", "1", "00001", "0000001", "+00001", "-00001", "00000x", " 00001", "1_00000",
		"9223372036854775808", "99999999999999999999",
	} {
		if got, ok := ParseNumber(digits); ok {
			t.Errorf("%q is read as %d", digits, got)
		}
	}
}
