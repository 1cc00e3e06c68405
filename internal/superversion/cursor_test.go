package superversion

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/table"
)

// walk is a cursor beside the list that it should show.
type walk struct {
	t       testing.TB
	c       Cursor
	keys    []string
	values  map[string]string
	at      int  // index in keys; -1 if on no entry
	reverse bool // the direction of travel
}

// newWalk returns a walk over the keys of s in [lower, upper); an empty upper is no bound. If limit
// is not negative, its cursor is for one pass.
func newWalk(t testing.TB, s *state, lower, upper string, scope Scope, limit int) *walk {
	w := &walk{t: t, values: s.all().visible(s.disk.now), at: -1}
	for _, key := range slices.Sorted(maps.Keys(w.values)) {
		if key >= lower && (upper == "" || key < upper) {
			w.keys = append(w.keys, key)
		}
	}
	scope.Lower = []byte(lower)
	if upper != "" {
		scope.Upper = []byte(upper)
	}
	if limit >= 0 {
		scope.Once, scope.Limit, scope.Scratch = true, limit, new(Scratch)
	}
	w.c.Init(s.Superversion, scope)
	return w
}

// check compares after a move that should have led to index at of the list.
func (w *walk) check(move string, ok bool, at int) {
	w.t.Helper()
	if err := w.c.Err(); err != nil {
		w.t.Errorf("%s: %v", move, err)
	}
	w.at = at
	if at < 0 || at >= len(w.keys) {
		w.at = -1
	}
	if ok != (w.at >= 0) || ok != w.c.Valid() {
		w.t.Errorf("%s gives %v, want index %d of %d", move, ok, at, len(w.keys))
		w.at = -1
	}
	if w.at < 0 {
		return
	}
	key := string(w.c.Key())
	if key != w.keys[at] {
		w.t.Errorf("%s leads to %q, want %q", move, key, w.keys[at])
		return
	}
	if w.c.merge.scope.Read == ReadKeys || w.at%3 == 0 { // some values are skipped, for prefetch
		return
	}
	if value, err := w.c.Value(); err != nil || !w.shows(value, key) {
		w.t.Errorf("%s: value of %q is %q, %v; want %q", move, key, value, err, w.values[key])
	}
}

// shows reports whether so much was read of the value of key as there is to be.
func (w *walk) shows(value []byte, key string) bool {
	want := w.values[key]
	least := len(want)
	if scope := &w.c.merge.scope; scope.Read == ReadHeads {
		least = min(least, scope.HeadBytes)
	}
	return len(value) >= least && strings.HasPrefix(want, string(value))
}

// step makes one random move, or some of a kind.
func (w *walk) step(rng *rand.Rand) {
	w.t.Helper()
	key := randomKey(rng)
	at, _ := slices.BinarySearch(w.keys, key)
	switch rng.IntN(14) {
	case 0:
		w.reverse = false
		w.check("first", w.c.First(), 0)
	case 1:
		w.reverse = true
		w.check("last", w.c.Last(), len(w.keys)-1)
	case 2, 3:
		w.reverse = false
		w.check("seek "+key, w.c.Seek([]byte(key)), at)
	case 4, 5:
		w.reverse = true
		w.check("seek before "+key, w.c.SeekBefore([]byte(key)), at-1)
	case 6, 7, 8:
		for n := rng.IntN(40); n > 0 && w.at >= 0; n-- {
			w.reverse = false
			w.check("next", w.c.Next(), w.at+1)
		}
	case 9, 10, 11:
		for n := rng.IntN(40); n > 0 && w.at >= 0; n-- {
			w.reverse = true
			w.check("prev", w.c.Prev(), w.at-1)
		}
	default:
		w.walk(rng)
	}
}

// walk yields some entries in the direction of travel.
func (w *walk) walk(rng *rand.Rand) {
	w.t.Helper()
	if w.at < 0 {
		return
	}
	strip, limit, stop, step := rng.IntN(3), -1, -1, 1
	switch rng.IntN(3) {
	case 0:
		limit = 1 + rng.IntN(30)
	case 1:
		stop = rng.IntN(30)
	}
	if w.reverse {
		step = -1
	}
	what := fmt.Sprintf("walk in steps of %d from %d, limit %d, stop %d", step, w.at, limit, stop)
	for seen, more := 0, true; more; {
		var calls int
		before := seen
		calls, more = w.c.Walk(strip, limit-max(0, min(limit, seen)), func(key, value []byte) bool {
			w.yielded(fmt.Sprintf("%s: entry %d", what, seen), w.at+seen*step, strip, key, value)
			seen++
			return seen != stop && !w.t.Failed()
		})
		if calls != seen-before || limit > 0 && seen > limit {
			w.t.Errorf("%s: %d calls in place of %d, %d in all", what, calls, seen-before, seen)
		}
		if more {
			continue
		}
		if at := w.at + seen*step; seen != limit && seen != stop {
			w.check(what+": the end", false, at)
		} else if seen == stop {
			w.check(what+": stopped", w.c.Valid(), at-step)
		}
		w.at = -1 // behind a limit there is no saying
	}
}

// yielded compares what a walk yields with index at of the list.
func (w *walk) yielded(what string, at, strip int, key, value []byte) {
	w.t.Helper()
	switch {
	case at < 0 || at >= len(w.keys):
		w.t.Errorf("%s: %q behind the end", what, key)
	case string(key) != w.keys[at][strip:]:
		w.t.Errorf("%s is %q, want %q", what, key, w.keys[at])
	case w.c.merge.scope.Read != ReadKeys && !w.shows(value, w.keys[at]):
		w.t.Errorf("%s: value of %q is %q, want %q", what, key, value, w.values[w.keys[at]])
	}
}

func TestCursor_walksLikeASortedList(t *testing.T) {
	eachState(t, 80, func(t *testing.T, rng *rand.Rand, s *state) {
		for range 6 {
			lower, upper := randomKey(rng), randomKey(rng)
			if rng.IntN(3) == 0 {
				lower = ""
			}
			switch {
			case rng.IntN(4) == 0:
				upper = ""
			case rng.IntN(3) == 0:
				upper = "l" // all keys start with k: the shared prefix is not empty
			}
			if upper != "" && lower > upper {
				lower, upper = upper, lower
			}
			limit := rng.IntN(10) - 4
			scope := Scope{Read: []table.Reading{ReadKeys, ReadHeads, ReadValues, ReadValues}[rng.IntN(4)]}
			if scope.Read == ReadHeads {
				scope.HeadBytes = 1 + rng.IntN(12)
			}
			w := newWalk(t, s, lower, upper, scope, limit)
			for range 60 {
				if w.step(rng); t.Failed() {
					t.Logf("limit %d, scope %+v", limit, w.c.merge.scope)
					return
				}
			}
			s.disk.now += uint64(rng.IntN(10))
		}
	})
}

func TestCursor_goesOnByTheMomentItFirstAsked(t *testing.T) {
	d, l := newDisk(t), newLayer()
	for i := range 20 {
		l.put(fmt.Sprintf("k%02d", i), "v", d.now+uint64(1+i%2))
	}
	s := d.only(l)
	for _, below := range []*Superversion{s, {Mem: l.edit.Root(), Levels: s.Levels}} {
		d.now = 1000
		var c Cursor
		c.Init(below, Scope{Read: ReadValues})
		n := 0
		for ok := c.First(); ok; ok = c.Next() {
			d.now, n = 2000, n+1
		}
		if n != 20 || c.Err() != nil {
			t.Errorf("%d entries, error %v", n, c.Err())
		}
		if c.Init(below, Scope{Read: ReadValues}); c.First() || c.Err() != nil {
			t.Error("a later loop sees what has expired")
		}
	}
}

func TestEntryCursor_yieldsTheNewestEntryWhateverItSays(t *testing.T) {
	eachState(t, 60, func(t *testing.T, rng *rand.Rand, s *state) {
		layers := append(slices.Clone(s.young), s.bottom)
		runs := append(slices.Clone(s.Levels.Young), s.Levels.Bottom)
		from := rng.IntN(len(runs))
		to := from + 1 + rng.IntN(len(runs)-from)
		want := entries{}
		for _, l := range slices.Backward(layers[from:to]) {
			l.over(want)
		}
		for _, newer := range layers[:from] { // not compacted, and what they delete is gone all the same
			maps.DeleteFunc(want, func(key string, _ keyspace.Entry) bool {
				return newer.deleted.Contains([]byte(key))
			})
		}
		var c EntryCursor
		c.Init(s.Levels, runs[from:to])
		keys := slices.Sorted(maps.Keys(want))
		for ok := c.First(); ok; {
			if len(keys) == 0 || string(c.Key()) != keys[0] {
				t.Errorf("runs %d to %d: %q, want one of %d before the end", from, to, c.Key(), len(keys))
				return
			}
			if c.Whole() != nil && rng.IntN(2) == 0 {
				keys = s.passBlock(t, &c, keys, want)
				ok = c.SkipBlock()
				continue
			}
			e, err := c.Entry()
			if err != nil {
				t.Fatal(err)
			}
			s.compareEntry(t, keys[0], e, want[keys[0]])
			keys = keys[1:]
			ok = c.Next()
		}
		if len(keys) > 0 || c.Err() != nil {
			t.Errorf("runs %d to %d: %d keys are missing, error %v", from, to, len(keys), c.Err())
		}
	})
}

// passBlock checks that all of the block that the cursor is in is wanted next, and returns the keys
// behind it.
func (s *state) passBlock(
	t *testing.T, c *EntryCursor, keys []string, want map[string]keyspace.Entry,
) []string {
	t.Helper()
	b, err := c.Block()
	if err != nil {
		t.Fatal(err)
	}
	n := b.Keys.Len()
	if n > len(keys) || string(b.First) != keys[0] || string(b.Last) != keys[n-1] {
		t.Fatalf("a block has %q to %q, want them among %q", b.First, b.Last, keys)
	}
	values, err := block.ParseValues(b.Values, n, new(block.Decompressor))
	if err != nil {
		t.Fatal(err)
	}
	for i, key := range keys[:n] {
		got := keyspace.Entry{Kind: keyspace.KindPut, Value: values.Plain.At(i)}
		if e := want[key]; string(b.Keys.Append(nil, i)) != key || e.Kind == keyspace.KindPointer {
			t.Errorf("the block has the key %q, want %q", b.Keys.Append(nil, i), key)
		} else {
			s.compareEntry(t, key, got, e)
		}
	}
	return keys[n:]
}

// compareEntry compares an entry whose value may lie elsewhere.
func (s *state) compareEntry(t *testing.T, key string, got, want keyspace.Entry) {
	t.Helper()
	if got.Kind == keyspace.KindPointer {
		value, err := s.Levels.Resolve(&got, nil)
		if err != nil {
			t.Error(err)
		}
		got.Kind, got.Value = keyspace.KindPut, value
	}
	if got.Kind != want.Kind || got.Until != want.Until || string(got.Value) != string(want.Value) {
		t.Errorf("the entry of %q is %+v, want %+v", key, got, want)
	}
}

func TestOnly_keepsWhatNewerRunsDelete(t *testing.T) {
	eachState(t, 40, func(t *testing.T, rng *rand.Rand, s *state) {
		bottom := s.Levels.Bottom
		if len(bottom.Tables) == 0 {
			return
		}
		chosen := bottom.Tables[rng.IntN(len(bottom.Tables))].Meta
		only := bottom.Only(func(meta *manifest.Table) bool { return meta == chosen })
		var c EntryCursor
		c.Init(s.Levels, []Run{only})
		n := 0
		for ok := c.First(); ok; ok = c.Next() {
			n++
		}
		want := 0
		for key := range s.bottom.written {
			if key >= string(chosen.Smallest) && key <= string(chosen.Largest) &&
				!slices.ContainsFunc(s.young, func(l *layer) bool { return l.deleted.Contains([]byte(key)) }) {
				want++
			}
		}
		if n != want || c.Err() != nil {
			t.Errorf("%d entries of one table, want %d, error %v", n, want, c.Err())
		}
	})
}

func TestCursor_withoutUpperBoundReachesTheEnd(t *testing.T) {
	l := newLayer()
	l.put("\xff\xff", "last", 0)
	s := &Superversion{Mem: l.edit.Commit(), Levels: &Levels{}}
	var c Cursor
	c.Init(s, Scope{Read: ReadValues})
	if !c.Last() {
		t.Fatal("the last key is not found")
	}
	if value, err := c.Value(); string(value) != "last" || err != nil || c.Next() {
		t.Error("the last key has another value, or something follows it")
	}
}

func TestSharedPrefix_countsWhatAllKeysInBoundsShare(t *testing.T) {
	for _, c := range []struct {
		lower, upper string
		want         int
	}{
		{"", "", 0}, {"\x10", "\x11", 1}, {"\x10abc", "\x10abd", 4}, {"\x10abc", "\x10abe", 3},
		{"\x10a", "\x11", 1}, {"\x10a", "\x12", 0}, {"\x10a", "\x10a\x00", 2}, {"a", "b\x00", 0},
	} {
		if got := sharedPrefix([]byte(c.lower), []byte(c.upper)); got != c.want {
			t.Errorf("sharedPrefix(%q, %q) = %d, want %d", c.lower, c.upper, got, c.want)
		}
	}
}
