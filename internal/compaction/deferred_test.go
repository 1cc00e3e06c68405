package compaction

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
)

// deferred returns a store with a young run of several tables that point to values in files: text
// and, under the keys of noise, random bytes.
func deferred(t *testing.T) (s *store, noise []string) {
	t.Helper()
	s = newStore(t)
	s.values = run.Values{Separate: 60, FileBytes: 400}
	s.bottom(puts("old", keys(1, 60)...))
	w := puts(strings.Repeat("much the same ", 20), keys(10, 50)...)
	rng := rand.NewChaCha8([32]byte{4})
	for i, key := range keys(10, 50) {
		if i%8 == 0 {
			value := make([]byte, 200)
			_, _ = rng.Read(value)
			w[key], noise = cell{value: value}, append(noise, key)
		}
	}
	s.young(w.over(deletes(keys(51, 55)...)), between(56, 58))
	if n := len(s.version.Young[0].Tables); n < 3 {
		t.Fatalf("the young run has %d tables", n)
	}
	return s, noise
}

// rechecking makes j compress the values that shrink in the files that its tables point into.
func (s *store) rechecking(j Job, tables ...*manifest.Table) Job {
	j.Output.Compress, j.Output.Values.Shrink = true, true
	j.Output.Values.Recheck = func(file uint64) bool {
		return slices.ContainsFunc(tables, func(t *manifest.Table) bool {
			return slices.ContainsFunc(t.Values, func(share manifest.ValueShare) bool {
				return share.File == file
			})
		})
	}
	return j
}

// pointers returns how many values of the tables are in files.
func pointers(tables []*manifest.Table) (n uint64) {
	for _, t := range tables {
		for _, share := range t.Values {
			n += share.Count
		}
	}
	return n
}

func TestDo_compressesValuesThatAreOutside(t *testing.T) {
	s, noise := deferred(t)
	before := s.state().visible()
	j := s.rechecking(s.job(1), s.version.Young[0].Tables...)
	edit := s.run(j)
	checkSame(t, "state", s.state().visible(), before)
	if n := pointers(edit.AddBottom); n != uint64(len(noise)) || len(edit.AddValues) > 0 {
		t.Errorf("%d values are outside, want the %d that do not shrink; new files are %v", n,
			len(noise), edit.AddValues)
	}
}

func TestDo_writesOneTableOfAYoungRunAnew(t *testing.T) {
	s, _ := deferred(t)
	before, old := s.state(), s.version.Young[0]
	for i := range old.Tables {
		table := old.Tables[i]
		j := s.rechecking(s.youngJob(0, 1), table)
		in := func(t *manifest.Table) bool { return t.Number == table.Number }
		j.Output.Filter = true
		j.Stays.Deleted = s.version.Young[0].Deleted
		for _, t := range s.version.Young[0].Tables {
			if !in(t) {
				j.Stays.Tables = append(j.Stays.Tables, t)
			}
		}
		j.Inputs[0] = j.Inputs[0].Only(in)
		edit := s.run(j)
		checkSame(t, "state", s.state(), before)
		now := s.version.Young[0]
		if pointers(now.Tables) > pointers(old.Tables) || len(edit.AddBottom)+len(edit.Remove) > 0 {
			t.Errorf("table %06d: the edit is %+v", table.Number, edit)
		}
		for _, other := range old.Tables[i+1:] {
			if !slices.Contains(now.Tables, other) {
				t.Errorf("table %06d is gone with %06d", other.Number, table.Number)
			}
		}
		if len(now.Deleted) != len(old.Deleted) {
			t.Errorf("ranges %v are deleted, want %v", now.Deleted, old.Deleted)
		}
	}
}
