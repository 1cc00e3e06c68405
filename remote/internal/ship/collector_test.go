package ship

import (
	"testing"
	"time"
)

// The clock of the store counts only if that of the writer cannot be right.
func TestMadeAt_believesNoTimeOfTheFuture(t *testing.T) {
	now := time.UnixMilli(1_000_000_000_000)
	before, longBefore := now.Add(-time.Minute), now.Add(-time.Hour)
	after, longAfter := now.Add(time.Minute), now.Add(time.Hour)
	for _, c := range []struct{ at, stored, want time.Time }{
		{before, longBefore, before}, {longBefore, before, longBefore}, {before, time.Time{}, before},
		{after, before, before}, {after, time.Time{}, after}, {after, longAfter, after},
		{longAfter, after, longAfter}, {now, before, now},
	} {
		if got := madeAt(uint64(c.at.UnixMilli()), c.stored, now); !got.Equal(c.want) {
			t.Errorf("at %v, stored %v, now %v: made %v, want %v", c.at, c.stored, now, got, c.want)
		}
	}
}
