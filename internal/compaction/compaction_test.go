package compaction

import (
	"errors"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/filter"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
)

func TestDo_keepsTheNewestValueOfEachKey(t *testing.T) {
	s := newStore(t)
	s.bottom(puts("oldest", keys(1, 60)...))
	s.young(puts("middle", keys(20, 70)...))
	s.young(puts("newest", keys(40, 50)...))
	want := puts("newest", keys(40, 50)...).over(puts("middle", keys(20, 70)...))
	want = want.over(puts("oldest", keys(1, 60)...))
	edit := s.run(s.job(2))
	checkSame(t, "state", s.state(), want)
	if len(s.version.Young) > 0 || len(edit.AddYoung) > 0 || len(edit.AddBottom) < 3 {
		t.Errorf("%d young runs are left, %d were made, of %d tables is the output",
			len(s.version.Young), len(edit.AddYoung), len(edit.AddBottom))
	}
}

func TestDo_endsTombstones(t *testing.T) {
	s := newStore(t)
	s.bottom(puts("old", keys(1, 60)...))
	s.young(deletes(keys(10, 30)...))
	s.young(puts("again", keys(15, 20)...))
	s.young(deletes(keys(18, 100)...)) // some of which hide nothing
	want := puts("again", keys(15, 17)...).over(puts("old", keys(1, 9)...))
	edit := s.run(s.job(3))
	checkSame(t, "output", s.read(edit.AddBottom), want)
	for _, meta := range edit.AddBottom {
		if meta.Tombstones != 0 {
			t.Errorf("table %06d is recorded with %d tombstones", meta.Number, meta.Tombstones)
		}
	}
}

func TestDo_mayLeaveNothing(t *testing.T) {
	s := newStore(t)
	s.bottom(puts("old", keys(1, 60)...))
	s.young(deletes(keys(1, 60)...))
	before := s.list()
	edit := s.run(s.job(1))
	if len(edit.AddBottom) > 0 || len(s.version.Bottom.Tables)+len(s.version.Young) > 0 {
		t.Errorf("the edit is %+v, of the tables %v", edit, before)
	}
	if names := s.list(); !slices.Equal(names, before) {
		t.Errorf("files are %v, were %v", names, before)
	}
}

func TestDo_leavesTablesThatAreNotInputs(t *testing.T) {
	s := newStore(t)
	for _, first := range []int{1, 101, 201, 301} {
		s.bottom(puts("old", keys(first, first+50)...))
	}
	s.young(puts("middle", keys(120, 230)...))
	s.young(puts("newest", keys(1, 400)...))
	newest := s.version.Young[0]
	var untouched []uint64
	for _, meta := range s.version.Bottom.Tables {
		if string(meta.Largest) < keys(120, 120)[0] || string(meta.Smallest) > keys(230, 230)[0] {
			untouched = append(untouched, meta.Number)
		}
	}
	before := s.state()
	edit := s.run(s.job(1))
	for _, number := range untouched {
		if !slices.Contains(numbers(s.version.Bottom.Tables), number) {
			t.Errorf("table %06d is gone", number)
		}
		if slices.Contains(edit.Remove, number) {
			t.Errorf("table %06d is removed", number)
		}
	}
	if len(s.version.Young) != 1 || !slices.Equal(s.version.Young[0].Tables, newest.Tables) {
		t.Errorf("the young runs are %v, want the newest", s.version.Young)
	}
	if len(untouched) < 3 || len(edit.Remove) < 5 {
		t.Errorf("%d tables stay, %d are removed", len(untouched), len(edit.Remove))
	}
	checkSame(t, "state", s.state(), before)
}

func TestDo_removesAllInputs(t *testing.T) {
	s := newStore(t)
	s.bottom(puts("old", keys(1, 60)...))
	s.young(puts("new", keys(30, 40)...))
	s.young(puts("newer", keys(35, 90)...))
	var want []uint64
	for _, meta := range s.version.Bottom.Tables {
		if string(meta.Largest) >= keys(30, 30)[0] {
			want = append(want, meta.Number)
		}
	}
	edit := s.run(s.job(2))
	if !slices.Equal(slices.Sorted(slices.Values(edit.Remove)), want) ||
		edit.RemoveYoung != (manifest.YoungRuns{Count: 2}) || len(s.version.Young) > 0 {
		t.Errorf("%+v and %v are removed, want 2 and %v", edit.RemoveYoung, edit.Remove, want)
	}
	if edit.LogNumber != 0 || edit.LastCommit != 0 || len(edit.Drop)+len(edit.AddYoung) > 0 {
		t.Errorf("a compaction changes more than tables: %+v", edit)
	}
}

func TestDo_writesAsItIsConfigured(t *testing.T) {
	s := newStore(t)
	key := dataKey(1, "key")
	s.bottom(writes{key: {value: make([]byte, 4000)}})
	s.young(puts("new", dataKey(1, "a"), dataKey(1, "z")))
	j := s.job(1)
	j.Output.TableBytes, j.Output.Compress = 1<<20, true
	edit := s.run(j)
	if len(edit.AddBottom) != 1 || !edit.AddBottom[0].Compressed {
		t.Fatalf("the output is %+v", edit)
	}
	meta := edit.AddBottom[0]
	ok, err := s.table(meta).FindHashed([]byte(key), ^filter.Hash([]byte(key)), new(keyspace.Entry))
	if !ok || err != nil {
		t.Errorf("the table has a filter, or cannot be read: %v, %v", ok, err)
	}
}

func TestDo_removesDroppedBuckets(t *testing.T) {
	catalog := func(parent uint64, name string) string {
		return string(keyspace.AppendCatalog(nil, parent)) + name
	}
	sequence := string(keyspace.AppendSequence(nil, 3))
	garbage := puts("old", catalog(3, "child"), sequence, dataKey(3, "a"), dataKey(4, "b"))
	kept := puts("old", catalog(0, "other"), catalog(5, "child"), dataKey(2, "a"), dataKey(5, "z"))
	for name, fill := range map[string]func(s *store){
		"in the bottom run": func(s *store) { s.bottom(garbage.over(kept)) },
		"in a young run":    func(s *store) { s.young(garbage.over(kept)) },
		"in both": func(s *store) {
			s.bottom(garbage.over(kept))
			s.young(garbage.over(kept))
		},
	} {
		s := newStore(t)
		fill(s)
		s.apply(dropping(3, 4))
		if len(s.version.Dropped) != 1 {
			t.Fatalf("%s: dropped are %v", name, s.version.Dropped)
		}
		j := s.youngJob(0, len(s.version.Young))
		edit := s.run(s.intoBottom(j, func(*manifest.Table) bool { return true }))
		checkSame(t, name, s.read(edit.AddBottom), kept)
		if len(s.version.Dropped) > 0 {
			t.Errorf("%s: %v count as dropped although nothing of them is left", name,
				s.version.Dropped)
		}
	}
}

func TestDo_endsWhenItIsCancelled(t *testing.T) {
	s := newStore(t)
	s.bottom(puts("old", keys(1, 100)...))
	s.young(puts("new", keys(50, 120)...))
	before := s.list()
	for after := 1; ; after++ {
		calls := 0
		j := s.job(1)
		j.Cancelled = func() bool { calls++; return calls == after }
		edit, err := j.Do()
		if err == nil {
			// The last table may end without Cancelled being asked, if it ends with the input.
			full := len(edit.AddBottom) - len(moved(edit, s.version))
			if after < 5 || calls != full && calls != full-1 {
				t.Errorf("%d tables, %d of them followed by the question", full, calls)
			}
			return
		}
		if edit != nil || !errors.Is(err, ErrCancelled) || calls != after {
			t.Errorf("cancelled after %d tables of %d: Run returns %v, %v", calls, after, edit, err)
		}
		if names := s.list(); !slices.Equal(names, before) {
			t.Fatalf("cancelled after %d tables: files %v are left of %v", after, names, before)
		}
	}
}

// A compaction that drops everything never completes a file.
func TestDo_canBeCancelledBetweenFiles(t *testing.T) {
	s := newStore(t)
	s.tableBytes, s.blockBytes = 1<<30, 32<<10
	s.young(deletes(keys(1, 2*run.AskEntries+1)...))
	before := s.list()
	for after := 1; after <= 3; after++ {
		calls := 0
		j := s.job(1)
		j.Cancelled = func() bool { calls++; return calls == after }
		edit, err := j.Do()
		if cancelled := errors.Is(err, ErrCancelled); cancelled != (after < 3) || calls > 2 {
			t.Errorf("after %d questions: Run returns %v, %v", calls, edit, err)
		}
	}
	if names := s.list(); !slices.Equal(names, before) {
		t.Errorf("files %v are left of %v", names, before)
	}
}
