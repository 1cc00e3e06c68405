package run

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// samplerOf returns the [Sampler] of puts of one bucket.
func samplerOf(entries []entry) Sampler {
	return func(_ uint64, bytes int) iter.Seq[keyspace.Entry] {
		return SampleEvenly(func(yield func(keyspace.Entry) bool) {
			for _, e := range entries {
				if !yield(keyspace.Entry{Kind: keyspace.KindPut, Value: []byte(e.value)}) {
					return
				}
			}
		}, bytes)
	}
}

// counting returns puts of bucket 1 whose values are 0, 1 and so on, in 10 digits.
func counting(n int) (all []entry) {
	for i := range n {
		all = append(all, put(dataKey(1, fmt.Sprintf("%06d", i)), fmt.Sprintf("%010d", i)))
	}
	return all
}

func TestSampleEvenly_yieldsNeighboursFromAllOver(t *testing.T) {
	const count = 10_000
	bytes := SamplePoints * 20 * EntryBytes(10) // 20 values from each point
	var got []int
	for e := range samplerOf(counting(count))(1, bytes) {
		i, err := strconv.Atoi(string(e.Value))
		check(t, err)
		got = append(got, i)
	}
	var starts []int
	for i, n := range got {
		if i == 0 || n != got[i-1]+1 {
			starts = append(starts, n)
		}
	}
	if len(starts) != 32 || starts[0] != 0 || starts[31] < count*30/32 {
		t.Errorf("stretches start at %d", starts)
	}
	if len(got) < 32*20 || len(got) > 32*21 {
		t.Errorf("there are %d values, want about %d", len(got), 32*20)
	}
}

func TestSampleEvenly_yieldsAllOfLittle(t *testing.T) {
	n := 0
	for range samplerOf(counting(100))(1, 6400) {
		n++
	}
	if n != 100 {
		t.Errorf("there are %d of 100 values", n)
	}
}

func TestWriter_makesADictionaryOfWhatIsAllOver(t *testing.T) {
	rng := testRand()
	entries := bucketOf(1, 24<<10, func() string { return event("login", rng) })
	for _, e := range bucketOf(1, 200<<10, func() string {
		return fmt.Sprintf("<session user='%d' from='10.0.0.%d'><ok/></session>", rng.IntN(1e6),
			rng.IntN(256))
	}) {
		entries = append(entries, put(dataKey(1, "x"+e.key), e.value))
	}
	stored := func(sampler Sampler) (bytes uint64) {
		files := newFS(t)
		c := choosing(files)
		c.Sampler = sampler
		o := write(t, c, entries)
		if got := decodedAll(t, files, o); !slices.Equal(got, entries) {
			t.Fatal("what is read is not what was written")
		}
		return shareOf(t, o.Tables, 1).Stored
	}
	narrow, wide := stored(nil), stored(samplerOf(entries))
	if wide > narrow/2 {
		t.Errorf("%d bytes with a dictionary of what is all over, %d with one of the first values",
			wide, narrow)
	}
}
