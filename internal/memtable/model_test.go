package memtable

import (
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
	probe := []byte(key)
	checkSteps(t, c, want, at, 1, c.Seek(probe), c.Next)
	checkSteps(t, c, want, at, -1, c.Seek(probe), c.Prev)
	checkSteps(t, c, want, at-1, 1, c.SeekBefore(probe), c.Next)
	checkSteps(t, c, want, at-1, -1, c.SeekBefore(probe), c.Prev)
}

// checkSteps checks that c, after a seek that reported ok, is on want[at], and where two moves
// lead.
func checkSteps(t testing.TB, c *Cursor, want []entry, at, step int, ok bool, move func() bool) {
	t.Helper()
	for range 3 {
		if inside := at >= 0 && at < len(want); ok != inside || c.Valid() != inside {
			t.Fatalf("the cursor reports %v and is valid %v at %d of %d", ok, c.Valid(), at,
				len(want))
		}
		if !ok {
			return
		}
		checkEntry(t, c, want, at)
		at += step
		ok = move()
	}
}

// snapshot is a root and what has to be in it, forever.
type snapshot struct {
	root Root
	want model
}

// subject runs the same operations on a memtable and on the model.
type subject struct {
	t         testing.TB
	m         *Memtable
	committed model
	snapshots []snapshot
	pending   []snapshot // taken from the edit under way
	edit      *Edit
	working   model
	log       []entry // the entries of the edit, in order
}

func newSubject(t testing.TB, m *Memtable) *subject {
	s := &subject{t: t, m: m, committed: model{}}
	s.begin()
	return s
}

func (s *subject) begin() {
	s.edit, s.working = s.m.Begin(), s.committed.clone()
	s.pending, s.log = nil, nil
}

func (s *subject) put(key, value string) {
	s.write(entry{key, value, keyspace.KindPut})
}

func (s *subject) delete(key string) { s.write(entry{key, "", keyspace.KindDelete}) }

func (s *subject) write(e entry) {
	k, v := []byte(e.key), []byte(e.value)
	if e.kind == keyspace.KindPut {
		s.edit.Put(k, v)
	} else {
		s.edit.Delete(k)
	}
	clear(k) // the memtable must have copied both
	clear(v)
	s.working[e.key] = e
	s.log = append(s.log, e)
	checkGet(s.t, s.edit.Peek(), s.working, e.key)
}

func (s *subject) snapshot() {
	s.pending = append(s.pending, snapshot{s.edit.Root(), s.working.clone()})
}

func (s *subject) commit() {
	s.t.Helper()
	s.checkFrames()
	root := s.edit.Commit()
	s.committed = s.working
	s.snapshots = append(s.snapshots, s.pending...)
	s.snapshots = append(s.snapshots, snapshot{root, s.committed.clone()})
	s.begin()
}

func (s *subject) rollback() {
	s.t.Helper()
	for _, p := range s.pending {
		checkRoot(s.t, p.root, p.want, nil)
	}
	s.edit.Rollback()
	s.begin()
	checkRoot(s.t, s.edit.Peek(), s.committed, nil)
}

// checkFrames checks that the frames decode to what was written.
func (s *subject) checkFrames() {
	s.t.Helper()
	if s.edit.Empty() != (len(s.log) == 0) {
		s.t.Fatalf("Empty = %v after %d writes", s.edit.Empty(), len(s.log))
	}
	var got []entry
	for _, frame := range s.edit.TakeFrames() {
		copy(frame[:headroom], "the log owns this much of a frame")
		err := batch.Decode(frame[headroom:], func(kind keyspace.Kind, key, value []byte) {
			got = append(got, entry{string(key), string(value), kind})
		})
		if err != nil {
			s.t.Fatal(err)
		}
	}
	if !slices.Equal(got, s.log) {
		s.t.Fatalf("%d entries in the frames differ from the %d written", len(got), len(s.log))
	}
}

// check checks the tree under way and all snapshots.
func (s *subject) check(probes []string) {
	s.t.Helper()
	checkRoot(s.t, s.edit.Peek(), s.working, probes)
	checkNodes(s.t, s.m, s.edit.top)
	for _, snap := range append(s.snapshots, s.pending...) {
		checkRoot(s.t, snap.root, snap.want, nil)
	}
}

// checkNodes checks what the code relies on in every node below top, and that their memory is
// counted.
func checkNodes(t testing.TB, m *Memtable, top node) {
	t.Helper()
	chunks := m.arena.Chunks()
	var bytes int64
	var visit func(n node) (keys []string)
	visit = func(n node) (keys []string) {
		if l := n.leaf; l != nil {
			bytes += leafBytes
			for i := range l.count {
				keys = append(keys, string(chunks.Key(l.refs[i])))
			}
			checkHeads(t, l.heads, keys, int(l.prefix))
			if int(l.prefix) != common(keys) || len(keys) == 0 || len(keys) > m.leafMax {
				t.Fatalf("leaf of %d has prefix %d", len(keys), l.prefix)
			}
			return keys
		}
		bytes += innerBytes
		var smallest []string
		for i, kid := range n.inner.kids {
			if (kid != node{}) != (i < int(n.inner.count)) {
				t.Fatalf("%d children, but child %d is %v", n.inner.count, i, kid)
			}
			if kid != (node{}) {
				below := visit(kid)
				keys = append(keys, below...)
				smallest = append(smallest, below[0])
			}
		}
		checkHeads(t, *n.inner.heads, smallest[1:], int(n.inner.prefix))
		if int(n.inner.prefix) > common(keys) || len(smallest) < 2 || len(smallest) > m.innerMax {
			t.Fatalf("inner node of %d has prefix %d", len(smallest), n.inner.prefix)
		}
		return keys
	}
	if top != (node{}) {
		visit(top)
	}
	if want := m.arena.Bytes() + bytes; m.Bytes() != want {
		t.Fatalf("Bytes = %d, want %d", m.Bytes(), want)
	}
}

func checkHeads(t testing.TB, got heads, keys []string, prefix int) {
	t.Helper()
	for i, h := range got {
		want := noHead
		if i < len(keys) {
			want = head([]byte(keys[i]), prefix)
		}
		if h != want {
			t.Fatalf("head %d of %d is %x, want %x", i, len(keys), h, want)
		}
	}
}

// common returns how many leading bytes the sorted keys share.
func common(keys []string) int {
	return sharedPrefix([]byte(keys[0]), []byte(keys[len(keys)-1]))
}
