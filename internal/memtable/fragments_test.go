package memtable

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// Of the range deletions of other edits, a further one copies those on its way, and adds itself.
func TestDeleteRange_copiesFewOfManyOthers(t *testing.T) {
	const all = 20_000
	m := New(headroom)
	keys := ascending(2 * all)
	e := m.Begin()
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(all) {
		e.DeleteRange(keyspace.Span{Start: keys[2*i], End: keys[2*i+1]})
	}
	before := e.Commit()
	if n := len(before.Deleted()); n != all {
		t.Fatalf("%d spans, want %d", n, all)
	}
	i := 0
	allocs := testing.AllocsPerRun(100, func() {
		i += 100
		e := m.Begin()
		e.DeleteRange(keyspace.Span{Start: keys[i+1], End: keys[i+2]})
		e.Commit()
	})
	if way := 200.0; allocs > way {
		t.Errorf("%v allocations for a range deletion beside %d", allocs, all)
	}
	checkNodes(t, m, m.root)
	if n := len(before.Deleted()); n != all {
		t.Errorf("an older root has %d spans, had %d", n, all)
	}
}

func TestDeleteRange_unitesWhatTouches(t *testing.T) {
	spans := func(bounds string) (all []keyspace.Span) {
		for i := 0; i < len(bounds); i += 2 {
			all = append(all, keyspace.Span{Start: []byte(bounds[i : i+1]), End: []byte(bounds[i+1 : i+2])})
		}
		return all
	}
	for _, c := range []struct{ before, then, want string }{
		{"", "bd", "bd"}, {"bd", "df", "bf"}, {"df", "bd", "bf"}, {"acei", "ce", "ai"},
		{"acei", "bf", "ai"}, {"bi", "ce", "bi"}, {"ce", "bi", "bi"}, {"bcdefg", "ah", "ah"},
		{"bcdefg", "ce", "befg"}, {"bcdefg", "cd", "befg"}, {"bcfg", "de", "bcdefg"}, {"bd", "bd", "bd"},
	} {
		e := New(headroom).Begin()
		for _, s := range append(spans(c.before), spans(c.then)...) {
			e.DeleteRange(s)
		}
		if r := e.Commit(); !reflect.DeepEqual(r.Deleted(), keyspace.Spans(spans(c.want))) {
			t.Errorf("%s and %s are %q, want %s", c.before, c.then, r.Deleted(), c.want)
		}
	}
}

func TestDeleteRange_countsMemoryOfWhatIsLeft(t *testing.T) {
	m := New(headroom)
	keys := ascending(1000)
	e := m.Begin()
	for i := 0; i < len(keys); i += 2 {
		e.DeleteRange(keyspace.Span{Start: keys[i], End: keys[i+1]})
	}
	e.DeleteRange(keyspace.Span{Start: keys[100], End: keys[900]})
	checkNodes(t, m, e.Peek())
	e.DeleteRange(keyspace.Span{Start: keys[0], End: keys[999]})
	if r := e.Commit(); m.Bytes() != m.arena.Bytes()+fragmentBytes || len(r.Deleted()) != 1 {
		t.Errorf("%d spans are left of all", len(r.Deleted()))
	}
}

// checkFragments checks the set of fragments, and returns what memory is counted for them.
func checkFragments(t testing.TB, r Root) int64 {
	t.Helper()
	checkTreap(t, r.deleted)
	return int64(r.deleted.size()) * fragmentBytes
}

// checkTreap checks what every node of a set of fragments must say of those below it.
func checkTreap(t testing.TB, f *fragment) {
	t.Helper()
	if f == nil {
		return
	}
	if int(f.count) != 1+f.left.size()+f.right.size() {
		t.Fatalf("a fragment counts %d, not 1+%d+%d", f.count, f.left.size(), f.right.size())
	}
	for _, kid := range []*fragment{f.left, f.right} {
		if kid != nil && kid.priority > f.priority {
			t.Fatalf("a fragment of priority %d is below one of %d", kid.priority, f.priority)
		}
		checkTreap(t, kid)
	}
}
