package compaction

import (
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
)

// roomy returns a store whose runs of some 20 entries have one table each, not a small one.
func roomy(t testing.TB) *store {
	s := newStore(t)
	s.tableBytes = 4000
	return s
}

// many returns values so long that a table of 20 is not small.
func many(value string, first, last int) writes {
	return puts(value+strings.Repeat(" long", 8), keys(first, last)...)
}

func TestDo_movesWhatNothingOverlaps(t *testing.T) {
	s := roomy(t)
	s.bottom(many("old", 1, 20))
	s.bottom(many("old", 900, 920))
	s.young(many("new", 100, 120))
	s.young(many("newer", 200, 220))
	before := s.state()
	want := numbers([]*manifest.Table{s.version.Young[1].Tables[0], s.version.Young[0].Tables[0]})
	edit := s.run(s.job(2))
	if got := numbers(edit.AddBottom); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("added are %v, want %v, moved", got, want)
	}
	if len(edit.Remove) > 0 || len(s.version.Young) > 0 || len(s.version.Bottom.Tables) != 4 {
		t.Errorf("after %+v there are young %v, bottom %v", edit, s.version.Young, s.version.Bottom)
	}
	checkSame(t, "state", s.state(), before)
}

// A table whose keys surround those of a young table is cut in two, once; one without young keys
// within it stays.
func TestDo_movesIntoGapsBetweenKeys(t *testing.T) {
	s := roomy(t)
	s.bottom(many("old", 1, 20).over(many("old", 300, 320)))
	s.bottom(many("older", 400, 420))
	s.young(many("new", 100, 120))
	s.young(many("around", 380, 390).over(many("around", 430, 440)))
	before, stays := s.state(), s.version.Bottom.Tables[1].Number
	j := s.job(2)
	j.Kept = new(Kept)
	taken := s.version.Young[1].Tables[0]
	edit := s.run(j)
	if !slices.Contains(edit.AddBottom, taken) || len(moved(edit, s.version)) > 1 {
		t.Errorf("table %06d is not moved: %+v", taken.Number, edit)
	}
	if slices.Contains(edit.Remove, stays) || len(edit.Remove) != 1 || j.Kept.Tables != 2 {
		t.Errorf("removed are %v, not %v alone; kept are %+v", edit.Remove, stays, j.Kept)
	}
	checkSame(t, "state", s.state(), before)
}

func TestDo_rewritesWhatGainsByIt(t *testing.T) {
	long := strings.Repeat("x", 100)
	for name, c := range map[string]struct {
		fill   func(s *store)
		change func(s *store, j *Job)
	}{
		"small tables": {
			func(s *store) {
				s.young(puts("new", keys(100, 101)...))
				s.young(puts("newer", keys(102, 103)...))
			}, nil,
		},
		"a table that might be smaller": {nil, func(_ *store, j *Job) { j.Tight = true }},
		"a tombstone": {
			func(s *store) { s.young(many("new", 100, 120).over(deletes(keys(99, 99)...))) }, nil,
		},
		"expired entries": {
			func(s *store) {
				s.young(many("new", 100, 120).over(expiring(now, long, keys(121, 130)...)))
			}, nil,
		},
		"blocks to be compressed": {nil, func(_ *store, j *Job) { j.Output.Compress = true }},
		"values to be relocated": {
			func(s *store) {
				s.values = run.Values{Separate: 60, FileBytes: 1 << 20}
				s.young(many("new", 100, 120).over(puts(long, keys(121, 130)...)))
			},
			func(_ *store, j *Job) { j.Output.Values.Relocate = func(uint64) bool { return true } },
		},
		"a newer deletion": {
			func(s *store) {
				s.young(many("new", 100, 120))
				s.young(writes{}, between(105, 106))
			}, nil,
		},
		"a newer key": {
			func(s *store) {
				s.young(many("new", 100, 120))
				s.young(many("newer", 110, 130))
			}, nil,
		},
		"a dropped bucket": {
			func(s *store) {
				s.young(many("new", 100, 120))
				s.apply(dropping(7))
			}, nil,
		},
	} {
		s := roomy(t)
		s.bottom(many("old", 1, 20))
		if c.fill == nil {
			s.young(many("new", 100, 120))
		} else {
			c.fill(s)
		}
		before := s.state().visible()
		j := s.job(len(s.version.Young))
		if c.change != nil {
			c.change(s, &j)
		}
		was := s.version
		edit := s.run(j)
		if taken := moved(edit, was); len(taken) > 0 {
			t.Errorf("%s: tables %v are moved", name, numbers(taken))
		}
		checkSame(t, name, s.state().visible(), before)
	}
}

// Rewriting a small table without joining it with others would gain nothing.
func TestDo_movesASmallTableThatIsAlone(t *testing.T) {
	for name, beside := range map[string]func(s *store){
		"between others": func(s *store) { s.bottom(puts("old", keys(200, 200)...)) },
		"at the end":     func(*store) {},
	} {
		s := roomy(t)
		s.bottom(many("old", 1, 20))
		beside(s)
		s.young(puts("new", keys(100, 101)...))
		before, was := s.state(), s.version
		j := s.job(1)
		j.Kept = new(Kept)
		if taken := moved(s.run(j), was); len(taken) != 1 || j.Kept.Tables != 1 {
			t.Errorf("%s: tables %v are moved, %d kept", name, numbers(taken), j.Kept.Tables)
		}
		checkSame(t, name, s.state(), before)
	}
}

// A table that might expire, or has a filter, stays in the bottom run unless the job is tight.
func TestDo_writesExpiringTablesAnewIfItIsToBeTight(t *testing.T) {
	for _, tight := range []bool{false, true} {
		s := roomy(t)
		s.bottom(many("old", 1, 20).over(expiring(2*now, "expiring", keys(21, 40)...)))
		s.young(many("new", 100, 120))
		meta := s.version.Bottom.Tables[0]
		j := s.intoBottom(s.youngJob(0, 1), func(*manifest.Table) bool { return true })
		j.Tight = tight
		if edit := s.run(j); slices.Contains(edit.Remove, meta.Number) != tight {
			t.Errorf("tight %t: table %06d, stale at %d, in %+v", tight, meta.Number, meta.StaleAt, edit)
		}
	}
}

// Small tables between kept ones would stay small.
func TestDo_leavesNoCrumbsBetweenWhatItMoves(t *testing.T) {
	s := roomy(t)
	s.bottom(many("old", 1, 20))
	for i := range 6 {
		s.young(many("new", 100*i+100, 100*i+120))
	}
	for i := range 3 {
		s.young(puts("crumb", keys(200*i+150, 200*i+150)...))
	}
	before := s.state()
	edit := s.run(s.job(9))
	for _, meta := range s.version.Bottom.Tables {
		if meta.Size < Small(s.tableBytes) {
			t.Errorf("table %06d has %d bytes", meta.Number, meta.Size)
		}
	}
	if len(edit.AddBottom) > 6 {
		t.Errorf("6 tables and 3 small ones become %d", len(edit.AddBottom))
	}
	checkSame(t, "state", s.state(), before)
}

func TestDo_copiesWholeBlocks(t *testing.T) {
	s := roomy(t)
	s.tableBytes, s.blockBytes = 1<<20, 400
	s.bottom(many("old", 1, 1000))
	for round := range 30 {
		s.young(puts("touched", keys(10*round+300, 10*round+300)...))
		before := s.state()
		j := s.job(1)
		j.Kept = new(Kept)
		s.run(j)
		if n := j.Kept.Blocks; n < 100 {
			t.Errorf("%d blocks are copied of about 110 that nothing touched", n)
		}
		checkSame(t, "state", s.state(), before)
	}
	if n := len(s.version.Bottom.Tables); n != 1 {
		t.Fatalf("there are %d tables", n)
	}
	meta := s.version.Bottom.Tables[0]
	share := meta.Buckets[0]
	if meta.Entries != 1000 || share.Entries != 1000 || share.Bytes != meta.RawBytes {
		t.Errorf("the table is described as %+v", meta)
	}
}
