package flush

import (
	"fmt"
	"iter"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/sorter"
)

func TestSpread_isFromAllOverTheBucket(t *testing.T) {
	w, pairs := writes{}, new(sorter.Sorter)
	for i := range 1000 {
		for _, bucket := range []uint64{1, 2, 3} {
			key := fmt.Appendf(keyspace.AppendPrefix(nil, bucket), "%06d", i)
			value := fmt.Appendf(nil, "%d of bucket %d", i/100, bucket)
			w[string(key)] = value
			pairs.Add(key, value)
		}
	}
	w[string(fmt.Appendf(keyspace.AppendPrefix(nil, 2), "%06d", 2000))] = nil
	pairs.Sort()
	for name, spread := range map[string]iter.Seq2[keyspace.Entry, error]{
		"memtable": Job{Root: w.root()}.spread(2, 4000),
		"pairs":    spreadOf(pairs)(2, 4000),
	} {
		got := map[string]int{}
		for e, err := range spread {
			check(t, err)
			got[string(e.Value)]++
		}
		for hundred := range 10 {
			value := fmt.Sprintf("%d of bucket 2", hundred)
			if n := got[value]; n < 10 || n > 90 {
				t.Errorf("%s: %d times %q, want a part of 100", name, n, value)
			}
		}
		if len(got) != 10 {
			t.Errorf("%s: there are values of other buckets: %v", name, got)
		}
	}
}
