package flush

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
)

// span returns writes to the keys first to last of bucket 7, every fourth a tombstone.
func span(first, last int) writes {
	w := writes{}
	for i := first; i <= last; i++ {
		key := dataKey(7, fmt.Sprintf("key%04d", i))
		if w[key] = fmt.Appendf(nil, "value %d", i); i%4 == 0 {
			w[key] = nil
		}
	}
	return w
}

// withoutTombstones returns the puts of w.
func withoutTombstones(w writes) writes {
	w = maps.Clone(w)
	maps.DeleteFunc(w, func(_ string, v []byte) bool { return v == nil })
	return w
}

func TestDo_putsCatalogAndDataIntoTablesOfTheirOwn(t *testing.T) {
	s := newStore(t)
	w := span(1, 100)
	w.bucket(0, 7)
	w[string(keyspace.AppendNextID(nil))] = []byte{8}
	edit := s.flush(w)
	if len(edit.AddYoung) > 0 || len(edit.AddBottom) < 3 {
		t.Fatalf("%d young and %d bottom tables", len(edit.AddYoung), len(edit.AddBottom))
	}
	for i, meta := range edit.AddBottom {
		catalog := !keyspace.IsData(meta.Largest)
		if catalog != (i == 0) || catalog == keyspace.IsData(meta.Smallest) {
			t.Errorf("table %d is from %q to %q", i, meta.Smallest, meta.Largest)
		}
	}
	checkSame(t, "tables", s.read(edit.AddBottom), withoutTombstones(w))
}

func TestDo_choosesTheRun(t *testing.T) {
	for _, c := range []struct {
		name        string
		first, last int
		bottom      bool
		alone       bool // as if it belonged to the bottom run
	}{
		{"above all tables", 800, 899, true, true},
		{"below all tables", 1, 99, true, true},
		{"between tables", 301, 399, false, true},
		{"across a table's end", 250, 350, false, false},
		{"around all tables", 1, 899, false, false},
		{"from the last key on", 699, 750, false, false},
		{"up to the first key", 50, 101, false, false},
		{"within a young run", 501, 599, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore(t)
			s.flush(span(101, 299))
			s.flush(span(401, 601))
			s.flush(span(499, 699)) // overlaps: a young run
			if n := len(s.version.Young); n != 1 {
				t.Fatalf("there are %d young runs", n)
			}
			edit := s.flush(span(c.first, c.last))
			checkRun(t, s, edit, span(c.first, c.last), c.bottom, c.alone)
		})
	}
}

// checkRun fails the test unless edit puts w into the given run: the bottom run, or a young one,
// which has tombstones and filters unless it lies in a gap.
func checkRun(t *testing.T, s *store, edit *manifest.Edit, w writes, bottom, alone bool) {
	t.Helper()
	tables, none := young(edit), edit.AddBottom
	if bottom {
		tables, none = edit.AddBottom, young(edit)
	}
	if alone {
		w = withoutTombstones(w)
	}
	if len(tables) == 0 || len(none) > 0 {
		t.Fatalf("%d young and %d bottom tables", len(young(edit)), len(edit.AddBottom))
	}
	checkSame(t, "tables", s.read(tables), w)
	if n := entries(tables); n != uint64(len(w)) {
		t.Errorf("%d entries are recorded, want %d", n, len(w))
	}
	for _, meta := range tables {
		if s.filtered(meta) == alone {
			t.Errorf("table %06d, alone %v, has a filter: %v", meta.Number, alone, !alone)
		}
	}
}

func TestDo_choosesTheRunOfEachPart(t *testing.T) {
	s := newStore(t)
	first := span(100, 199)
	first.bucket(0, 3)
	first.bucket(0, 9)
	s.flush(first)
	second := writes{}
	second.bucket(0, 4)
	delete(second, dataKey(4, "key"))
	maps.Copy(second, puts(dataKey(12, "new")))
	edit := s.flush(second)
	if y := young(edit); len(y) != 1 || keyspace.IsData(y[0].Largest) {
		t.Errorf("the catalog, within the others, goes to %v", y)
	}
	if len(edit.AddBottom) != 1 || !keyspace.IsData(edit.AddBottom[0].Smallest) {
		t.Errorf("the data, behind all others, goes to %v", edit.AddBottom)
	}
}

func TestDo_doesNotTieTheCatalogToTheData(t *testing.T) {
	s := newStore(t)
	s.flush(span(1, 50))
	w := span(20, 30)
	w[string(keyspace.AppendSequence(nil, 7))] = []byte{1}
	edit := s.flush(w)
	if len(edit.AddBottom) != 1 || keyspace.IsData(edit.AddBottom[0].Largest) {
		t.Errorf("the catalog, below all others, goes to the bottom as %v", edit.AddBottom)
	}
	checkSame(t, "young tables", s.read(young(edit)), span(20, 30))
}

func TestDo_returnsTheNumbersItWasGiven(t *testing.T) {
	s := newStore(t)
	j := s.job(span(1, 10))
	j.LogNumber, j.LastCommit = 17, 170
	edit := s.run(j)
	if edit.LogNumber != 17 || edit.LastCommit != 170 || len(edit.Drop)+len(edit.Remove) > 0 {
		t.Errorf("the edit is %+v", edit)
	}
}

func TestDo_ofNothingWritesNothing(t *testing.T) {
	for name, w := range map[string]writes{"empty": {}, "only tombstones": {dataKey(1, "k"): nil}} {
		s := newStore(t)
		edit := s.flush(w)
		if len(edit.AddYoung)+len(edit.AddBottom) > 0 || len(s.list()) > 0 || edit.LogNumber != 1 {
			t.Errorf("%s: the edit is %+v, and there are files %v", name, edit, s.list())
		}
	}
}

func TestDo_compressesWhatItIsToldTo(t *testing.T) {
	w := writes{dataKey(1, "key"): make([]byte, 3000)}
	for _, c := range []struct{ young, bottom, wantYoung, wantBottom bool }{
		{false, false, false, false}, {false, true, false, true}, {true, false, true, true},
	} {
		s := newStore(t)
		for i, want := range []bool{c.wantBottom, c.wantYoung} { // the second overlaps the first
			j := s.job(w)
			j.CompressYoung, j.CompressBottom = c.young, c.bottom
			edit := s.run(j)
			tables := [][]*manifest.Table{edit.AddBottom, young(edit)}[i]
			if len(tables) != 1 || tables[0].Compressed != want {
				t.Errorf("%+v: flush %d gives %+v", c, i, edit)
			}
		}
	}
}

func TestDo_readsItsMemtableInOrder(t *testing.T) {
	s := newStore(t)
	edit := s.flush(span(1, 300))
	var keys []string
	for _, meta := range edit.AddBottom {
		keys = append(keys, string(meta.Smallest), string(meta.Largest))
	}
	if len(keys) < 4 || !slices.IsSorted(keys) {
		t.Errorf("the tables' bounds are %q", keys)
	}
}
