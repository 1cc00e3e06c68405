package memtable

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/batch"
	"github.com/stoatdb/stoat/internal/keyspace"
)

const headroom = 28

// newTiny returns a memtable whose chunks and nodes are small.
func newTiny(leafMax, innerMax int) *Memtable {
	return newSized(batch.NewSizedArena(headroom, 1<<8, 1<<12), leafMax, innerMax)
}

// entry is what the model keeps for a key.
type entry struct {
	key   string
	value string
	until uint64
	kind  keyspace.Kind
}

// span is a range deletion in the model.
type span struct{ start, end string }

// model is the obviously right memtable: a map.
type model struct {
	entries map[string]entry
	deleted []span // every range deletion there was
	written bool
}

func newModel() model { return model{entries: map[string]entry{}} }

func (m model) clone() model {
	return model{maps.Clone(m.entries), slices.Clone(m.deleted), m.written}
}

// deleteRange removes all entries in the span.
func (m *model) deleteRange(s span) {
	maps.DeleteFunc(m.entries, func(key string, _ entry) bool {
		return s.start <= key && key < s.end
	})
	m.deleted = append(m.deleted, s)
}

// set makes e the entry of its key, or removes that if e is a tombstone that hides nothing.
func (m *model) set(e entry) {
	m.entries[e.key], m.written = e, true
	if e.kind == keyspace.KindDelete && (m.isDeleted(e.key) || (absent{}).Absent([]byte(e.key))) {
		delete(m.entries, e.key)
	}
}

// absent is a [Below] without half of all keys.
type absent struct{}

func (absent) Absent(key []byte) bool { return len(key)%2 == 0 }

// isDeleted reports whether key is in any range deletion.
func (m model) isDeleted(key string) bool {
	return slices.ContainsFunc(m.deleted, func(s span) bool {
		return s.start <= key && key < s.end
	})
}

// get returns what a memtable should say of key.
func (m model) get(key string) (e entry, ok bool) {
	if e, ok = m.entries[key]; ok {
		return e, true
	}
	if m.isDeleted(key) {
		return entry{key: key, kind: keyspace.KindDelete}, true
	}
	return entry{key: key}, false
}

// plain reports whether a cursor over the same entries may be Plain.
func (m model) plain() bool {
	for _, e := range m.entries {
		if e.until != 0 {
			return false
		}
	}
	return true
}

func (m model) sorted() []entry {
	all := make([]entry, 0, len(m.entries))
	for _, e := range m.entries {
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
	if empty := !m.written && len(m.deleted) == 0; r.Empty() != empty {
		t.Fatalf("Empty = %v, want %v", r.Empty(), empty)
	}
	checkDeleted(t, r, m, probes)
	var c Cursor
	c.Init(r)
	if c.Plain() && !m.plain() {
		t.Fatal("a cursor is plain though something expires or a range was deleted")
	}
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

// checkDeleted compares the deleted keys with the model's, and what is said around the probes.
func checkDeleted(t testing.TB, r Root, m model, probes []string) {
	t.Helper()
	var want keyspace.Spans
	for _, s := range m.deleted {
		want = want.With(keyspace.Span{Start: []byte(s.start), End: []byte(s.end)})
	}
	if got := r.Deleted(); !reflect.DeepEqual(got, want) || (got == nil) != (len(m.deleted) == 0) {
		t.Fatalf("deleted are %.200q, want %.200q", got, want)
	}
	for _, key := range probes {
		span, deleted := r.Around([]byte(key))
		wantSpan, wantDeleted := want.Around([]byte(key))
		if !reflect.DeepEqual(span, wantSpan) || deleted != wantDeleted {
			t.Fatalf("around %.60q: %.60q, %v, want %.60q, %v", key, span, deleted, wantSpan,
				wantDeleted)
		}
	}
}

// checkEntry checks that c is on want[i].
func checkEntry(t testing.TB, c *Cursor, want []entry, i int) {
	t.Helper()
	if i < 0 || i >= len(want) {
		t.Fatalf("cursor is on %q, entry %d of %d", c.Key(), i, len(want))
	}
	got := entry{string(c.Key()), string(c.Value()), c.Until(), c.Kind()}
	if !c.Valid() || got != want[i] {
		t.Fatalf("entry %d is %.60q, want %.60q", i, got, want[i])
	}
	back, ahead := c.Ahead(keyspace.Reverse), c.Ahead(keyspace.Forward)
	if back > i || ahead >= len(want)-i ||
		string(c.KeyAhead(back, keyspace.Reverse)) != want[i-back].key ||
		string(c.KeyAhead(ahead, keyspace.Forward)) != want[i+ahead].key {
		t.Fatalf("the leaf of entry %d is not entries %d to %d", i, i-back, i+ahead)
	}
	if k, v := c.Key(), c.Value(); cap(k) != len(k) || cap(v) != len(v) || v == nil {
		t.Fatal("a slice has spare capacity or is nil")
	}
}

func find(r Root, key []byte) (e keyspace.Entry, ok bool) {
	ok = r.Find(key, &e)
	return e, ok
}

func checkGet(t testing.TB, r Root, m model, key string) {
	t.Helper()
	got, ok := find(r, []byte(key))
	want, wantOK := m.get(key)
	if ok != wantOK || (entry{key, string(got.Value), got.Until, got.Kind}) != want {
		t.Fatalf("Get(%.60q) = %.60q, %v, want %.60q, %v", key, got, ok, want, wantOK)
	}
	if got.Kind == keyspace.KindPut && got.Value == nil || cap(got.Value) != len(got.Value) {
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

// subject runs the same operations on a memtable, on the model, and, by its log, on a replica.
type subject struct {
	t         testing.TB
	m         *Memtable
	committed model
	snapshots []snapshot
	pending   []snapshot // taken from the edit under way
	edit      *Edit
	working   model
	log       []entry // the entries of the edit that are in no frame taken, in order

	file    []byte // what is in the log
	replica *Memtable
	replay  *Edit // as far as frames of the edit were taken
}

func newSubject(t testing.TB, m *Memtable) *subject {
	s := &subject{t: t, m: m, replica: newTiny(m.leafMax, m.innerMax), committed: newModel()}
	s.file = []byte("the file's header")
	s.begin()
	return s
}

func (s *subject) begin() {
	s.edit, s.replay = s.m.BeginOver(absent{}), s.replica.BeginOver(absent{})
	s.working = s.committed.clone()
	s.pending, s.log = nil, nil
}

func (s *subject) put(key, value string) {
	s.write(entry{key, value, 0, keyspace.KindPut})
}

func (s *subject) putUntil(key, value string, until uint64) {
	s.write(entry{key, value, until, keyspace.KindPut})
}

func (s *subject) delete(key string) { s.write(entry{key, "", 0, keyspace.KindDelete}) }

func (s *subject) write(e entry) {
	k, v := []byte(e.key), []byte(e.value)
	switch {
	case e.kind == keyspace.KindDelete:
		s.edit.Delete(k)
	case e.until != 0 || len(k)%8 == 0: // until may be 0, too
		s.edit.PutUntil(k, v, e.until)
	default:
		s.edit.PutUntil(k, v, 0)
	}
	clear(k) // the memtable must have copied both
	clear(v)
	s.working.set(e)
	s.log = append(s.log, e)
	checkGet(s.t, s.edit.Peek(), s.working, e.key)
}

// deleteRange deletes the keys between two, in either order, and the lower of them.
func (s *subject) deleteRange(a, b string) {
	if a == b {
		b += "\x00"
	}
	start, end := []byte(min(a, b)), []byte(max(a, b))
	s.log = append(s.log, entry{string(start), string(end), 0, keyspace.KindDeleteRange})
	s.working.deleteRange(span{string(start), string(end)})
	s.working.written = true
	s.edit.DeleteRange(keyspace.Span{Start: start, End: end})
	clear(start)
	clear(end)
	checkGet(s.t, s.edit.Peek(), s.working, a)
	checkGet(s.t, s.edit.Peek(), s.working, b)
}

// clear does what deleteRange does, past the log.
func (s *subject) clear(a, b string) {
	start, end := []byte(min(a, b)), []byte(max(a, b)+"\x00")
	s.take()
	s.working.deleteRange(span{string(start), string(end)})
	s.edit.Clear(keyspace.Span{Start: start, End: end})
	s.replay.Clear(keyspace.Span{Start: start, End: end})
	clear(start)
	clear(end)
	checkGet(s.t, s.edit.Peek(), s.working, a)
	checkGet(s.t, s.edit.Peek(), s.working, b)
}

func (s *subject) snapshot() {
	s.pending = append(s.pending, snapshot{s.edit.Root(), s.working.clone()})
}

func (s *subject) commit() {
	s.t.Helper()
	s.take()
	root := s.edit.Commit()
	s.replay.Commit()
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
	s.replay.Rollback()
	s.begin()
	checkRoot(s.t, s.edit.Peek(), s.committed, nil)
	checkRoot(s.t, s.replay.Peek(), s.committed, nil)
}

// take takes frames, checks that they decode to what was written, and replays them.
func (s *subject) take() {
	s.t.Helper()
	if len(s.log) > 0 && s.edit.Empty() {
		s.t.Fatalf("the edit is empty after %d writes", len(s.log))
	}
	var got []entry
	decoder := batch.NewArena(0)
	for _, frame := range s.edit.TakeFrames(int64(len(s.file))) {
		copy(frame[:headroom], "the log owns this much of a frame")
		payload := bytes.Clone(frame[headroom:])
		decoder.Begin()
		err := decoder.Replay(payload, 0, func(r batch.Ref) {
			chunks := decoder.Chunks()
			got = append(got, entry{string(chunks.Key(r)), string(chunks.Value(r)),
				chunks.Until(r), r.Kind()})
		})
		if err != nil {
			s.t.Fatal(err)
		}
		decoder.Rollback()
		if err := s.replay.Replay(payload, int64(len(s.file)+headroom)); err != nil {
			s.t.Fatal(err)
		}
		clear(payload) // the memtable must have copied it
		s.file = append(s.file, frame...)
	}
	if !slices.Equal(got, s.log) {
		s.t.Fatalf("%d entries in the frames differ from the %d written", len(got), len(s.log))
	}
	s.log = nil
	s.edit.Prepare() // as the engine does, at the same moments
}

// checkPlaces checks that all values of a memtable whose frames were all taken are where it says.
func (s *subject) checkPlaces(r Root) {
	s.t.Helper()
	var c Cursor
	c.Init(r)
	for ok := c.First(); ok; ok = c.Next() {
		at, ok := c.LogOffset()
		if !ok || !bytes.HasPrefix(s.file[at:], c.Value()) {
			s.t.Fatalf("the value of %.60q is not at offset %d of the log: %v", c.Key(), at, ok)
		}
	}
}

// check checks the tree under way and all snapshots.
func (s *subject) check(probes []string) {
	s.t.Helper()
	checkRoot(s.t, s.edit.Peek(), s.working, probes)
	checkNodes(s.t, s.m, s.edit.Peek())
	s.take()
	checkRoot(s.t, s.replay.Peek(), s.working, probes)
	checkNodes(s.t, s.replica, s.replay.Peek())
	s.checkPlaces(s.edit.Peek())
	s.checkPlaces(s.replay.Peek())
	for _, snap := range append(s.snapshots, s.pending...) {
		checkRoot(s.t, snap.root, snap.want, nil)
	}
}

// checkNodes checks what the code relies on in every node of the newest tree and in its fragments,
// and that their memory is counted.
func checkNodes(t testing.TB, m *Memtable, r Root) {
	t.Helper()
	top, chunks := r.top, m.arena.Chunks()
	bytes := checkFragments(t, r)
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
		for i := range n.inner.kids {
			kid := n.inner.kid(i)
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
		if int(n.inner.prefix) > common(keys) || len(smallest) > m.innerMax ||
			n.inner.size != len(keys) {
			t.Fatalf("inner node of %d has prefix %d and %d entries, not %d", len(smallest),
				n.inner.prefix, n.inner.size, len(keys))
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
	return keyspace.Shared([]byte(keys[0]), []byte(keys[len(keys)-1]))
}
