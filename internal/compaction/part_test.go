package compaction

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
)

// layered returns a store whose keys are all over a bottom run and three young runs, which delete
// ranges and keys, too.
func layered(t testing.TB) *store {
	t.Helper()
	s := newStore(t)
	s.bottom(puts("old", keys(1, 200)...))
	s.young(puts("first", keys(10, 190)...), between(100, 110))
	s.young(deletes(keys(20, 60)...).over(puts("second", keys(105, 180)...)), between(15, 25))
	s.young(puts("third", keys(1, 120)...).over(expiring(now, "gone", keys(121, 150)...)),
		between(150, 170))
	return s
}

// goOn does parts of about the given number of bytes until there is no front.
func (s *store) goOn(partBytes uint64, each func()) {
	s.t.Helper()
	for first := true; ; first = false {
		_, begun := s.version.Front()
		if !begun && !first {
			return
		}
		s.run(s.part(s.ending(partBytes)))
		each()
	}
}

// ending returns where a part of so many bytes ends: behind a table.
func (s *store) ending(partBytes uint64) []byte {
	front, begun := s.version.Front()
	var tables []*manifest.Table
	for _, r := range append(slices.Clone(s.version.Young[front.At:]), s.version.Bottom) {
		for _, t := range r.Tables {
			if !begun || bytes.Compare(t.Largest, front.Done.End) >= 0 {
				tables = append(tables, t)
			}
		}
	}
	slices.SortFunc(tables, func(a, b *manifest.Table) int {
		return bytes.Compare(a.Largest, b.Largest)
	})
	for _, t := range tables {
		if t.Size >= partBytes {
			return append(bytes.Clone(t.Largest), 0)
		}
		partBytes -= t.Size
	}
	return nil
}

func TestDo_inPartsChangesNothingThatIsSeen(t *testing.T) {
	for _, partBytes := range []uint64{1, 1000, 5000} {
		s := layered(t)
		want, parts := s.state().visible(), 0
		s.goOn(partBytes, func() {
			parts++
			checkSame(t, fmt.Sprintf("after part %d", parts), s.state().visible(), want)
		})
		if len(s.version.Young) > 0 || parts < 3 {
			t.Errorf("after %d parts, there are young runs %+v", parts, s.version.Young)
		}
		checkSame(t, "the bottom run", s.read(s.version.Bottom.Tables), want)
	}
}

// A part needs little space if what it leaves nothing of goes.
func TestDo_inPartsKeepsOneTableOfARunThatIsDoneInPart(t *testing.T) {
	s := layered(t)
	before, most := s.bytes(), uint64(0)
	s.goOn(2000, func() {
		most = max(most, s.bytes())
		front, begun := s.version.Front()
		if !begun {
			return
		}
		for i, r := range append(s.version.Young[front.At+1:], s.version.Bottom) {
			done := 0
			for _, table := range r.Tables {
				if front.Done.Contains(table.Smallest) {
					done++
				}
			}
			if done > 1 {
				t.Errorf("run %d has %d tables in what is done", i, done)
			}
		}
	})
	if allowed := before + 4*1000; most > allowed {
		t.Errorf("%d bytes become up to %d, want %d", before, most, allowed)
	}
}

// bytes returns the size of all tables of the version.
func (s *store) bytes() (n uint64) {
	for t := range s.version.Tables() {
		n += t.Size
	}
	return n
}

// wantNoStray checks that there are no files but those of two versions.
func (s *store) wantNoStray(what string, versions ...*manifest.Version) {
	s.t.Helper()
	named := map[string]bool{}
	for _, v := range versions {
		for t := range v.Tables() {
			named[folder.Table.Name(t.Number)] = true
		}
		for _, f := range v.ValueFiles {
			named[f.Name()] = true
		}
	}
	for _, name := range s.list() {
		if !named[filepath.Base(name)] {
			s.t.Errorf("%s: %s is left", what, name)
		}
	}
}

// TestDo_savesWhatIsComplete stops a job at each question whether it is to go on.
func TestDo_savesWhatIsComplete(t *testing.T) {
	saved := 0
	for stop := 1; ; stop++ {
		s := layered(t)
		s.values = run.Values{Separate: 60, FileBytes: 3000}
		s.young(puts(strings.Repeat("long ", 20), keys(30, 130)...))
		want, asked := s.state().visible(), 0
		before := s.version
		j := s.part(nil)
		j.Output.Values.Relocate = func(uint64) bool { return true }
		j.Saves, j.Cancelled = true, func() bool { asked++; return asked >= stop }
		edit, err := j.Do()
		what := fmt.Sprintf("stopped at question %d", stop)
		if errors.Is(err, ErrCancelled) {
			s.wantNoStray(what, before)
			continue
		}
		check(t, err)
		s.apply(edit)
		s.wantNoStray(what, before, s.version)
		checkSame(t, what, s.state().visible(), want)
		front, begun := s.version.Front()
		if !begun {
			break
		}
		saved++
		s.goOn(1<<20, func() {})
		if checkSame(t, what+", and went on", s.read(s.version.Bottom.Tables), want); t.Failed() {
			t.Fatalf("the front was %+v", front)
		}
	}
	if saved < 5 {
		t.Errorf("only %d jobs were saved", saved)
	}
}

func TestDo_savesNothingUnlessItIsTold(t *testing.T) {
	s := layered(t)
	before, asked := s.list(), 0
	j := s.part(nil)
	j.Cancelled = func() bool { asked++; return asked > 3 }
	if edit, err := j.Do(); edit != nil || !errors.Is(err, ErrCancelled) {
		t.Errorf("Do returns %+v, %v", edit, err)
	}
	if names := s.list(); !slices.Equal(names, before) {
		t.Errorf("files %v are left of %v", names, before)
	}
}

// Whatever young runs are compacted with a front, they are not one.
func TestDo_makesNoFrontOfAFrontAndOthers(t *testing.T) {
	s := layered(t)
	s.run(s.part(s.ending(2000)))
	s.young(puts("newest", keys(3, 5)...))
	want := s.state().visible()
	s.run(s.youngJob(len(s.version.Young)-2, 2))
	if front, begun := s.version.Front(); begun {
		t.Errorf("there is a front: %+v", front)
	}
	checkSame(t, "visible", s.state().visible(), want)
	s.goOn(2000, func() { checkSame(t, "visible", s.state().visible(), want) })
	checkSame(t, "the bottom run", s.read(s.version.Bottom.Tables), want)
}

// An earlier version compacts a front with newer runs and keeps what tells it from others. Its
// tombstones are not for the bottom run.
func TestDo_takesNoTombstonesForAFront(t *testing.T) {
	s := layered(t)
	s.run(s.part(s.ending(2000)))
	s.young(deletes(keys(3, 5)...))
	want := s.state().visible()
	front := s.version.Young[1]
	s.run(s.youngJob(len(s.version.Young)-2, 2))
	marked := s.version.Young[0]
	marked.Deleted = front.Deleted
	s.apply(&manifest.Edit{
		RemoveYoung: manifest.YoungRuns{Older: len(s.version.Young) - 1, Count: 1},
		AddYoung:    []manifest.Run{marked},
	})
	s.goOn(2000, func() { checkSame(t, "visible", s.state().visible(), want) })
	checkSame(t, "the bottom run", s.read(s.version.Bottom.Tables), want)
	for _, table := range s.version.Bottom.Tables {
		if table.Tombstones > 0 {
			t.Errorf("table %d of the bottom run has %d tombstones", table.Number, table.Tombstones)
		}
	}
}

// A flush below all keys joins the bottom run while the first part is written.
func TestDo_inPartsHidesNothingThatComesMeanwhile(t *testing.T) {
	s := layered(t)
	edit, err := s.part(s.ending(2000)).Do()
	check(t, err)
	s.bottom(puts("below", dataKey(1, "a")))
	s.bottom(puts("above", dataKey(9, "a")))
	want := s.state().visible()
	s.apply(edit)
	checkSame(t, "visible", s.state().visible(), want)
	s.goOn(2000, func() { checkSame(t, "visible", s.state().visible(), want) })
	checkSame(t, "the bottom run", s.read(s.version.Bottom.Tables), want)
}

// What was flushed below all keys meanwhile is then joined with what the parts have not read, in
// one table around the front.
func TestDo_inPartsGoesOnBelowATableAroundTheFront(t *testing.T) {
	s := layered(t)
	edit, err := s.part(s.ending(2000)).Do()
	check(t, err)
	s.bottom(puts("below", dataKey(1, "a")))
	s.apply(edit)
	want := s.state().visible()
	small := s.tableBytes
	s.tableBytes = 1 << 20
	s.run(s.intoBottom(s.youngJob(0, 0), func(*manifest.Table) bool { return true }))
	if n := len(s.version.Bottom.Tables); n != 1 {
		t.Fatalf("the bottom run has %d tables", n)
	}
	s.tableBytes = small
	s.goOn(2000, func() { checkSame(t, "visible", s.state().visible(), want) })
	checkSame(t, "the bottom run", s.read(s.version.Bottom.Tables), want)
}

// TestDo_inPartsReadsAllThatItHides leaves a bottom table out that is deleted in part.
func TestDo_inPartsReadsAllThatItHides(t *testing.T) {
	s := layered(t)
	j := s.part(s.ending(4000))
	for i, number := range j.Bottom {
		without := j
		without.Bottom = slices.Delete(slices.Clone(j.Bottom), i, i+1)
		n := len(j.Inputs) - 1
		without.Inputs = append(slices.Clone(j.Inputs[:n]), j.Inputs[n].Only(
			func(t *manifest.Table) bool { return t.Number != number }))
		edit, err := without.Do()
		if err != nil {
			continue
		}
		if version, err := s.version.Apply(edit); err == nil {
			other := *s
			other.version = version
			checkSame(t, fmt.Sprintf("without table %d", number), other.state().visible(),
				s.state().visible())
		}
	}
}

func TestDo_inPartsIsAsAMapWouldBe(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	parts, fronts := 0, 0
	for name, sh := range shapes() {
		t.Run(name, func(t *testing.T) {
			for i := range 6 {
				rng := rand.New(rand.NewPCG(seed, uint64(i)))
				m := &model{
					store: newStore(t), what: fmt.Sprintf("seed %d, store %d", seed, i),
					want: writes{}, dropped: map[uint64]bool{}, seen: &tally{},
				}
				for range 30 {
					m.tableBytes, m.blockBytes = rng.Int64N(2000), 1+rng.IntN(200)*(1+9*rng.IntN(2))
					m.values = run.Values{Separate: sh.separate, FileBytes: rng.Int64N(2000)}
					if rng.IntN(3) == 0 {
						m.fill(rng, sh)
						m.drop(rng, sh)
					} else if rng.IntN(8) == 0 {
						m.compact(rng)
					} else {
						m.doPart(rng)
						parts++
					}
					if _, begun := m.version.Front(); begun {
						fronts++
					}
					checkSame(t, m.what, m.state().visible(), m.want.visible())
				}
			}
		})
	}
	if t.Logf("%d parts, %d fronts", parts, fronts); min(parts, 5*fronts) < 100 {
		t.Errorf("only %d parts, and %d fronts", parts, fronts)
	}
}

// doPart does a random part, which may be told to stop.
func (m *model) doPart(rng *rand.Rand) {
	m.t.Helper()
	if len(m.version.Young) == 0 {
		return
	}
	j := m.part(m.ending(rng.Uint64N(6000)))
	if rng.IntN(6) == 0 {
		j = m.partAnew(m.ending(rng.Uint64N(6000)))
	}
	j.Output.Compress = rng.IntN(2) == 0
	j.Output.Patterns, j.Output.SampleBytes = rng.IntN(4) > 0, 1<<(4+rng.IntN(17))
	j.Output.Dictionaries = m.dictionaries(rng)
	left := rng.IntN(20)
	j.Saves, j.Cancelled = rng.IntN(3) > 0, func() bool { left--; return left == 0 }
	edit, err := j.Do()
	if errors.Is(err, ErrCancelled) {
		return
	}
	check(m.t, err)
	m.apply(edit)
	if f, begun := m.version.Front(); begun {
		for _, older := range append(m.version.Young[f.At+1:], m.version.Bottom) {
			for _, t := range older.Tables {
				if f.Done.Contains(t.Smallest) && f.Done.Contains(t.Largest) {
					m.t.Errorf("%s: table %d is left in what is done", m.what, t.Number)
				}
			}
		}
		for _, t := range m.version.Young[f.At].Tables {
			if keyspace.IsData(t.Smallest) != keyspace.IsData(t.Largest) {
				m.t.Errorf("%s: table %d is of the catalog and of data", m.what, t.Number)
			}
		}
	}
}
