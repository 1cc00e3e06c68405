package stoat

import "testing"

func TestBounds_haveNoRoomToOverwriteEachOther(t *testing.T) {
	for end, want := range map[string]string{"b": "bucket b", "": "bucket!"} {
		r := Range{Start: []byte("a"), End: []byte(end)}
		var buf []byte
		for range 2 { // the second time in the same memory
			lower, upper, ok := r.bounds(&buf, []byte("bucket "))
			_, _ = append(lower, "more"...), append(upper, "more"...)
			if !ok || string(lower) != "bucket a" || string(upper) != want {
				t.Errorf("the bounds are %q and %q", lower, upper)
			}
		}
	}
}
