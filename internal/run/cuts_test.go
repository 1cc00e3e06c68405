package run

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// cutsAt returns cuts before the numbered keys of bucket 7.
func cutsAt(numbers ...int) (cuts [][]byte) {
	for _, n := range numbers {
		cuts = append(cuts, []byte(dataKey(7, fmt.Sprintf("key%05d", n))))
	}
	return cuts
}

func TestWriter_cutsTablesWhereItIsToldTo(t *testing.T) {
	for _, c := range []struct {
		name string
		cuts []int
		want []int // the number of the first entry of each table
	}{
		{"no cuts", nil, []int{10}},
		{"in the middle", []int{15}, []int{10, 15}},
		{"at the first key", []int{10}, []int{10}},
		{"below all", []int{1, 2, 3}, []int{10}},
		{"at the last key", []int{29}, []int{10, 29}},
		{"above all", []int{30, 40}, []int{10}},
		{"several", []int{5, 12, 13, 20, 50}, []int{10, 12, 13, 20}},
	} {
		config := config(newFS(t))
		config.TableBytes, config.Cuts = 1<<20, cutsAt(c.cuts...)
		var got [][]byte
		for _, meta := range writeTables(t, config, numbered(10, 20)) {
			got = append(got, meta.Smallest)
		}
		if !slices.EqualFunc(got, cutsAt(c.want...), bytes.Equal) {
			t.Errorf("%s: tables start at %q, want %v", c.name, got, c.want)
		}
	}
}

// Several cuts lie between two keys, and entries that pass some of them are skipped.
func TestWriter_passesCutsWithEntriesThatAreLeftOut(t *testing.T) {
	c := config(newFS(t))
	c.Dropped = func(id uint64) bool { return id == 3 }
	for _, cut := range [...]string{
		dataKey(2, "b"), dataKey(3, ""), dataKey(3, "b"), dataKey(4, "b"),
	} {
		c.Cuts = append(c.Cuts, []byte(cut))
	}
	var got []string
	for _, meta := range writeTables(t, c, puts(dataKey(2, "a"), dataKey(3, "a"), dataKey(3, "c"),
		dataKey(4, "a"), dataKey(4, "b"))) {
		got = append(got, string(meta.Smallest))
	}
	want := []string{dataKey(2, "a"), dataKey(4, "a"), dataKey(4, "b")}
	if !slices.Equal(got, want) {
		t.Errorf("tables start at %q, want %q", got, want)
	}
}

func TestWriter_reachesOverNoCut(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 50 {
		var numbers []int
		for range rng.IntN(12) {
			numbers = append(numbers, rng.IntN(150))
		}
		slices.Sort(numbers)
		c := config(newFS(t))
		c.TableBytes, c.Cuts = 100+rng.Int64N(4000), cutsAt(numbers...)
		entries := numbered(20, 100)
		tables := writeTables(t, c, entries)
		if got := readAll(t, c.FS, tables); !slices.Equal(got, entries) {
			t.Fatalf("seed %d: with cuts at %v, %d entries come back", seed, numbers, len(got))
		}
		for _, meta := range tables {
			for _, cut := range cutsAt(numbers...) {
				if bytes.Compare(meta.Smallest, cut) < 0 && bytes.Compare(cut, meta.Largest) <= 0 {
					t.Fatalf("seed %d: a table is from %q to %q, over the cut %q", seed,
						meta.Smallest, meta.Largest, cut)
				}
			}
		}
	}
}
