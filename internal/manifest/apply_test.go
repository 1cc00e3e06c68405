package manifest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
)

func TestApply_putsTheNewestRunFirst(t *testing.T) {
	v := outcomes(t, someEdits()[:2])[2]
	if len(v.Young) != 2 || !slices.Equal(numbers(v.Young[0]), []uint64{23}) ||
		!slices.Equal(numbers(v.Young[1]), []uint64{20, 21}) {
		t.Errorf("young runs are %s", text(v))
	}
	if v.LogNumber != 4 || v.LastCommit != 17 || v.NextNumber != 24 {
		t.Errorf("numbers are %s", text(v))
	}
}

func TestApply_movesAndSortsTables(t *testing.T) {
	v := outcomes(t, someEdits()[:4])[4]
	if len(v.Young) != 1 || !slices.Equal(numbers(v.Young[0]), []uint64{23}) {
		t.Errorf("a run that is left empty stays: %s", text(v))
	}
	if !slices.Equal(numbers(v.Bottom), []uint64{20, 30}) {
		t.Errorf("bottom run is %v", numbers(v.Bottom))
	}
	var all []uint64
	for table := range v.Tables() {
		all = append(all, table.Number)
	}
	if !slices.Equal(all, []uint64{23, 20, 30}) {
		t.Errorf("tables are %v", all)
	}
}

func TestApply_changesNeitherTheVersionNorTheEdit(t *testing.T) {
	edits := someEdits()
	versions := outcomes(t, edits)
	var before []string
	for _, v := range versions {
		before = append(before, text(v))
	}
	for i, e := range edits {
		for range 2 {
			applied(t, versions[i], e)
		}
		applied(t, versions[i], &Edit{Drop: []uint64{1, 7}})
	}
	for i, v := range versions {
		if text(v) != before[i] {
			t.Errorf("version %d was %s, is %s", i, before[i], text(v))
		}
	}
	if e := edits[3]; e.AddBottom[0].Number != 30 {
		t.Error("the edit's tables were sorted")
	}
}

func TestApply_refusesWhatDoesNotFit(t *testing.T) {
	future := tableOf(40, "A", "B")
	future.DropEpoch = 1
	v := outcomes(t, someEdits()[:2])[2]
	v = applied(t, v, &Edit{Remove: []uint64{20}, AddBottom: []*Table{tableOf(20, "a", "c")}})
	for name, e := range map[string]*Edit{
		"remove a missing table":   {Remove: []uint64{99}},
		"remove a table twice":     {Remove: []uint64{23, 23}},
		"number of another table":  {AddYoung: []*Table{tableOf(23, "p", "q")}},
		"two tables of one number": {AddYoung: []*Table{tableOf(40, "a", "b"), tableOf(40, "c", "d")}},
		"unsorted young run":       {AddYoung: []*Table{tableOf(40, "c", "d"), tableOf(41, "a", "b")}},
		"overlap in a young run":   {AddYoung: []*Table{tableOf(40, "a", "c"), tableOf(41, "c", "d")}},
		"overlap in the bottom":    {AddBottom: []*Table{tableOf(40, "c", "d")}},
		"ends before it starts":    {AddBottom: []*Table{tableOf(40, "y", "x")}},
		"log goes back":            {LogNumber: 3},
		"commits go back":          {LastCommit: 16},
		"numbers go back":          {NextNumber: 23},
		"epoch to come":            {AddYoung: []*Table{future}},
	} {
		if next, err := v.Apply(e); err == nil {
			t.Errorf("%s: applied: %s", name, text(next))
		}
	}
	applied(t, v, &Edit{LogNumber: 4, LastCommit: 17, NextNumber: 24})
}

func TestApply_mergesDroppedBucketsIntoRanges(t *testing.T) {
	v := &Version{Bottom: Run{[]*Table{{
		Number: 1, Smallest: keyspace.AppendCatalog(nil, 0), Largest: keyspace.AppendPrefix(nil, 1<<40),
	}}}}
	v = applied(t, v, &Edit{Drop: []uint64{9, 7, 300, 8, 9}})
	v = applied(t, v, &Edit{Drop: []uint64{10, 6, 8, 20}})
	want := []Drop{{6, 6, 2}, {7, 9, 1}, {10, 10, 2}, {20, 20, 2}, {300, 300, 1}}
	if !slices.Equal(v.Dropped, want) || v.DropEpoch != 2 {
		t.Errorf("dropped are %v in epoch %d, want %v", v.Dropped, v.DropEpoch, want)
	}
	for id := range uint64(400) {
		want := id >= 6 && id <= 10 || id == 20 || id == 300
		if v.IsDropped(id) != want {
			t.Errorf("IsDropped(%d) = %v", id, !want)
		}
	}
}

func TestApply_forgetsDroppedBucketsThatNoTableHolds(t *testing.T) {
	versions := outcomes(t, someEdits())
	if want := []Drop{{7, 9, 1}}; !slices.Equal(versions[3].Dropped, want) {
		t.Errorf("after the drop: %v, want %v", versions[3].Dropped, want)
	}
	v := versions[5] // 20 and 30 are older than the drop, 31 is not
	for i, number := range []uint64{20, 30} {
		if !v.IsDropped(7) {
			t.Fatalf("forgotten with %d old tables left", 2-i)
		}
		rewritten := tableOf(50+number, string(rune('A'+i)), string(rune('A'+i)))
		rewritten.DropEpoch = 1
		v = applied(t, v, &Edit{Remove: []uint64{number}, AddBottom: []*Table{rewritten}})
	}
	if len(v.Dropped) != 0 || v.DropEpoch != 1 {
		t.Errorf("kept without old tables: %s", text(v))
	}
}

func TestApply_keepsDroppedBucketsWhileAnythingOfThemIsLeft(t *testing.T) {
	for name, key := range map[string][]byte{
		"data":     append(keyspace.AppendPrefix(nil, 7), "k"...),
		"sequence": keyspace.AppendSequence(nil, 7),
		"children": append(keyspace.AppendCatalog(nil, 7), "child"...),
	} {
		v := applied(t, &Version{}, &Edit{AddYoung: []*Table{{Number: 1, Smallest: key, Largest: key}}})
		if v = applied(t, v, &Edit{Drop: []uint64{6, 7, 8}}); len(v.Dropped) != 1 {
			t.Errorf("%s: dropped are %v", name, v.Dropped)
		}
		if v = applied(t, v, &Edit{Remove: []uint64{1}}); len(v.Dropped) != 0 {
			t.Errorf("%s: dropped are %v without tables", name, v.Dropped)
		}
		v = applied(t, v, &Edit{AddYoung: []*Table{{Number: 2, Smallest: key, Largest: key}}})
		if v = applied(t, v, &Edit{Drop: []uint64{5, 8}}); len(v.Dropped) != 0 {
			t.Errorf("%s: dropped are %v, which no table holds", name, v.Dropped)
		}
	}
}

// TestApply_agreesWithAPlainModel applies random edits and compares with a set of tables and a set
// of dropped buckets.
func TestApply_agreesWithAPlainModel(t *testing.T) {
	rng := newRand(t)
	for range 20 {
		v, next := &Version{}, uint64(1)
		live := map[uint64]*Table{}
		dropped := map[uint64]uint64{}
		for range 60 {
			e := randomEdit(rng, v, &next)
			v = applied(t, v, e)
			for _, n := range e.Remove {
				delete(live, n)
			}
			for _, added := range slices.Concat(e.AddYoung, e.AddBottom) {
				live[added.Number] = added
			}
			for _, id := range e.Drop {
				if dropped[id] == 0 {
					dropped[id] = v.DropEpoch
				}
			}
			compare(t, v, live, dropped)
		}
	}
}

// randomEdit returns an edit that fits v.
func randomEdit(rng *rand.Rand, v *Version, next *uint64) *Edit {
	newTables := func(n int) (tables []*Table) {
		for i := range n {
			id := uint64(i*10 + rng.IntN(5))
			tables = append(tables, &Table{
				Number:    *next,
				DropEpoch: v.DropEpoch,
				Smallest:  append(keyspace.AppendPrefix(nil, id), 'a'),
				Largest:   append(keyspace.AppendPrefix(nil, id+uint64(rng.IntN(5))), 'z'),
			})
			*next++
		}
		return tables
	}
	e := &Edit{}
	switch rng.IntN(3) {
	case 0:
		e.AddYoung = newTables(rng.IntN(4))
	case 1: // merge everything
		for table := range v.Tables() {
			e.Remove = append(e.Remove, table.Number)
		}
		e.AddBottom = newTables(rng.IntN(5))
		rng.Shuffle(len(e.AddBottom), func(i, j int) {
			e.AddBottom[i], e.AddBottom[j] = e.AddBottom[j], e.AddBottom[i]
		})
	case 2:
		for range rng.IntN(4) {
			e.Drop = append(e.Drop, uint64(rng.IntN(60)))
		}
	}
	return e
}

func compare(t *testing.T, v *Version, live map[uint64]*Table, dropped map[uint64]uint64) {
	t.Helper()
	n := 0
	for table := range v.Tables() {
		if live[table.Number] != table {
			t.Fatalf("table %d is not live", table.Number)
		}
		n++
	}
	if n != len(live) {
		t.Fatalf("%d tables, want %d", n, len(live))
	}
	check(t, v.check())
	for id, epoch := range dropped {
		single := Drop{id, id, epoch}
		if v.mayHold(single) && !v.IsDropped(id) {
			t.Fatalf("bucket %d is forgotten, but a table may hold it: %s", id, text(v))
		}
	}
	for _, d := range v.Dropped {
		if !v.mayHold(d) {
			t.Fatalf("%v is kept for nothing: %s", d, text(v))
		}
		for id := d.First; id <= d.Last; id++ {
			if dropped[id] == 0 {
				t.Fatalf("bucket %d was never dropped", id)
			}
		}
	}
}

func BenchmarkApply(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			v := &Version{}
			for i := range n {
				key := fmt.Sprintf("%06d", i)
				v.Bottom.Tables = append(v.Bottom.Tables, tableOf(uint64(i+1), key, key+"x"))
			}
			e := &Edit{Remove: []uint64{5}, AddBottom: []*Table{v.Bottom.Tables[4]}}
			for b.Loop() {
				applied(b, v, e)
			}
		})
	}
}
