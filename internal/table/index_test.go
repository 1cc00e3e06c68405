package table

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
)

func TestNewSpans_keepTiesShort(t *testing.T) {
	counters := func(prefix string, n int) (keys []string) {
		for i := range n {
			keys = append(keys, prefix+string(binary.BigEndian.AppendUint64(nil, uint64(i*40))))
		}
		return keys
	}
	for _, c := range []struct {
		name  string
		keys  []string
		spans int
	}{
		{"one", []string{"only"}, 1},
		{"counters", counters("\x10", 1000), 1},
		{"catalog, then counters", append([]string{"\x01a"}, counters("\x10", 1000)...), 2},
		{"buckets", slices.Concat([]string{"\x01a"}, counters("\x11\x01", 500),
			counters("\x11\x02", 500), counters("\x11\x03", 500)), 4},
		{"long paths", slices.Concat(counters("/a/long/path/", 100),
			counters("/a/long/path/that/goes/on/", 100)), 2},
		{"zeros", slices.Collect(func(yield func(string) bool) {
			for i := range 9 {
				if !yield(strings.Repeat("\x00", i)) {
					return
				}
			}
		}), 6},
	} {
		firsts := make([][]byte, len(c.keys))
		for i, key := range c.keys {
			firsts[i] = []byte(key)
		}
		spans, fences := newSpans(nil, nil, firsts, 0)
		if len(spans) != c.spans || len(fences) != len(firsts) {
			t.Errorf("%s: %d spans with %d fences, want %d and %d", c.name, len(spans), len(fences),
				c.spans, len(firsts))
		}
		checkFind(t, &index{spans: spans, fences: fences}, firsts, firsts)
	}
}

func TestFind_isNeverFarOff(t *testing.T) {
	for seed := range int64(20) {
		rng := rand.New(rand.NewSource(seed))
		var firsts, keys [][]byte
		for range 300 {
			key := make([]byte, rng.Intn(25))
			for i := range key {
				key[i] = "\x00\x00\x01a\xff"[rng.Intn(5)]
			}
			keys = append(keys, key)
			firsts = append(firsts, key, fmt.Appendf(nil, "prefix%d/%d", rng.Intn(3), rng.Intn(1000)))
		}
		slices.SortFunc(firsts, bytes.Compare)
		firsts = slices.CompactFunc(firsts, bytes.Equal)
		x := &index{}
		x.spans, x.fences = newSpans(nil, nil, firsts, 0)
		checkFind(t, x, firsts, append(keys, nil, []byte{0xFF}, []byte("prefix1"), []byte("prefix9")))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// checkFind fails the test unless find returns, for each key, the last block that starts at or
// below it, or one close behind it with the same fence.
func checkFind(t *testing.T, x *index, firsts, keys [][]byte) {
	t.Helper()
	for _, key := range keys {
		want, exact := slices.BinarySearchFunc(firsts, key, bytes.Compare)
		if !exact {
			want--
		}
		got := x.search(key)
		if got < want || got > want+9 || got > want && x.fences[got] != x.fences[want+1] {
			t.Errorf("find(%q) = %d, want %d or a tie of %d", key, got, want, want+1)
		}
	}
}
