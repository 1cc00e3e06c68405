package superversion

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// orders returns orders in which to look up n keys that are sorted.
func orders(rng *rand.Rand, n int) map[string][]int {
	all := map[string][]int{}
	at := rng.IntN(n)
	for i := range n {
		all["ascending"] = append(all["ascending"], i)
		all["descending"] = append(all["descending"], n-1-i)
		all["repeated"] = append(all["repeated"], i/3)
		all["interleaved"] = append(all["interleaved"], (i/2+i%2*n/2)%n)
		if at = min(max(at+rng.IntN(5)-2, 0), n-1); rng.IntN(20) == 0 {
			at = rng.IntN(n)
		}
		all["wandering"] = append(all["wandering"], at)
	}
	all["shuffled"] = rng.Perm(n)
	return all
}

// keysOf returns the keys that anything in the state writes, and as many others, in order.
func (s *state) keysOf(rng *rand.Rand) (keys []string) {
	layers := slices.Concat([]*layer{s.bottom}, s.young, s.sealed)
	if s.mem != nil {
		layers = append(layers, s.mem)
	}
	for _, l := range layers {
		for key := range l.written {
			keys = append(keys, key)
		}
	}
	for range 1 + len(keys) {
		keys = append(keys, randomKey(rng))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func TestLookups_inAnyOrderFindTheNewestEntry(t *testing.T) {
	eachState(t, 40, func(t *testing.T, rng *rand.Rand, s *state) {
		want, below := s.all().visible(s.disk.now), s.below().visible(s.disk.now)
		keys := s.keysOf(rng)
		var l Lookups
		for name, order := range orders(rng, len(keys)) {
			for _, i := range order {
				key := keys[i]
				value, ok, err := s.Get([]byte(key), &l)
				if expected, there := want[key]; err != nil || ok != there || string(value) != expected {
					t.Errorf("%s: get %s: %q, %t, %v; want %q, %t",
						name, key, value, ok, err, expected, there)
					return
				}
				if rng.IntN(10) == 0 {
					checkBelow(t, s, key, below, &l)
				}
				if rng.IntN(200) == 0 {
					l.Reset()
				}
			}
		}
	})
}

// checkBelow fails the test unless key has, below the memtable, what is wanted.
func checkBelow(t *testing.T, s *state, key string, want map[string]string, l *Lookups) {
	t.Helper()
	older := &Superversion{Sealed: s.Sealed, Levels: s.Levels}
	value, ok, err := older.Get([]byte(key), l)
	if expected, there := want[key]; err != nil || ok != there || string(value) != expected {
		t.Errorf("%s below: %q, %t, %v; want %q, %t", key, value, ok, err, expected, there)
	}
	if has, err := older.Has([]byte(key), l); has != ok || err != nil {
		t.Errorf("%s below: has gives %t, %v; want %t", key, has, err, ok)
	}
}

func TestLookups_thatMoveToOtherTablesFindTheirEntries(t *testing.T) {
	d := newDisk(t)
	first, second := newLayer(), newLayer()
	for i := range 300 {
		key := string(benchKey(i))
		first.put(key, "first", 0)
		if i%3 > 0 {
			second.put(key, "second", 0)
		}
	}
	states := []*Superversion{d.only(first), d.only(second)}
	var l Lookups
	for i := range 300 {
		for range 3 { // often enough to be near
			value, ok, err := states[i/10%2].Get(benchKey(i), &l)
			want, there := "first", true
			if i/10%2 == 1 {
				want, there = "second", i%3 > 0
			}
			if ok != there || ok && string(value) != want || err != nil {
				t.Fatalf("%d is %q, %t, %v; want %q, %t", i, value, ok, err, want, there)
			}
		}
	}
}

func TestLookups_thatWereResetKeepNothingReachable(t *testing.T) {
	d, layer := newDisk(t), newLayer()
	for i := range 100 {
		layer.put(string(benchKey(i)), "value", 0)
	}
	s := d.only(layer)
	var l Lookups
	for i := range 10 {
		if _, ok, err := s.Get(benchKey(i), &l); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	if !l.data.Near() {
		t.Error("gets in order are not near each other")
	}
	if l.Reset(); l.levels != nil || l.data.Near() {
		t.Errorf("after a reset: %+v", l)
	}
}

func TestLookups_ofAbsentKeysAreNotTriedNearThemAgain(t *testing.T) {
	d, layer := newDisk(t), newLayer()
	for i := range 100 {
		layer.put(string(benchKey(2*i)), "value", 0)
	}
	s := d.only(layer)
	var l Lookups
	get := func(i int, there, near bool) {
		t.Helper()
		if _, ok, err := s.Get(benchKey(i), &l); ok != there || err != nil {
			t.Fatal(ok, err)
		}
		if l.data.Near() != near {
			t.Errorf("after key %d, the finger is near: %t", i, !near)
		}
	}
	get(0, true, false)
	get(2, true, false)
	get(4, true, true)
	get(7, false, false)
	get(101, false, false)
	get(6, true, true)
}
