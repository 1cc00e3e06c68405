package replica

import (
	"path/filepath"
	"testing"
)

// What copies of a database issue again counts once, whatever the order in which replicas learn of
// the original and of the repeats.
func TestRepeats_countOnce(t *testing.T) {
	orders := [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	dir := t.TempDir()
	a := newPeerIn(t, filepath.Join(dir, "db"))
	readers := make([]*peer, len(orders))
	for i := range readers {
		readers[i] = newPeer(t, a)
	}
	a.put(task{ID: 1, Votes: 1})
	for _, r := range readers {
		meet(t, a, r)
	}
	a.edit(func(v *task) { v.Title, v.Votes = "not sealed", v.Votes+10 })
	for _, name := range []string{"one", "two"} {
		if err := a.db.Backup(t.Context(), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	writers := [3]*peer{a, a.copyIn(filepath.Join(dir, "one")), a.copyIn(filepath.Join(dir, "two"))}
	writers[1].edit(func(v *task) { v.Votes += 100 })
	for i, order := range orders {
		for _, w := range order {
			meet(t, writers[w], readers[i])
			readers[i].checkVoids()
			if got := readers[i].get(1).Votes; got != 11 && got != 111 {
				t.Fatalf("order %v: %d votes", order, got)
			}
		}
	}
	for range 2 {
		for _, r := range readers {
			meet(t, a, r)
		}
	}
	agree(t, readers...)
	if got := readers[0].get(1); got.Votes != 111 || got.Title != "not sealed" {
		t.Errorf("the record is %+v", got)
	}
	for _, r := range readers {
		before := r.shown()
		r.wreck()
		r.replayAll()
		if after := r.shown(); after.Root != before.Root {
			t.Error("a replay makes another state")
		}
		r.checkVoids()
	}
}
