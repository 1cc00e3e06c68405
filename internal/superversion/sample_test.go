package superversion

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
)

func TestSample_isFromAllOverTheBucketInAllRuns(t *testing.T) {
	d := newDisk(t)
	write := func(age string, first int) manifest.Run {
		l := newLayer()
		for i := first; i < first+500; i++ {
			for bucket := range uint64(3) {
				key := fmt.Appendf(keyspace.AppendPrefix(nil, bucket), "%06d", i)
				l.put(string(key), fmt.Sprintf("%s %d of %d", age, i/100, bucket), 0)
			}
		}
		r, _ := d.run(l, false)
		return r
	}
	old, young := write("old", 0), write("new", 300)
	levels := NewLevels(&manifest.Version{Young: []manifest.Run{young}, Bottom: old}, nil, d.opener())
	got, count := map[string]bool{}, 0
	for e, err := range Sample([]Run{levels.Young[0], levels.Bottom}, 1, 64, 40) {
		if err != nil {
			t.Fatal(err)
		}
		got[string(e.Value)] = true
		count++
	}
	var want []string
	for i := range 5 {
		want = append(want, fmt.Sprintf("old %d of 1", i), fmt.Sprintf("new %d of 1", 3+i))
	}
	if !maps.Equal(got, setOf(want)) {
		t.Errorf("got %v, want %v", slices.Sorted(maps.Keys(got)), want)
	}
	if most := 64 * 4; count < most/2 || count > most {
		t.Errorf("got %d entries, want %d to %d", count, most/2, most)
	}
}

func setOf(all []string) map[string]bool {
	set := make(map[string]bool, len(all))
	for _, s := range all {
		set[s] = true
	}
	return set
}

func TestSample_ofNothingIsEmpty(t *testing.T) {
	d, l := newDisk(t), newLayer()
	l.put(string(append(keyspace.AppendPrefix(nil, 1), 'k')), "value", 0)
	r, _ := d.run(l, false)
	levels := NewLevels(&manifest.Version{Bottom: r}, nil, d.opener())
	for e, err := range Sample([]Run{levels.Bottom}, 2, 32, 60) {
		t.Fatalf("got %v, %v", e, err)
	}
}
