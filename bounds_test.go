package stoat

import "testing"

func TestBounds_haveNoRoomToOverwriteEachOther(t *testing.T) {
	r := Range{Start: []byte("a"), End: []byte("b")}
	var buf []byte
	for range 2 { // the second time in the same memory
		lower, upper, ok := r.bounds(&buf, []byte("bucket "))
		_, _ = append(lower, "more"...), append(upper, "more"...)
		if !ok || string(lower) != "bucket a" || string(upper) != "bucket b" {
			t.Errorf("the bounds are %q and %q", lower, upper)
		}
	}
}
