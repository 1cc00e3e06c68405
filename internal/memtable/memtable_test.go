package memtable

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/batch"
	"github.com/stoatdb/stoat/internal/keyspace"
)

const headroom = 28

// entry is what the model keeps for a key.
type entry struct {
	key   string
	value string
	kind  keyspace.Kind
}

// model is the obviously right memtable: a map.
type model map[string]entry

func (m model) clone() model {
	c := make(model, len(m))
	for key, e := range m {
		c[key] = e
	}
	return c
}

func (m model) sorted() []entry {
	all := make([]entry, 0, len(m))
	for _, e := range m {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	return all
}

// checkRoot compares everything that a root can be asked with the model, and probes around each of
// the given keys.
func checkRoot(t testing.TB, r Root, m model, probes []string) {
	t.Helper()
	want := m.sorted()
	if r.Len() != len(want) {
		t.Fatalf("Len = %d, want %d", r.Len(), len(want))
	}
	var c Cursor
	c.Init(r)
	if c.Valid() || c.Next() || c.Prev() || c.Valid() {
		t.Fatal("a cursor is on an entry before it was positioned")
	}
	i := 0
	for ok := c.First(); ok; ok = c.Next() {
		checkEntry(t, &c, want, i)
		i++
	}
	if i != len(want) || c.Valid() {
		t.Fatalf("forward: %d entries, valid %v after the end, want %d", i, c.Valid(), len(want))
	}
	for ok := c.Last(); ok; ok = c.Prev() {
		i--
		checkEntry(t, &c, want, i)
	}
	if i != 0 || c.Valid() {
		t.Fatalf("backward: %d entries missing, valid %v", i, c.Valid())
	}
	for _, key := range probes {
		checkGet(t, r, m, key)
		checkSeek(t, &c, want, key)
	}
}

// checkEntry checks that c is on want[i].
func checkEntry(t testing.TB, c *Cursor, want []entry, i int) {
	t.Helper()
	if i < 0 || i >= len(want) {
		t.Fatalf("cursor is on %q, entry %d of %d", c.Key(), i, len(want))
	}
	got := entry{string(c.Key()), string(c.Value()), c.Kind()}
	if !c.Valid() || got != want[i] {
		t.Fatalf("entry %d is %.60q, want %.60q", i, got, want[i])
	}
	first, last := i-c.Ahead(true), i+c.Ahead(false)
	if first < 0 || last >= len(want) || string(c.WindowFirst()) != want[first].key ||
		string(c.WindowLast()) != want[last].key {
		t.Fatalf("the window of entry %d is %.60q to %.60q", i, c.WindowFirst(), c.WindowLast())
	}
	if k, v := c.Key(), c.Value(); cap(k) != len(k) || cap(v) != len(v) || v == nil {
		t.Fatal("a slice has spare capacity or is nil")
	}
}

func checkGet(t testing.TB, r Root, m model, key string) {
	t.Helper()
	value, kind, ok := r.Get([]byte(key))
	e, want := m[key]
	if ok != want || string(value) != e.value || kind != e.kind {
		t.Fatalf("Get(%.60q) = %.60q, %v, %v, want %.60q, %v, %v", key, value, kind, ok, e.value,
			e.kind, want)
	}
	if ok && (value == nil || cap(value) != len(value)) {
		t.Fatalf("Get(%.60q) returns nil or spare capacity", key)
	}
}

// checkSeek checks both seeks, and two steps in either direction from where they lead.
func checkSeek(t testing.TB, c *Cursor, want []entry, key string) {
	t.Helper()
	at := sort.Search(len(want), func(i int) bool { return want[i].key >= key })
	starts := []struct {
		seek func([]byte) bool
		at   int
	}{{c.Seek, at}, {c.SeekBefore, at - 1}}
	for _, s := range starts {
		for _, step := range []int{1, -1} {
			ok := s.seek([]byte(key))
			for i := s.at; ; i += step {
				if inside := i >= 0 && i < len(want); ok != inside || c.Valid() != inside {
					t.Fatalf("seek to %.60q: valid %v at %d of %d", key, ok, i, len(want))
				}
				if !ok {
					break
				}
				checkEntry(t, c, want, i)
				if i == s.at+2*step {
					break
				}
			}
		}
	}
}
