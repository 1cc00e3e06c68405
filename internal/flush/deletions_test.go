package flush

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/memtable"
)

// numbered returns a key of bucket 7.
func numbered(i int) string { return dataKey(7, fmt.Sprintf("key%04d", i)) }

// between returns the span from one key of bucket 7 up to another, which it excludes.
func between(first, end int) keyspace.Span {
	return keyspace.Span{Start: []byte(numbered(first)), End: []byte(numbered(end))}
}

// job returns a job for a memtable that fill has written to.
func (s *store) jobOf(fill func(e *memtable.Edit)) Job {
	e := memtable.New(0).Begin()
	fill(e)
	j := s.job(nil)
	j.Root = e.Commit()
	return j
}

func TestDo_passesRangeDeletionsOn(t *testing.T) {
	s := newStore(t)
	s.flush(withoutTombstones(span(101, 200)))
	edit := s.run(s.jobOf(func(e *memtable.Edit) {
		e.PutUntil([]byte(numbered(150)), []byte("hidden"), 0)
		e.PutUntil([]byte(numbered(195)), []byte("kept"), 0)
		e.DeleteRange(between(120, 151))
		e.DeleteRange(between(140, 170))
		e.DeleteRange(between(105, 107))
		e.PutUntil([]byte(numbered(130)), []byte("later"), 0)
		e.PutUntil([]byte(numbered(131)), []byte("later"), 0)
		e.Delete([]byte(numbered(131)))
		e.Delete([]byte(numbered(180)))
	}))
	want := keyspace.Spans{between(105, 107), between(120, 170)}
	if len(edit.AddYoung) != 1 || !reflect.DeepEqual(edit.AddYoung[0].Deleted, want) {
		t.Fatalf("the young runs are %+v, want one with %q", edit.AddYoung, want)
	}
	stored := writes{
		numbered(130): []byte("later"), numbered(180): nil, numbered(195): []byte("kept"),
	}
	checkSame(t, "tables", s.read(young(edit)), stored)
	if n := entries(young(edit)); n != uint64(len(stored)) || len(edit.AddBottom) > 0 {
		t.Errorf("%d entries are written, want %d, and bottom tables %v", n, len(stored),
			edit.AddBottom)
	}
	visible := withoutTombstones(union(span(101, 200), stored))
	for i := range 200 {
		if s := numbered(i); stored[s] == nil && (i >= 105 && i < 107 || i >= 120 && i < 170) {
			delete(visible, s)
		}
	}
	checkSame(t, "visible", s.visible(), visible)
}

func TestDo_ofNothingButDeletionsWritesNoFile(t *testing.T) {
	for name, fill := range map[string]func(e *memtable.Edit){
		"no entries": func(e *memtable.Edit) { e.DeleteRange(between(110, 120)) },
		"hidden entries": func(e *memtable.Edit) {
			e.PutUntil([]byte(numbered(115)), []byte("hidden"), 0)
			e.PutUntil([]byte(numbered(116)), []byte("hidden"), 5)
			e.DeleteRange(between(110, 120))
		},
		"tombstones therein": func(e *memtable.Edit) {
			e.DeleteRange(between(110, 120))
			e.Delete([]byte(numbered(119)))
		},
	} {
		s := newStore(t)
		s.flush(withoutTombstones(span(101, 200)))
		before, want := s.list(), s.visible()
		edit := s.run(s.jobOf(fill))
		deleted := keyspace.Spans{between(110, 120)}
		if len(edit.AddYoung) != 1 || !reflect.DeepEqual(edit.AddYoung[0].Deleted, deleted) ||
			len(tables(edit)) > 0 || !reflect.DeepEqual(s.list(), before) {
			t.Errorf("%s: the edit is %+v, files are %v", name, edit, s.list())
		}
		for i := 110; i < 120; i++ {
			delete(want, numbered(i))
		}
		checkSame(t, name, s.visible(), want)
	}
}

func TestDo_choosesTheRunByDeletionsToo(t *testing.T) {
	key := func(i int) func(e *memtable.Edit) {
		return func(e *memtable.Edit) { e.PutUntil([]byte(numbered(i)), []byte("new"), 0) }
	}
	for _, c := range []struct {
		name       string
		first, end int // of what is deleted
		put        func(e *memtable.Edit)
		bottom     bool
	}{
		{"all beyond", 300, 350, key(320), true},
		{"keys behind a deletion beyond", 300, 310, key(900), true},
		{"keys before a deletion beyond", 800, 810, key(300), true},
		{"all below", 10, 50, key(20), true},
		{"all below, up to the first key", 10, 101, key(20), false},
		{"all below, the key near", 10, 20, key(100), true},
		{"a deletion of old keys", 190, 250, key(300), false},
		{"a deletion from the last key on", 199, 900, key(300), false},
		{"a deletion on the other side", 10, 20, key(300), false},
		{"a deletion around all", 10, 900, key(950), false},
		{"keys among old ones", 300, 350, key(150), false},
	} {
		s := newStore(t)
		s.flush(withoutTombstones(span(101, 199)))
		want := s.visible()
		edit := s.run(s.jobOf(func(e *memtable.Edit) {
			e.DeleteRange(between(c.first, c.end))
			c.put(e)
		}))
		if (len(edit.AddBottom) == 1) != c.bottom || (len(edit.AddYoung) == 0) != c.bottom {
			t.Errorf("%s: bottom tables %v, young runs %+v", c.name, edit.AddBottom, edit.AddYoung)
		}
		for i := c.first; i < c.end; i++ {
			delete(want, numbered(i))
		}
		for key := range s.read(tables(edit)) {
			want[key] = []byte("new")
		}
		checkSame(t, c.name, s.visible(), want)
	}
}

func TestDo_forgetsDeletionsBeyondAllTables(t *testing.T) {
	for name, deleted := range map[string]keyspace.Span{
		"above": between(300, 400), "below": between(0, 90),
	} {
		s := newStore(t)
		s.flush(span(101, 199))
		edit := s.run(s.jobOf(func(e *memtable.Edit) { e.DeleteRange(deleted) }))
		if len(edit.AddYoung)+len(edit.AddBottom) > 0 {
			t.Errorf("%s: the edit is %+v", name, edit)
		}
	}
}

// A young run's deletion hides the bottom run's entries, whenever they got there.
func TestDo_putsNothingBelowAnOlderDeletion(t *testing.T) {
	s := newStore(t)
	s.flush(withoutTombstones(span(101, 199)))
	s.run(s.jobOf(func(e *memtable.Edit) { e.DeleteRange(between(150, 400)) }))
	edit := s.flush(puts(numbered(300)))
	if len(edit.AddBottom) > 0 {
		t.Errorf("the edit is %+v", edit)
	}
	want := union(withoutTombstones(span(101, 149)), puts(numbered(300)))
	checkSame(t, "visible", s.visible(), want)
	if edit = s.flush(puts(numbered(401))); len(edit.AddBottom) != 1 {
		t.Errorf("beyond the deletion, the edit is %+v", edit)
	}
}

// Deletions of data do not reach the catalog.
func TestDo_deletesNothingOfTheCatalog(t *testing.T) {
	s := newStore(t)
	first := withoutTombstones(span(101, 199))
	first.bucket(0, 7)
	s.flush(first)
	second := writes{}
	second.bucket(0, 5)
	edit := s.run(s.jobOf(func(e *memtable.Edit) {
		e.PutUntil([]byte(catalogKey(0, 5)), second[catalogKey(0, 5)], 0)
		e.Delete([]byte(catalogKey(0, 7)))
		e.DeleteRange(between(0, 5000))
	}))
	want := writes{catalogKey(0, 5): second[catalogKey(0, 5)], catalogKey(0, 7): nil}
	checkSame(t, "tables", s.read(young(edit)), want)
	if len(edit.AddBottom) > 0 || len(edit.AddYoung[0].Deleted) != 1 {
		t.Errorf("the edit is %+v", edit)
	}
}

func TestDo_keepsTheMomentsOfExpiry(t *testing.T) {
	s := newValueStore(t)
	s.now = 500
	edit := s.run(s.jobOf(func(e *memtable.Edit) {
		for i, n := range []int{0, 10, separate, 300} {
			for j, until := range []uint64{0, 1, 500, 501, 1 << 60} {
				key := numbered(10*i + j)
				e.PutUntil([]byte(key), filled(key, n), until)
			}
		}
		e.PutUntil([]byte(numbered(900)), []byte("value"), 7)
		e.PutUntil([]byte(numbered(900)), []byte("now for ever"), 0)
		e.PutUntil([]byte(numbered(901)), []byte("value"), 7)
		e.Delete([]byte(numbered(901)))
	}))
	stored := s.stored(edit.AddBottom)
	want := writes{numbered(900): []byte("now for ever")}
	for i, n := range []int{0, 10, separate, 300} {
		for j, until := range []uint64{0, 1, 500, 501, 1 << 60} {
			key := numbered(10*i + j)
			if e, ok := stored[key]; !ok || e.Until != until {
				t.Errorf("%q expires at %d, %v, want %d", key, e.Until, ok, until)
			}
			if until == 0 || until > 500 {
				want[key] = filled(key, n)
			}
		}
	}
	checkSame(t, "visible", s.visible(), want)
	if len(stored) != 21 {
		t.Errorf("%d entries are written, want 21", len(stored))
	}
	if e := stored[numbered(900)]; e.Until != 0 {
		t.Errorf("what was written for ever expires at %d", e.Until)
	}
	stale := uint64(0)
	for _, meta := range edit.AddBottom {
		stale = max(stale, meta.StaleAt)
	}
	if stale == 0 {
		t.Error("no table is recorded to get stale")
	}
}
