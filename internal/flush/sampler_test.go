package flush

import (
	"fmt"
	"iter"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/sorter"
)

func TestSampler_coversTheWholeBucket(t *testing.T) {
	w, pairs, config := writes{}, new(sorter.Sorter), run.Config{Values: run.Values{Separate: 200}}
	for i := range 1000 {
		for _, bucket := range []uint64{1, 2, 3} {
			key := fmt.Appendf(keyspace.AppendPrefix(nil, bucket), "%06d", i)
			value := fmt.Appendf(nil, "%d of bucket %d", i/100, bucket)
			if i%10 == 7 { // which belongs into a value file
				value = make([]byte, 5000)
			}
			w[string(key)] = value
			pairs.Add(key, value)
		}
	}
	w[string(fmt.Appendf(keyspace.AppendPrefix(nil, 2), "%06d", 2000))] = nil
	pairs.Sort()
	for name, sample := range map[string]iter.Seq[keyspace.Entry]{
		"memtable": samplerOf(&config, Job{Root: w.root()}.puts)(2, 4000),
		"pairs":    samplerOf(&config, pairs.From)(2, 4000),
	} {
		got := map[string]int{}
		for e := range sample {
			got[string(e.Value)]++
		}
		for hundred := range 10 {
			value := fmt.Sprintf("%d of bucket 2", hundred)
			if n := got[value]; n < 10 || n > 90 {
				t.Errorf("%s: %d times %q, want a part of 100", name, n, value)
			}
		}
		if len(got) != 10 {
			t.Errorf("%s: there are values that do not belong there: %d different ones", name, len(got))
		}
	}
}
