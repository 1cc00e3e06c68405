package replica

import (
	"testing"
	"time"

	"github.com/stoatdb/stoat"
)

// A replica that was away while others pruned what it lacks comes back: what it wrote meanwhile
// is not lost, and what was deleted meanwhile does not return.
func TestRejoin_losesNothingAndResurrectsNothing(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	for id := range int64(6) {
		a.put(task{ID: id, Title: "before"})
	}
	together(t, a, b)
	b.put(task{ID: 1, Title: "edited while away"})
	b.put(task{ID: 2, Title: "edited, and deleted by a"})
	b.put(task{ID: 10, Title: "new"})
	b.update(func(tx *stoat.Tx) error { return b.tasks.Delete(tx, int64(3)) })
	b.update(func(tx *stoat.Tx) error { return b.tasks.Delete(tx, int64(4)) })
	a.update(func(tx *stoat.Tx) error { return a.tasks.Delete(tx, int64(2)) })
	a.put(task{ID: 4, Title: "changed by a"})
	for _, p := range []*peer{a, b} {
		p.now = p.now.Add(200 * 24 * time.Hour)
	}
	a.put(task{ID: 5, Title: "later"})
	must(t, a.checkpoint())
	must(t, a.space.Seal())
	must(t, a.space.Prune())
	together(t, a, b)
	for _, p := range []*peer{a, b} {
		if v := p.get(1); v == nil || v.Title != "edited while away" {
			t.Errorf("an edit is lost: %+v", v)
		}
		if p.get(10) == nil || p.get(3) != nil {
			t.Error("a new record, or a deletion, is lost")
		}
		if p.get(2) != nil {
			t.Error("a deleted record is back")
		}
		if v := p.get(4); v == nil || v.Title != "changed by a" {
			t.Errorf("a deletion removed what it had not seen: %+v", v)
		}
		must(t, p.verify())
	}
}
