package superversion

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
)

// entryBytes is what entries count for in samples of these tests.
func entryBytes(value int) int { return 1 + value }

// levels returns levels with these runs, the newest first, the last one at the bottom.
func (d *disk) levels(layers ...*layer) *Levels {
	d.t.Helper()
	version := &manifest.Version{}
	for i, l := range layers {
		r, files := d.run(l, false)
		if version.ValueFiles = append(version.ValueFiles, files...); i == len(layers)-1 {
			version.Bottom = r
		} else {
			version.Young = append(version.Young, r)
		}
	}
	version.Dictionaries = d.dictionaries
	return NewLevels(version, nil, d.opener())
}

// all returns all runs of levels, newest first.
func (l *Levels) all() []Run { return append(slices.Clone(l.Young), l.Bottom) }

func bucketKey(bucket uint64, i int) string {
	return string(fmt.Appendf(keyspace.AppendPrefix(nil, bucket), "%06d", i))
}

func TestSample_isFromAllOverTheBucketInAllRuns(t *testing.T) {
	d := newDisk(t)
	write := func(age string, first int) *layer {
		l := newLayer()
		for i := first; i < first+500; i++ {
			for bucket := range uint64(3) {
				l.put(bucketKey(bucket, i), fmt.Sprintf("%s %d of %d", age, i/100, bucket), 0)
			}
		}
		return l
	}
	levels := d.levels(write("new", 300), write("old", 0))
	got, count := map[string]bool{}, 0
	what := Sample{Bucket: 1, Places: 64, Bytes: 40, EntryBytes: entryBytes}
	for e := range levels.Sample(levels.all(), what) {
		got[string(e.Value)] = true
		count++
	}
	want := map[string]bool{}
	for i := range 8 {
		want[fmt.Sprintf("%s %d of 1", []string{"old", "new"}[min(i/3, 1)], i)] = true
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	if most := 64 * 4; count < most/2 || count > most {
		t.Errorf("got %d entries, want %d to %d", count, most/2, most)
	}
}

func TestSample_isOfWhatAMergeKeeps(t *testing.T) {
	d := newDisk(t)
	old, young := newLayer(), newLayer()
	for i := range 600 {
		old.put(bucketKey(1, i), "old", uint64(i/500)*d.now) // the last ones have expired
		switch {
		case i < 100:
			young.put(bucketKey(1, i), "new", 0)
		case i < 200:
			young.delete(bucketKey(1, i))
		}
	}
	young.deleteRange(bucketKey(1, 200), bucketKey(1, 300))
	levels := d.levels(young, old)
	got := map[string]int{}
	what := Sample{Bucket: 1, Places: 600, Bytes: 1, Now: d.now, EntryBytes: entryBytes}
	for e := range levels.Sample(levels.all(), what) {
		got[string(e.Value)]++
	}
	if len(got) != 2 || got["new"] == 0 || got["new"] > 100 || got["old"] == 0 || got["old"] > 200 {
		t.Errorf("got %v, want some of 100 new values and of 200 old ones", got)
	}
}

func TestSample_doesNotGoFarWhereThereIsNothing(t *testing.T) {
	d, l := newDisk(t), newLayer()
	for i := range 3000 {
		if l.put(bucketKey(1, i), "", 0); i%2 == 0 {
			l.delete(bucketKey(1, i))
		}
	}
	levels := d.levels(l)
	counted := 0
	what := Sample{Bucket: 1, Places: 10, Bytes: 50, EntryBytes: func(value int) int {
		if value == 0 {
			counted++
		}
		return 1 + value
	}}
	for e := range levels.Sample(levels.all(), what) {
		if e.Kind != keyspace.KindPut {
			t.Fatalf("got %v", e)
		}
	}
	if most := 3 * 10 * 50; counted == 0 || counted > most {
		t.Errorf("entries were counted %d times, want %d at most", counted, most)
	}
}

func TestSample_endsWhereSomethingCannotBeRead(t *testing.T) {
	d, l := newDisk(t), newLayer()
	for i := range 300 {
		l.put(bucketKey(1, i), strings.Repeat("text", 5), 0)
	}
	levels := d.levels(l)
	for _, h := range levels.Bottom.Tables[3:] {
		if err := d.files.Remove(fmt.Sprintf("%06d.table", h.Meta.Number)); err != nil {
			t.Fatal(err)
		}
	}
	what := Sample{Bucket: 1, Places: 100, Bytes: 1, EntryBytes: entryBytes}
	for range levels.Sample(levels.all(), what) {
		t.Fatal("there is a sample, though not all tables can be opened")
	}
}

func TestSample_ofNothingIsEmpty(t *testing.T) {
	d, l := newDisk(t), newLayer()
	l.put(bucketKey(1, 1), "value", 0)
	levels := d.levels(l)
	what := Sample{Bucket: 2, Places: 32, Bytes: 60, EntryBytes: entryBytes}
	for e := range levels.Sample(levels.all(), what) {
		t.Fatalf("got %v", e)
	}
}
