package flush

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
)

// family returns writes that make the buckets 2 to 6 and 300: 2 and 6 in the root, 3 and 4 in 2,
// 5 in 4, 300 in 5.
func family() writes {
	w := writes{}
	w.bucket(0, 2)
	w.bucket(2, 3)
	w.bucket(2, 4)
	w.bucket(4, 5)
	w.bucket(5, 300)
	w.bucket(0, 6)
	return w
}

// within reports whether key belongs to one of the buckets.
func within(key string, ids []uint64) bool {
	id, ok := keyspace.BucketOf([]byte(key))
	return ok && slices.Contains(ids, id)
}

func TestDo_dropsABucketWithAllThatAreWithinIt(t *testing.T) {
	for _, c := range []struct {
		name   string
		parent uint64
		id     uint64
		want   []uint64
	}{
		{"a leaf", 0, 6, []uint64{6}},
		{"a tree", 0, 2, []uint64{2, 3, 4, 5, 300}},
		{"a branch", 2, 4, []uint64{4, 5, 300}},
	} {
		later := writes{}
		later.drop(c.parent, c.id)
		for name, stages := range map[string][]writes{
			"from the memtable": {union(family(), later)},
			"from tables":       {family(), later},
			"from both":         {only(family(), 0, 2), union(only(family(), 4, 5), later)},
		} {
			s := newStore(t)
			var edit *manifest.Edit
			for _, w := range stages {
				edit = s.flush(w)
			}
			got := slices.Sorted(slices.Values(edit.Drop))
			if !slices.Equal(got, c.want) {
				t.Errorf("%s, %s: dropped are %v, want %v", c.name, name, got, c.want)
			}
		}
	}
}

// union returns what both say; b wins.
func union(a, b writes) writes {
	a = maps.Clone(a)
	maps.Copy(a, b)
	return a
}

// only returns what w says of the buckets.
func only(w writes, ids ...uint64) writes {
	w = maps.Clone(w)
	maps.DeleteFunc(w, func(key string, _ []byte) bool { return !within(key, ids) })
	return w
}

func TestDo_writesNothingOfDroppedBuckets(t *testing.T) {
	s := newStore(t)
	s.flush(family())
	w := family() // again, so that all of it is in the memtable too
	w.drop(0, 2)
	edit := s.flush(w)
	want := only(w, 0, 6)
	checkSame(t, "tables", s.read(tables(edit)), want)
	if n := entries(tables(edit)); n != uint64(len(want)) {
		t.Errorf("%d entries are recorded, want %d", n, len(want))
	}
	for _, meta := range tables(edit) {
		if meta.DropEpoch != 1 {
			t.Errorf("table %06d is of epoch %d, want 1", meta.Number, meta.DropEpoch)
		}
	}
}

func TestDo_recordsDropsAsRanges(t *testing.T) {
	s := newStore(t)
	s.flush(family())
	w := writes{}
	w.drop(0, 2)
	s.flush(w)
	want := []manifest.Drop{{First: 2, Last: 5, Epoch: 1}, {First: 300, Last: 300, Epoch: 1}}
	if !slices.Equal(s.version.Dropped, want) || s.version.DropEpoch != 1 {
		t.Errorf("dropped are %+v in epoch %d, want %+v", s.version.Dropped, s.version.DropEpoch, want)
	}
}

func TestDo_knowsOfEarlierDrops(t *testing.T) {
	s := newStore(t)
	s.flush(family())
	drop := writes{}
	drop.drop(2, 4)
	s.flush(drop)
	w := union(only(family(), 4, 5), puts(dataKey(2, "a"), dataKey(6, "b")))
	edit := s.flush(w)
	checkSame(t, "tables", s.read(tables(edit)), puts(dataKey(2, "a"), dataKey(6, "b")))
	for _, meta := range tables(edit) {
		if meta.DropEpoch != 1 || len(edit.Drop) > 0 {
			t.Errorf("table %06d is of epoch %d, dropped are %v", meta.Number, meta.DropEpoch, edit.Drop)
		}
	}
	last := puts(dataKey(4, "c"))
	last.drop(0, 6)
	if edit = s.flush(last); len(s.read(young(edit))) != 1 || s.version.DropEpoch != 2 {
		t.Errorf("with drops old and new, %q are written, in epoch %d",
			s.read(young(edit)), s.version.DropEpoch)
	}
}

func TestDo_dropsEachBucketOnce(t *testing.T) {
	s := newStore(t)
	s.flush(family())
	w := writes{}
	w.drop(4, 5)
	w.drop(2, 4)
	w.drop(0, 2)
	edit := s.flush(w)
	want := []uint64{2, 3, 4, 5, 300}
	if got := slices.Sorted(slices.Values(edit.Drop)); !slices.Equal(got, want) {
		t.Errorf("dropped are %v, want %v", got, want)
	}
}

func TestDo_reportsACatalogThatIsDamaged(t *testing.T) {
	s := newStore(t)
	w := family()
	w[catalogKey(2, 4)] = []byte{0x80}
	w.drop(0, 2)
	if edit, err := s.job(w).Do(); edit != nil || !errors.Is(err, corrupt.Err) {
		t.Errorf("Run returns %v, %v", edit, err)
	}
	if names := s.list(); len(names) > 0 {
		t.Errorf("files %v are left", names)
	}
}
