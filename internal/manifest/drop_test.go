package manifest

import (
	"bytes"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// mayHold reports in the simplest way whether a table of v may hold entries of a drop.
func (v *Version) mayHold(d Drop) bool {
	for t := range v.Tables() {
		for _, r := range keyspace.Ranges(d.First, d.Last) {
			if t.DropEpoch < d.Epoch && bytes.Compare(r[0], t.Largest) <= 0 &&
				bytes.Compare(t.Smallest, r[1]) < 0 {
				return true
			}
		}
	}
	return false
}

func TestMayHoldDropped_costsNothingForBucketsElsewhere(t *testing.T) {
	cost := func(drops int) float64 {
		v := &Version{DropEpoch: 1}
		for i := range uint64(drops) {
			v.Dropped = append(v.Dropped, Drop{10 + 2*i, 10 + 2*i, 1})
		}
		table := tableOf(1, "a", "b") // of bucket 7
		return testing.AllocsPerRun(10, func() {
			if v.MayHoldDropped(table) {
				t.Error("the table may hold a dropped bucket")
			}
		})
	}
	if few, many := cost(1), cost(1000); many > 2*few {
		t.Errorf("%v allocations among 1000 drops, %v with one", many, few)
	}
}
