package replica

import (
	"slices"
	"testing"
)

// Sessions compare by ranges what they would announce.
func TestEnds_areWhatIsAnnounced(t *testing.T) {
	a := newPeer(t, nil)
	for i := range int64(10) {
		b := newPeer(t, a)
		b.put(task{ID: i})
		a.put(task{ID: 50 + i})
		meet(t, a, b)
	}
	ends, err := endpoint{a.space}.Ends()
	must(t, err)
	heads, at, _, err := endpoint{a.space}.Announce(0, 1000)
	must(t, err)
	if ends.Position != at || len(ends.All) != len(heads) || len(heads) < 11 {
		t.Fatalf("%d ends up to %v, %d heads up to %v", len(ends.All), ends.Position, len(heads), at)
	}
	for i, e := range ends.All {
		if !slices.Contains(heads, e.Head) {
			t.Errorf("%x is not announced", e.Log)
		}
		if i > 0 && e.Time < ends.All[i-1].Time {
			t.Errorf("%d is behind %d", e.Time, ends.All[i-1].Time)
		}
	}
	again, err := endpoint{a.space}.Ends()
	must(t, err)
	if again != ends {
		t.Error("it was read again, and nothing has changed")
	}
	a.put(task{ID: 99})
	must(t, a.space.Seal())
	later, err := endpoint{a.space}.Ends()
	must(t, err)
	if last := later.All[len(later.All)-1].Head; slices.Contains(heads, last) {
		t.Errorf("the last one is %v", last)
	}
}
