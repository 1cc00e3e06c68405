package superversion

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/valuelog"
)

// eachState calls fn with many random states, and the random numbers that made them.
func eachState(t *testing.T, n int, fn func(t *testing.T, rng *rand.Rand, s *state)) {
	t.Helper()
	first := rand.Uint64() >> 16
	for seed := first; seed < first+uint64(n); seed++ {
		rng := rand.New(rand.NewPCG(seed, 1))
		fn(t, rng, randomState(t, rng))
		if t.Failed() {
			t.Fatalf("the seed is %d", seed)
		}
	}
}

func TestGet_findsTheNewestEntry(t *testing.T) {
	eachState(t, 60, func(t *testing.T, rng *rand.Rand, s *state) {
		want := s.all().visible(s.disk.now)
		for range 800 {
			key := randomKey(rng)
			value, ok, err := s.Get([]byte(key), new(Lookups))
			if expected, there := want[key]; err != nil || ok != there || string(value) != expected {
				t.Errorf("get %s: %q, %t, %v; want %q, %t", key, value, ok, err, expected, there)
				return
			}
		}
	})
}

func TestFindBelow_leavesOutTheMemtable(t *testing.T) {
	eachState(t, 40, func(t *testing.T, rng *rand.Rand, s *state) {
		want := s.below().visible(s.disk.now)
		for range 400 {
			key := randomKey(rng)
			var e keyspace.Entry
			ok, err := s.FindBelow([]byte(key), new(Lookups), &e)
			expected, there := want[key]
			if err != nil || (ok && s.Levels.Exists(&e)) != there {
				t.Errorf("%s: found %+v, %t, %v; want %t", key, e, ok, err, there)
				return
			}
			if !there {
				continue
			}
			if value, ok, err := s.Levels.Value(&e, nil); string(value) != expected || !ok || err != nil {
				t.Errorf("%s is %q, %t, %v; want %q", key, value, ok, err, expected)
			}
		}
	})
}

func TestGet_expiresAtTheMomentOfTheEntry(t *testing.T) {
	d, l := newDisk(t), newLayer()
	l.put("k", "v", d.now+1)
	s := d.only(l)
	for _, below := range []*Superversion{s, {Mem: l.edit.Root(), Levels: s.Levels}} {
		d.now = 1000
		value, ok, err := below.Get([]byte("k"), new(Lookups))
		if string(value) != "v" || !ok || err != nil {
			t.Errorf("1 ms too early: %q, %t, %v", value, ok, err)
		}
		d.now = 1001
		if _, ok, err := below.Get([]byte("k"), new(Lookups)); ok || err != nil {
			t.Errorf("k is there when it has expired, or %v", err)
		}
		var e keyspace.Entry
		if ok, _ := below.Find([]byte("k"), new(Lookups), &e); !ok || e.Until != 1001 {
			t.Errorf("Find gives %+v, %t", e, ok)
		}
	}
}

// only returns a superversion that has a layer as its bottom run.
func (d *disk) only(l *layer) *Superversion {
	d.t.Helper()
	bottom, files := d.run(l, false)
	version := &manifest.Version{Bottom: bottom, ValueFiles: files}
	return &Superversion{Levels: NewLevels(version, nil, d.opener())}
}

func TestLevels_reportAValueFileThatIsNotThere(t *testing.T) {
	d, l := newDisk(t), newLayer()
	l.put("a", "in the table", 0)
	l.put("b", strings.Repeat("elsewhere", 20), 0)
	s := d.only(l)
	version := *s.Levels.Version
	version.ValueFiles = nil
	s.Levels = NewLevels(&version, nil, d.opener())
	if _, ok, err := s.Get([]byte("b"), new(Lookups)); ok || err == nil {
		t.Errorf("Get gives %t and the error %v", ok, err)
	}
	var c Cursor
	c.Init(s, Scope{Read: ReadValues})
	if !c.First() {
		t.Fatal(c.Err())
	}
	if calls, more := walkAll(&c); calls != 1 || more || c.Err() == nil || c.Valid() {
		t.Errorf("a walk yields %d, goes on: %t, error %v", calls, more, c.Err())
	}
	c.Init(s, Scope{})
	if !c.First() {
		t.Fatal(c.Err())
	}
	if calls, _ := walkAll(&c); calls != 2 || c.Err() != nil {
		t.Errorf("a walk without values yields %d, error %v", calls, c.Err())
	}
}

// walkAll walks to the end.
func walkAll(c *Cursor) (calls int, more bool) {
	for more = true; more; {
		var n int
		n, more = c.Walk(0, -1, func(_, _ []byte) bool { return true })
		calls += n
	}
	return calls, more
}

func TestNewLevels_takesOverOpenFiles(t *testing.T) {
	d, l := newDisk(t), newLayer()
	l.put("b", strings.Repeat("elsewhere", 20), 0)
	first := d.only(l).Levels
	opened := 0
	open := d.opener()
	inner := open.Values
	open.Values = func(f manifest.ValueFile) *valuelog.File { opened++; return inner(f) }
	second := NewLevels(first.Version, first, open)
	number := first.Version.ValueFiles[0].Number
	if opened != 0 || second.Values(number) != first.Values(number) {
		t.Errorf("%d value files were opened again", opened)
	}
	meta := first.Version.Bottom.Tables[0]
	before, _ := handleOf(first, meta.Number)
	if after, ok := handleOf(second, meta.Number); !ok || after.Table != before.Table {
		t.Error("a table was opened again")
	}
	if _, ok := handleOf(second, 99); ok || second.Values(99) != nil {
		t.Error("there is a file 99")
	}
}

func TestLevels_sayWhatLiesOutside(t *testing.T) {
	d, l := newDisk(t), newLayer()
	l.put("f", "", 0)
	l.put("m", "", 0)
	bottom, _ := d.run(l, false)
	version := &manifest.Version{Bottom: bottom, Young: []manifest.Run{{
		Deleted: keyspace.Spans{{Start: []byte("k"), End: []byte("p")}},
	}}}
	levels := NewLevels(version, nil, d.opener())
	for _, c := range []struct {
		first, last string
		want        bool
	}{
		{"a", "e", true}, {"a", "f", false}, {"g", "h", false}, {"n", "o", false}, {"q", "r", true},
	} {
		if got := levels.Outside([]byte(c.first), []byte(c.last)); got != c.want {
			t.Errorf("%s to %s is outside: %t", c.first, c.last, got)
		}
	}
	if levels.Above([]byte("o")) || !levels.Above([]byte("q")) {
		t.Error("Above is wrong about o or q")
	}
	version.Young[0].Deleted[0].End = nil
	if levels.Outside([]byte("q"), []byte("r")) || levels.Above([]byte("q")) {
		t.Error("a deletion without an end has one")
	}
}

// handleOf returns the table with the given number, or false.
func handleOf(l *Levels, number uint64) (found Handle, ok bool) {
	l.Each(func(h Handle) {
		if h.Meta.Number == number {
			found, ok = h, true
		}
	})
	return found, ok
}
