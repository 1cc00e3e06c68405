package manifest

import (
	"bytes"
	"fmt"
	"math"
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
		t.Errorf("the oldest young run stays: %s", text(v))
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
	oldest := YoungRuns{Count: 1}
	v = applied(t, v, &Edit{RemoveYoung: oldest, AddBottom: []*Table{tableOf(20, "a", "c")}})
	twice := runOf(tableOf(40, "a", "b"), tableOf(40, "c", "d"))
	overlapping := runOf(tableOf(40, "a", "c"), tableOf(41, "c", "d"))
	deleting := func(spans ...keyspace.Span) []Run { return []Run{{Deleted: spans}} }
	for name, e := range map[string]*Edit{
		"remove a missing table":   {Remove: []uint64{99}},
		"remove a table twice":     {Remove: []uint64{20, 20}},
		"remove a young table":     {Remove: []uint64{23}},
		"too many young runs":      {RemoveYoung: YoungRuns{Count: 2}},
		"young runs above all":     {RemoveYoung: YoungRuns{Older: 1, Count: 1}},
		"no young runs above all":  {RemoveYoung: YoungRuns{Older: 2}},
		"fewer than no young runs": {RemoveYoung: YoungRuns{Older: 1, Count: -1}},
		"young runs below all":     {RemoveYoung: YoungRuns{Older: -1, Count: 1}},
		"a sum that overflows":     {RemoveYoung: YoungRuns{math.MaxInt, math.MaxInt}},
		"number of another table":  {AddYoung: runOf(tableOf(23, "p", "q"))},
		"two tables of one number": {AddYoung: twice},
		"unsorted young run":       {AddYoung: runOf(tableOf(40, "c", "d"), tableOf(41, "a", "b"))},
		"overlap in a young run":   {AddYoung: overlapping},
		"empty young run":          {AddYoung: []Run{{}}},
		"unsorted deletions":       {AddYoung: deleting(deletion("c", "d"), deletion("a", "b"))},
		"overlapping deletions":    {AddYoung: deleting(deletion("a", "c"), deletion("b", "d"))},
		"deletions that touch":     {AddYoung: deleting(deletion("a", "b"), deletion("b", "c"))},
		"deletion of nothing":      {AddYoung: deleting(deletion("a", "a"))},
		"deletion behind the end":  {AddYoung: deleting(deletion("a", ""), deletion("b", "c"))},
		"overlap in the bottom":    {AddBottom: []*Table{tableOf(40, "c", "d")}},
		"ends before it starts":    {AddBottom: []*Table{tableOf(40, "y", "x")}},
		"log goes back":            {LogNumber: 3},
		"commits go back":          {LastCommit: 16},
		"numbers go back":          {NextNumber: 23},
		"epoch to come":            {AddYoung: runOf(future)},
	} {
		if next, err := v.Apply(e); err == nil {
			t.Errorf("%s: applied: %s", name, text(next))
		}
	}
	applied(t, v, &Edit{LogNumber: 4, LastCommit: 17, NextNumber: 24})
}

func TestApply_mergesDroppedBucketsIntoRanges(t *testing.T) {
	v := &Version{Bottom: Run{Tables: []*Table{{
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
		table := &Table{Number: 1, Smallest: key, Largest: key}
		v := applied(t, &Version{}, &Edit{AddYoung: runOf(table)})
		if v = applied(t, v, &Edit{Drop: []uint64{6, 7, 8}}); len(v.Dropped) != 1 {
			t.Errorf("%s: dropped are %v", name, v.Dropped)
		}
		if v = applied(t, v, &Edit{RemoveYoung: YoungRuns{Count: 1}}); len(v.Dropped) != 0 {
			t.Errorf("%s: dropped are %v without tables", name, v.Dropped)
		}
		v = applied(t, v, &Edit{AddYoung: runOf(table)})
		if v = applied(t, v, &Edit{Drop: []uint64{5, 8}}); len(v.Dropped) != 0 {
			t.Errorf("%s: dropped are %v, which no table holds", name, v.Dropped)
		}
	}
}

func TestApply_replacesYoungRunsWhereTheyWere(t *testing.T) {
	v := &Version{}
	for i := range uint64(5) {
		v = applied(t, v, &Edit{AddYoung: runOf(tableOf(i+1, "a", "b"))})
	}
	merge := &Edit{
		RemoveYoung: YoungRuns{Older: 1, Count: 2},
		AddYoung:    append(runOf(tableOf(11, "a", "b")), runOf(tableOf(10, "a", "b"))...),
	}
	v = applied(t, v, &Edit{AddYoung: runOf(tableOf(6, "a", "b"))}) // a flush meanwhile
	v = applied(t, v, merge)
	var got []uint64
	for _, r := range v.Young {
		got = append(got, numbers(r)...)
	}
	if want := []uint64{6, 5, 4, 11, 10, 1}; !slices.Equal(got, want) {
		t.Errorf("young runs are %v, want %v", got, want)
	}
}

func TestApply_takesARunThatOnlyDeletes(t *testing.T) {
	v := applied(t, &Version{}, &Edit{AddYoung: runOf(tableOf(1, "d", "f"))})
	v = applied(t, v, &Edit{AddYoung: []Run{{Deleted: keyspace.Spans{deletion("a", "c")}}}})
	newest := v.Young[0]
	if len(v.Young) != 2 || newest.Bytes() != 0 || len(newest.Deleted) != 1 {
		t.Errorf("young runs are %s", text(v))
	}
	decoded, err := decodeVersion(appendVersion(nil, v))
	if err != nil || text(decoded) != text(v) {
		t.Errorf("it is decoded as %+v: %v", decoded, err)
	}
	v = applied(t, v, &Edit{RemoveYoung: YoungRuns{Older: 1, Count: 1}})
	if len(v.Young) != 1 || v.Young[0].Deleted != nil {
		t.Errorf("it stays: %s", text(v))
	}
}

func TestSpan_coversTablesAndDeletions(t *testing.T) {
	tables := []*Table{tableOf(1, "d", "f"), tableOf(2, "h", "k")}
	two := keyspace.Spans{deletion("a", "b"), deletion("c", "e")}
	for name, c := range map[string]struct {
		run  Run
		want keyspace.Span
	}{
		"tables":           {Run{Tables: tables}, deletion("d", "k")},
		"deletions":        {Run{Deleted: two}, deletion("a", "e")},
		"deletions within": {Run{tables, keyspace.Spans{deletion("e", "g")}}, deletion("d", "k")},
		"deletions around": {Run{tables, keyspace.Spans{deletion("a", "z")}}, deletion("a", "z")},
		"no bound":         {Run{tables, keyspace.Spans{deletion("e", "")}}, deletion("d", "")},
	} {
		first, last, ok := c.run.Span()
		if !ok || !bytes.Equal(first, c.want.Start) || !bytes.Equal(last, c.want.End) ||
			(last == nil) != (c.want.End == nil) {
			t.Errorf("%s: %q to %q, %v", name, first, last, ok)
		}
	}
	if first, last, ok := (Run{}).Span(); ok {
		t.Errorf("an empty run spans %q to %q", first, last)
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
