package compaction

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
)

// Nothing is below the bottom run, so it holds no entry that only hides others.
func TestDo_putsOnlyWhatIsThereIntoTheBottomRun(t *testing.T) {
	s := newStore(t)
	s.bottom(puts("old", keys(1, 80)...).over(expiring(now, "old", keys(81, 90)...)))
	s.young(deletes(keys(10, 14)...).over(puts("middle", keys(15, 30)...)), between(5, 12))
	s.young(expiring(now-1, "gone", keys(28, 35)...).over(expiring(now+1, "new", keys(36, 40)...)),
		between(20, 25), between(82, 100))
	want := puts("middle", keys(15, 27)...).without(between(20, 25))
	want = want.over(expiring(now+1, "new", keys(36, 40)...)).over(puts("old", keys(1, 4)...))
	want = want.over(puts("old", keys(41, 80)...))
	j := s.intoBottom(s.youngJob(0, 2), func(*manifest.Table) bool { return true })
	edit := s.run(j)
	checkSame(t, "output", s.read(s.version.Bottom.Tables), want)
	if len(s.version.Young) > 0 || len(edit.AddYoung) > 0 {
		t.Errorf("there are young runs %v", s.version.Young)
	}
}

func TestDo_makesOneYoungRunOfSeveral(t *testing.T) {
	s := newStore(t)
	s.bottom(puts("old", keys(1, 90)...))
	s.young(puts("oldest", keys(1, 90)...), between(50, 60))
	s.young(deletes(keys(10, 14)...).over(puts("middle", keys(15, 30)...)), between(5, 12))
	s.young(expiring(now, "gone", keys(28, 35)...).over(expiring(now+1, "new", keys(36, 40)...)),
		between(11, 18), between(80, 100))
	s.young(puts("newest", keys(2, 3)...))
	before, runs := s.state().visible(), s.version.Young
	edit := s.run(s.youngJob(1, 2))
	want := deletes(append(keys(10, 10), keys(28, 35)...)...).over(puts("middle", keys(19, 27)...))
	want = want.over(expiring(now+1, "new", keys(36, 40)...))
	young := edit.AddYoung[0]
	checkSame(t, "output", s.read(young.Tables), want)
	deleted := keyspace.Spans{between(5, 18), between(80, 100)}
	if !reflect.DeepEqual(young.Deleted, deleted) || len(edit.AddYoung) != 1 {
		t.Errorf("young runs are %+v, want one that deletes %q", edit.AddYoung, deleted)
	}
	if !reflect.DeepEqual(s.version.Young, []manifest.Run{runs[0], young, runs[3]}) ||
		len(edit.Remove)+len(edit.AddBottom) > 0 {
		t.Errorf("the edit is %+v", edit)
	}
	checkSame(t, "visible", s.state().visible(), before)
}

func TestDo_keepsTombstonesAboveOlderRuns(t *testing.T) {
	s := newStore(t)
	s.bottom(puts("old", keys(1, 20)...))
	s.young(puts("young", keys(1, 9)...))
	s.young(deletes(keys(5, 15)...))
	edit := s.run(s.youngJob(0, 2))
	want := deletes(keys(5, 15)...).over(puts("young", keys(1, 4)...))
	checkSame(t, "output", s.read(edit.AddYoung[0].Tables), want)
	checkSame(t, "visible", s.state().visible(),
		puts("young", keys(1, 4)...).over(puts("old", keys(16, 20)...)))
}

func TestDo_keepsDeletionsWithoutEntries(t *testing.T) {
	s := newStore(t)
	s.bottom(puts("old", keys(1, 60)...))
	s.young(writes{}, between(10, 20))
	s.young(writes{}, between(15, 30))
	s.young(writes{}, between(40, 45))
	files := s.list()
	edit := s.run(s.youngJob(0, 3))
	want := []manifest.Run{{Deleted: keyspace.Spans{between(10, 30), between(40, 45)}}}
	if !reflect.DeepEqual(edit.AddYoung, want) || !slices.Equal(s.list(), files) {
		t.Errorf("young runs are %+v, want %+v, and files %v", edit.AddYoung, want, s.list())
	}
	left := puts("old", keys(1, 60)...).without(between(10, 30), between(40, 45))
	checkSame(t, "visible", s.state().visible(), left)
	s.run(s.job(1))
	checkSame(t, "bottom run", s.read(s.version.Bottom.Tables), left)
	if len(s.version.Young) > 0 {
		t.Errorf("young runs are %+v", s.version.Young)
	}
}

func TestDo_mayLeaveNoYoungRun(t *testing.T) {
	s := newStore(t)
	s.young(puts("old", dataKey(3, "a")))
	s.young(puts("new", dataKey(3, "b")))
	s.apply(dropping(3))
	if edit := s.run(s.youngJob(0, 2)); len(edit.AddYoung)+len(s.version.Young) > 0 {
		t.Errorf("the edit is %+v", edit)
	}
}

// An entry that has expired hides older entries of its key that have not.
func TestDo_makesTombstonesOfWhatHasExpired(t *testing.T) {
	s := newStore(t)
	s.bottom(puts("old", keys(1, 3)...))
	s.young(expiring(5, "short", keys(1, 2)...))
	s.young(expiring(now+5, "long", keys(2, 2)...))
	edit := s.run(s.youngJob(0, 2))
	want := deletes(keys(1, 1)...).over(expiring(now+5, "long", keys(2, 2)...))
	checkSame(t, "output", s.read(edit.AddYoung[0].Tables), want)
	if n := edit.AddYoung[0].Tables[0].Tombstones; n != 1 {
		t.Errorf("%d tombstones are recorded", n)
	}
}

// Tables that newer deletions cover are not read.
func TestDo_removesBottomTablesThatAreNoInputs(t *testing.T) {
	s := newStore(t)
	s.bottom(puts("old", keys(1, 60)...))
	s.young(writes{}, between(1, 60))
	j := s.youngJob(0, 0)
	j.ToBottom, j.Bottom = true, numbers(s.version.Bottom.Tables)
	edit := s.run(j)
	if len(s.version.Bottom.Tables) > 0 || len(s.version.Young) != 1 || len(edit.AddBottom) > 0 {
		t.Errorf("the edit is %+v", edit)
	}
}

// Bottom tables that no young run touches may lie between others that are inputs.
func TestDo_writesAroundTablesThatAreNotInputs(t *testing.T) {
	s := newStore(t)
	s.bottom(puts("old", keys(101, 199)...))
	s.young(puts("new", keys(90, 110)...))
	s.young(puts("new", keys(190, 210)...))
	s.young(writes{}, between(145, 150))
	before := s.state().visible()
	j := s.job(3)
	j.Output.TableBytes = 1 << 20
	if n := len(s.version.Bottom.Tables); len(j.Bottom) > n-2 || len(j.Output.Cuts) < 2 {
		t.Fatalf("%d tables of %d are inputs", len(j.Bottom), n)
	}
	edit := s.run(j)
	checkSame(t, "state", s.state(), before)
	for _, table := range edit.AddBottom {
		for _, cut := range j.Output.Cuts {
			if bytes.Compare(table.Smallest, cut) < 0 && bytes.Compare(cut, table.Largest) <= 0 {
				t.Errorf("a table is from %q to %q, over %q", table.Smallest, table.Largest, cut)
			}
		}
	}
}

func TestDo_relocatesValues(t *testing.T) {
	for name, job := range map[string]func(s *store) Job{
		"into the bottom run": func(s *store) Job { return s.job(2) },
		"into a young run":    func(s *store) Job { return s.youngJob(0, 2) },
	} {
		s := newStore(t)
		s.values = run.Values{Separate: 60, FileBytes: 400}
		long := strings.Repeat("long ", 20)
		s.young(puts(long, keys(1, 30)...).over(expiring(5, long, keys(31, 40)...)))
		short := puts("short", keys(26, 27)...)
		s.young(puts(long+"new", keys(20, 25)...).over(short), between(1, 2))
		files := s.version.ValueFiles
		named := func(n uint64) bool { return n == files[1].Number || n == files[5].Number }
		before := s.state().visible()
		j := job(s)
		j.Output.Values.Relocate = named
		edit := s.run(j)
		checkSame(t, name, s.state().visible(), before)
		kept := 0
		for _, f := range s.version.ValueFiles {
			if named(f.Number) {
				t.Errorf("%s: file %d is still pointed into", name, f.Number)
			}
			if f.Number <= files[len(files)-1].Number {
				kept++
			}
		}
		if kept < 4 || len(edit.AddValues) == 0 {
			t.Errorf("%s: %d of %d files stay, new are %v", name, kept, len(files), edit.AddValues)
		}
	}
}

func TestDo_keepsPointersAsTheyAre(t *testing.T) {
	s := newStore(t)
	s.values = run.Values{Separate: 60, FileBytes: 400}
	long := strings.Repeat("long ", 20)
	s.bottom(puts(long, keys(1, 30)...))
	s.young(puts(long+"new", keys(20, 25)...))
	files, before := s.version.ValueFiles, s.state()
	j := s.job(1)
	j.Output.Values.Separate = 10 // which is about values, and not about pointers
	edit := s.run(j)
	checkSame(t, "state", s.state(), before)
	if len(edit.AddValues) > 0 || len(s.version.ValueFiles) < len(files)-1 {
		t.Errorf("value files are %v, were %v", s.version.ValueFiles, files)
	}
}

// With large values, a table takes long.
func TestDo_canBeCancelledAfterAValueFile(t *testing.T) {
	s := newStore(t)
	s.values, s.tableBytes = run.Values{Separate: 60, FileBytes: 400}, 1<<20
	s.bottom(puts(strings.Repeat("long ", 20), keys(1, 30)...))
	s.young(puts("new", keys(1, 1)...))
	before, calls := s.list(), 0
	j := s.job(1)
	j.Output.Values.Relocate = func(uint64) bool { return true }
	j.Cancelled = func() bool { calls++; return calls == 3 }
	if edit, err := j.Do(); edit != nil || !errors.Is(err, ErrCancelled) {
		t.Errorf("Run returns %v, %v", edit, err)
	}
	if names := s.list(); !slices.Equal(names, before) {
		t.Errorf("files %v are left of %v", names, before)
	}
}
