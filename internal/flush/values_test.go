package flush

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/sorter"
)

// shrinking returns a store that compresses large values, has a bottom run, and has a memtable that
// overlaps it: with text values, and values of noise, which do not shrink.
func shrinking(t testing.TB, text, noise int) (s *store, l *logged, want writes) {
	t.Helper()
	s = newValueStore(t)
	s.values.Shrink = true
	s.flush(span(1, 60))
	l, want = s.log(), writes{}
	rng := rand.NewChaCha8([32]byte{3})
	for i := range text + noise {
		key := dataKey(7, fmt.Sprintf("key%04d", i%40)) + fmt.Sprint(i)
		value := bytes.Repeat([]byte("much the same "), 20)
		if i >= text {
			_, _ = rng.Read(value)
		}
		want[key] = value
		l.commit(func(e *memtable.Edit) { e.PutUntil([]byte(key), value, 0) })
	}
	return s, l, want
}

// compressing returns a job that compresses as by default.
func (l *logged) compressing() Job {
	j := l.seal()
	j.CompressBottom = true
	return j
}

// inLog returns how many entries of the run's tables point into the log.
func (s *store) inLog(tables []*manifest.Table) (n int) {
	for _, e := range s.stored(tables) {
		if e.Kind == keyspace.KindPointer {
			n++
		}
	}
	return n
}

func TestDo_compressesLargeValuesThatShrink(t *testing.T) {
	for _, c := range []struct{ text, noise, inLog int }{
		{50, 0, 0}, {50, 20, 20}, {10, 50, 50}, {0, 50, 50},
	} {
		s, l, want := shrinking(t, c.text, c.noise)
		edit := s.run(l.compressing())
		checkSame(t, "tables", s.read(young(edit)), want)
		if n := s.inLog(young(edit)); n != c.inLog {
			t.Errorf("%+v: %d values are outside", c, n)
		}
		for _, table := range young(edit) {
			if !table.Compressed {
				t.Errorf("%+v: table %06d is not compressed", c, table.Number)
			}
		}
		logs := slices.DeleteFunc(slices.Clone(s.version.ValueFiles), func(f manifest.ValueFile) bool {
			return !f.Log
		})
		if keeps := c.noise > c.text; len(logs) > 0 != keeps {
			t.Errorf("%+v: value files are %+v", c, s.version.ValueFiles)
		}
	}
}

func TestDo_leavesSmallValuesToCompactions(t *testing.T) {
	s, l, want := shrinking(t, 3, 0)
	for key, value := range span(1, 1000) {
		want[key] = value
		l.commit(func(e *memtable.Edit) { e.PutUntil([]byte(key), value, 0) })
	}
	edit := s.run(l.compressing())
	checkSame(t, "tables", s.read(young(edit)), want)
	if s.inLog(young(edit)) > 0 || young(edit)[0].Compressed {
		t.Errorf("%d of few large values among many small ones are outside, the first table is %+v",
			s.inLog(young(edit)), young(edit)[0])
	}
}

func TestDo_leavesValuesInTheLogIfThereIsNoTime(t *testing.T) {
	for _, stays := range []bool{false, true} {
		s, l, want := shrinking(t, 50, 5)
		if stays {
			s.version = &manifest.Version{NextNumber: s.version.NextNumber}
		}
		j := l.compressing()
		j.Levels, j.Reach = s.levels(), 1000
		asked := 0
		j.Defer = func(likely bool) bool {
			asked++
			if likely != stays {
				t.Errorf("stays %v: asked about %v", stays, likely)
			}
			return true
		}
		edit := s.run(j)
		checkSame(t, "tables", s.read(young(edit)), want)
		if n := s.inLog(young(edit)); n != 55 || len(edit.AddBottom) > 0 || asked == 0 {
			t.Errorf("stays %v: %d values are in the log, the edit is %+v", stays, n, edit)
		}
		for _, table := range young(edit) {
			if table.Compressed || table.Values[0].Bytes > 1300 {
				t.Errorf("stays %v: table %06d is %+v", stays, table.Number, table)
			}
		}
	}
}

func TestDo_leavesTheRestInTheLogWhenTimeRunsOut(t *testing.T) {
	s, l, want := shrinking(t, 50, 5)
	j := l.compressing()
	asked := 0
	j.Defer = func(bool) bool { asked++; return asked > 10 }
	edit := s.run(j)
	checkSame(t, "tables", s.read(young(edit)), want)
	compressed := map[bool]uint64{}
	for _, table := range young(edit) {
		compressed[table.Compressed] += table.Entries
		if table.Compressed && len(table.Values) > 0 && table.Values[0].Count > 5 {
			t.Errorf("table %06d is compressed and points to %+v", table.Number, table.Values)
		}
	}
	if compressed[true] < 5 || compressed[false] < 30 {
		t.Errorf("%v entries are in tables that are compressed or not", compressed)
	}
}

func TestDoSorted_compressesLargeValuesThatShrink(t *testing.T) {
	s, _, want := shrinking(t, 50, 0)
	j := s.job(nil)
	j.CompressBottom = true
	pairs := new(sorter.Sorter)
	for key, value := range want {
		pairs.Add([]byte(key), value)
	}
	edit, err := j.DoSorted(pairs)
	check(t, err)
	if tables := young(edit); len(tables) == 0 || !tables[0].Compressed || len(edit.AddValues) > 0 {
		t.Errorf("the edit is %+v", edit)
	}
}
