package manifest

import (
	"math"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// pointing returns a table of one key with these value shares.
func pointing(number uint64, shares ...ValueShare) *Table {
	key := string(rune('a' + number%20))
	t := tableOf(number, key, key)
	t.Values = shares
	return t
}

func TestApply_addsUpWhatIsLiveInValueFiles(t *testing.T) {
	versions := outcomes(t, someEdits())
	for i, want := range [][]ValueFile{
		nil,
		{{2, 2000, true, 900, 3}},
		{{2, 2000, true, 950, 4}, {3, 90_000, true, 70_000, 200}},
		{{2, 2000, true, 950, 4}, {3, 90_000, true, 70_000, 200}},
		{{2, 2000, true, 950, 4}, {3, 90_000, true, 70_000, 200}}, // a moved table
		{{2, 2000, true, 900, 3}, {32, 60_100, false, 60_000, 170}},
	} {
		if got := versions[i].ValueFiles; !slices.Equal(got, want) {
			t.Errorf("after %d edits: %+v, want %+v", i, got, want)
		}
	}
	last := versions[len(versions)-1]
	if f, ok := last.ValueFile(32); !ok || f != (ValueFile{32, 60_100, false, 60_000, 171}) {
		t.Errorf("file 32 is %+v, %v", f, ok)
	}
	for _, number := range []uint64{0, 3, 33} {
		if f, ok := last.ValueFile(number); ok {
			t.Errorf("file %d is %+v", number, f)
		}
	}
}

func TestApply_forgetsValueFilesThatNoTablePointsInto(t *testing.T) {
	v := applied(t, &Version{}, &Edit{
		AddYoung:  runOf(pointing(10, ValueShare{1, 1, 0})), // an empty value is a value, too
		AddValues: []ValueFile{{Number: 3}, {Number: 1, Size: 7, Live: 99, Count: 99}, {Number: 3}},
	})
	if want := []ValueFile{{1, 7, false, 0, 1}}; !slices.Equal(v.ValueFiles, want) {
		t.Errorf("value files are %+v, want %+v", v.ValueFiles, want)
	}
	v = applied(t, v, &Edit{RemoveYoung: YoungRuns{Count: 1}})
	if len(v.ValueFiles) > 0 {
		t.Errorf("value files are %+v", v.ValueFiles)
	}
}

func TestApply_leavesAValueFileThatIsAddedAgain(t *testing.T) {
	v := outcomes(t, someEdits())[2]
	v = applied(t, v, &Edit{
		AddYoung:  runOf(pointing(40, ValueShare{2, 1, 5})),
		AddValues: []ValueFile{{Number: 2, Size: 1}},
	})
	if f, _ := v.ValueFile(2); f != (ValueFile{2, 2000, true, 955, 5}) {
		t.Errorf("file 2 is %+v", f)
	}
}

func TestApply_refusesSharesThatCannotBe(t *testing.T) {
	v := outcomes(t, someEdits())[2]
	buckets := func(ids ...uint64) *Edit {
		table := tableOf(40, "a", "b")
		for _, id := range ids {
			table.Buckets = append(table.Buckets, BucketShare{Bucket: id, Entries: 1, Bytes: 1})
		}
		return &Edit{AddYoung: runOf(table)}
	}
	values := func(shares ...ValueShare) *Edit {
		return &Edit{AddYoung: runOf(pointing(40, shares...))}
	}
	twice, taken := values(ValueShare{9, 1, 1}), values(ValueShare{23, 1, 1})
	twice.AddValues = []ValueFile{{Number: 9}, {Number: 9, Log: true}}
	taken.AddValues = []ValueFile{{Number: 23}}
	for name, e := range map[string]*Edit{
		"a missing file":           values(ValueShare{9, 1, 1}),
		"one missing file of two":  values(ValueShare{2, 1, 1}, ValueShare{9, 1, 1}),
		"files out of order":       values(ValueShare{3, 1, 1}, ValueShare{2, 1, 1}),
		"a file twice":             values(ValueShare{2, 1, 1}, ValueShare{2, 1, 1}),
		"no value":                 values(ValueShare{2, 0, 1}),
		"more bytes than counted":  values(ValueShare{2, 1, math.MaxUint64}),
		"more values than counted": values(ValueShare{2, math.MaxUint64, 1}),
		"a file that is two":       twice,
		"number of a table":        taken,
		"buckets out of order":     buckets(7, 5),
		"a bucket twice":           buckets(5, 5),
	} {
		if next, err := v.Apply(e); err == nil {
			t.Errorf("%s: applied: %s", name, text(next))
		}
	}
	applied(t, v, buckets(0, 5, 7))
	applied(t, v, values(ValueShare{2, 1, 0}, ValueShare{3, 1, 5}))
	inBottom := &Edit{AddBottom: []*Table{pointing(40, ValueShare{9, 1, 1})}}
	if next, err := v.Apply(inBottom); err == nil {
		t.Errorf("the bottom run points into a missing file: %s", text(next))
	}
	merge := &Edit{
		RemoveYoung: YoungRuns{Count: 2},
		AddBottom:   []*Table{pointing(40, ValueShare{3, 1, 5})},
	}
	if f, ok := applied(t, v, merge).ValueFile(3); !ok || f.Live != 5 {
		t.Errorf("a file that only removed tables pointed into is %+v, %v", f, ok)
	}
}

func TestDecodeVersion_refusesPointersIntoMissingFiles(t *testing.T) {
	v := &Version{
		Bottom:     Run{Tables: []*Table{pointing(40, ValueShare{2, 1, 5})}},
		ValueFiles: []ValueFile{{Number: 2, Size: 10}},
	}
	_, err := decodeVersion(appendVersion(nil, v))
	check(t, err)
	v.ValueFiles[0].Number = 3
	if got, err := decodeVersion(appendVersion(nil, v)); err == nil {
		t.Errorf("decoded %s", text(got))
	}
}

func TestCreate_refusesABottomRunThatDeletes(t *testing.T) {
	v := &Version{Bottom: Run{Deleted: keyspace.Spans{deletion("a", "b")}}}
	if _, err := Create(newFS(t), testDir, testNumber, testDatabase, v); err == nil {
		t.Error("created")
	}
}
