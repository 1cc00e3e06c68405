package compaction

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
)

func TestCompaction_makesNoDictionaryOfWhatItLeavesOut(t *testing.T) {
	s := newStore(t)
	s.tableBytes, s.blockBytes = 1<<20, 1000
	rng := rand.New(rand.NewPCG(1, 2))
	fill := func(first, n int, text string) writes {
		w := writes{}
		for i := first; i < first+n; i++ {
			key := fmt.Appendf(keyspace.AppendPrefix(nil, 1), "%06d", i)
			w[string(key)] = cell{value: fmt.Appendf(nil, "%s %016x and more", text, rng.Uint64())}
		}
		return w
	}
	key := func(i int) []byte { return fmt.Appendf(keyspace.AppendPrefix(nil, 1), "%06d", i) }
	s.bottom(fill(0, 2000, "the secret of alice in wonderland"))
	s.young(fill(3000, 900, "nothing of interest"), keyspace.Span{Start: key(0), End: key(2500)})
	job := s.job(1)
	job.Output.Patterns, job.Output.Compress, job.Output.SampleBytes = true, true, 8<<10
	edit, err := job.Do()
	check(t, err)
	if len(edit.AddDictionaries) != 1 {
		t.Fatalf("there are %d dictionaries", len(edit.AddDictionaries))
	}
	data := edit.AddDictionaries[0].Data
	if bytes.Contains(data, []byte("lic")) || !bytes.Contains(data, []byte("erest")) {
		t.Errorf("the dictionary is %q", data)
	}
}
