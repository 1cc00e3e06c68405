package superversion

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/memtable"
)

// stack returns a superversion of layers, newest first: a memtable, a sealed one, young runs, and
// the bottom run.
func (d *disk) stack(mem, sealed *layer, young []*layer, bottom *layer) *Superversion {
	d.t.Helper()
	version := &manifest.Version{}
	for _, l := range young {
		r, _ := d.run(l, true)
		version.Young = append(version.Young, r)
	}
	version.Bottom, _ = d.run(bottom, false)
	return &Superversion{
		Mem: mem.edit.Commit(), Sealed: []memtable.Root{sealed.edit.Commit()},
		Levels: NewLevels(version, nil, d.opener()),
	}
}

// deleting returns a layer that deletes ranges, each given as its first key and its end.
func deleting(bounds ...string) *layer {
	l := newLayer()
	for i := 0; i < len(bounds); i += 2 {
		l.deleteRange(bounds[i], bounds[i+1])
	}
	return l
}

// keysOf returns the keys that c yields in one direction, and then those on the way back.
func keysOf(t testing.TB, c *Cursor, reverse bool) (all string) {
	t.Helper()
	first, next, last := c.First, c.Next, c.Last
	if reverse {
		first, next, last = c.Last, c.Prev, c.First
	}
	for ok := first(); ok; ok = next() {
		all += string(c.Key())
	}
	if c.Err() != nil {
		t.Error(c.Err())
	}
	if last() && !strings.HasSuffix(all, string(c.Key())) {
		t.Errorf("the other end of %q is %q", all, c.Key())
	}
	return all
}

func TestCursor_meetsDeletionsAtItsBounds(t *testing.T) {
	d, bottom := newDisk(t), newLayer()
	for _, key := range "abcdefghij" {
		bottom.put(string(key), "v", 0)
	}
	s := d.stack(deleting("a", "b", "i", "z"), deleting("b", "c"),
		[]*layer{deleting("e", "f"), deleting("f", "g", "h", "hh")}, bottom)
	for _, c := range []struct{ lower, upper, want string }{
		{"", "", "cdg"}, {"a", "c", ""}, {"a", "c\x00", "c"}, {"b", "d", "c"}, {"c", "e", "cd"},
		{"c", "f", "cd"}, {"d", "h", "dg"}, {"e", "g", ""}, {"e", "h", "g"}, {"f", "i", "g"},
		{"g", "h", "g"}, {"g", "", "g"}, {"h", "", ""}, {"i", "", ""}, {"i", "j", ""}, {"", "a", ""},
		{"z", "", ""}, {"e", "e", ""}, {"e", "c", ""},
	} {
		var upper []byte
		if c.upper != "" {
			upper = []byte(c.upper)
		}
		var cursor Cursor
		for _, reverse := range []bool{false, true, false} {
			cursor.Init(s, Scope{Lower: []byte(c.lower), Upper: upper})
			want := []byte(c.want)
			if reverse {
				slices.Reverse(want)
			}
			if got := keysOf(t, &cursor, reverse); got != string(want) {
				t.Errorf("%q to %q, reverse %t: %q, want %q", c.lower, c.upper, reverse, got, want)
			}
		}
	}
}

func TestCursor_knowsOnlyDeletionsWithinItsBounds(t *testing.T) {
	d, bottom := newDisk(t), newLayer()
	for i := range 1000 {
		bottom.put(fmt.Sprintf("k%03d", i), "v", 0)
	}
	var bounds []string
	for i := 0; i < 1000; i += 10 {
		bounds = append(bounds, fmt.Sprintf("k%03d", i), fmt.Sprintf("k%03d", i+5))
	}
	few := deleting("k500", "k502")
	s := d.stack(deleting(bounds...), few, []*layer{deleting(bounds...), few}, bottom)
	for _, c := range []struct {
		lower, upper string
		want         int // deletions that count
	}{
		{"k105", "k110", 0}, {"k105", "k110\x00", 2}, {"k104", "k110", 2}, {"k501", "k503", 4},
		{"k502", "k503", 2}, {"k995", "l", 0}, {"a", "k000", 0},
	} {
		var cursor Cursor
		cursor.Init(s, Scope{Lower: []byte(c.lower), Upper: []byte(c.upper)})
		if len(cursor.merge.deletions) != c.want {
			t.Errorf("%s to %s: %d deletions count, want %d", c.lower, c.upper,
				len(cursor.merge.deletions), c.want)
		}
	}
	var cursor Cursor
	cursor.Init(s, Scope{})
	seek := func() {
		cursor.Init(s, Scope{})
		if !cursor.Seek([]byte("k700")) || string(cursor.Key()) != "k705" || !cursor.Next() {
			t.Error("a key is not found behind those deleted")
		}
	}
	seek() // reads the block
	if allocs := testing.AllocsPerRun(20, seek); allocs > 0 {
		t.Errorf("%v allocations to read a key among deletions", allocs)
	}
}
