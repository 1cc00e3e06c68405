package memtable

import (
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// nothing is a [Below] without any key.
type nothing struct{}

func (nothing) Absent([]byte) bool { return true }

func TestDeleteRange_removesWholeSubtrees(t *testing.T) {
	keys := ascending(100_000)
	m := New(headroom)
	before := load(m, keys)
	e := m.Begin()
	e.DeleteRange(keyspace.Span{Start: keys[5_000], End: keys[95_000]})
	if n := e.Peek().Len(); n != 10_000 {
		t.Errorf("%d entries are left, want 10000", n)
	}
	checkNodes(t, m, e.Peek())
	e.Rollback()
	if after := m.Begin().Commit(); after.Len() != len(keys) || after.top != before.top ||
		after.deleted != nil {
		t.Error("something of the range deletion is left after the rollback")
	}
	copied := testing.AllocsPerRun(10, func() {
		e := m.Begin()
		e.DeleteRange(keyspace.Span{Start: keys[5_000], End: keys[95_000]})
		e.Rollback()
	})
	if copied > 30 {
		t.Errorf("a range deletion allocates %v times", copied)
	}
	if before.Len() != len(keys) {
		t.Errorf("%d entries are in an older root", before.Len())
	}
}

func TestDelete_leavesNothingWhereNothingIsOlder(t *testing.T) {
	keys := ascending(10_000)
	for name, order := range map[string]func(i int) int{
		"from the first on":  func(i int) int { return i },
		"from the last down": func(i int) int { return len(keys) - 1 - i },
		"here and there":     func(i int) int { return i * 7_919 % len(keys) },
	} {
		m := New(headroom)
		load(m, keys)
		for i := range keys {
			e := m.BeginOver(nothing{})
			e.Delete(keys[order(i)])
			if e.Empty() || len(e.TakeFrames(0)) != 1 {
				t.Fatalf("%s: a deletion does not go to the log", name)
			}
			r := e.Commit()
			if n := r.Len(); n != len(keys)-1-i {
				t.Fatalf("%s: %d entries are left after %d deletions", name, n, i+1)
			}
			if i%1_000 == 0 {
				checkNodes(t, m, r)
			}
		}
		if r := m.root; r.Len() != 0 || r.top != (node{}) || r.Empty() || m.nodes != 0 {
			t.Errorf("%s: %d entries and %d bytes are left of all, or no commits are", name, r.Len(),
				m.nodes)
		}
	}
}

func TestDelete_leavesNothingWithinADeletedRange(t *testing.T) {
	e := New(headroom).Begin()
	e.PutUntil([]byte("b"), nil, 0)
	e.DeleteRange(keyspace.Span{Start: []byte("a"), End: []byte("c")})
	e.PutUntil([]byte("b"), nil, 0)
	e.Delete([]byte("b"))
	e.Delete([]byte("c"))
	if r := e.Commit(); r.Len() != 1 {
		t.Errorf("%d entries are left, want the tombstone outside the range", r.Len())
	}
}

// A queue takes as many nodes as what is in it.
func TestDelete_keepsAQueueSmall(t *testing.T) {
	m := New(headroom)
	keys := ascending(50_000)
	const length = 1_000
	most := int64(0)
	for i := range keys {
		e := m.BeginOver(nothing{})
		e.PutUntil(keys[i], nil, 0)
		if i >= length {
			e.Delete(keys[i-length])
		}
		e.Commit()
		most = max(most, m.nodes)
	}
	checkNodes(t, m, m.root)
	if full := int64(length/fanout+2)*leafBytes + 3*innerBytes; most > 2*full {
		t.Errorf("the nodes take %d bytes, want about %d", most, full)
	}
}
