package replica

import (
	"errors"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
)

// A device that was away for a year comes back: nothing that was deleted meanwhile returns, and
// nothing that it did is lost.
func TestLate_deviceMakesItsChangesAgain(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	c := newPeer(t, a)
	for id := range int64(6) {
		a.put(task{ID: id + 1, Title: "old", Votes: 10})
	}
	meet(t, a, b)
	b.put(task{ID: 20})
	agreeAfter(t, a, b, c)
	c.put(task{ID: 21})
	agreeAfter(t, a, b, c)

	// c goes away, and writes
	c.update(func(tx *stoat.Tx) error {
		err := c.tasks.Update(tx, 1, func(v *task) error { v.Title, v.Votes = "c", 11; return nil })
		if err != nil {
			return err
		}
		return c.tasks.Update(tx, 2, func(v *task) error { v.Title = "c"; return nil })
	})
	c.update(func(tx *stoat.Tx) error { return c.tasks.Delete(tx, int64(3)) })
	c.update(func(tx *stoat.Tx) error { return c.tasks.Delete(tx, int64(4)) })
	c.put(task{ID: 30, Title: "new"})
	c.put(task{ID: 30, Title: "newer"})

	// the others go on
	a.edit(func(v *task) { v.Votes += 5 })
	a.update(func(tx *stoat.Tx) error { return a.tasks.Delete(tx, int64(2)) })
	a.update(func(tx *stoat.Tx) error {
		return a.tasks.Update(tx, 3, func(v *task) error { v.Note = "kept"; return nil })
	})
	meet(t, a, b)
	for _, p := range []*peer{a, b, c} {
		p.now = p.now.Add(365 * 24 * time.Hour)
	}
	b.put(task{ID: 22})
	meet(t, a, b)
	if err := a.checkpoint(); err != nil {
		t.Fatal(err)
	}
	meet(t, a, b)
	b.put(task{ID: 23}) // agrees
	meet(t, a, b)
	if len(a.covered()) == 0 {
		t.Fatal("the checkpoint is not decided")
	}
	agreeAfter(t, a, b, c)
	for _, p := range []*peer{a, b, c} {
		switch v := p.get(1); {
		case v == nil || v.Title != "c" || v.Votes != 16:
			t.Errorf("what both changed is %+v", v)
		case p.get(2) != nil:
			t.Error("a record that was deleted meanwhile is back")
		case p.get(3) == nil || p.get(3).Note != "kept":
			t.Error("a record that was edited meanwhile is deleted")
		case p.get(4) != nil:
			t.Error("a deletion is lost")
		case p.get(30) == nil || p.get(30).Title != "newer":
			t.Error("a new record is lost")
		}
	}
	c.put(task{ID: 31})
	agreeAfter(t, a, b, c)
	if b.get(31) == nil {
		t.Error("the device cannot go on")
	}
}

// A record of a device that comes late is made again for a second checkpoint, too, though that
// covers the first entry about it, which does not count.
func TestLate_forTwoCheckpoints(t *testing.T) {
	for _, pruned := range []bool{false, true} {
		lateTwice(t, pruned)
	}
}

func lateTwice(t *testing.T, pruned bool) {
	t.Helper()
	a := newPeer(t, nil)
	a.allow()
	b, c := newPeer(t, a), newGuest(t, a)
	ids := int64(1)
	inTurn := func() {
		for range 4 {
			ids++
			a.put(task{ID: ids})
			meet(t, a, b)
			b.put(task{ID: ids})
			meet(t, a, b)
		}
	}
	a.put(task{ID: 1, Votes: 1})
	meet(t, a, c)
	inTurn()
	c.update(func(tx *stoat.Tx) error {
		err := c.tasks.Put(tx, &task{ID: 100, Title: "new"})
		if err != nil {
			return err
		}
		return c.tasks.Update(tx, 1, func(v *task) error { v.Votes += 10; return nil })
	})
	must(t, a.checkpoint())
	inTurn()
	must(t, a.load(c.export(nil)))
	must(t, c.load(b.export(nil)))
	inTurn()
	must(t, a.checkpoint())
	inTurn()
	if n := a.checkpoints(); n != 2 {
		t.Fatalf("%d checkpoints", n)
	}
	if pruned {
		must(t, errors.Join(a.space.Prune(), b.space.Prune()))
	}
	gather(t, a, b, c)
	if v := a.get(1); v.Votes != 11 || a.get(100) == nil {
		t.Errorf("pruned %v: %d votes, and the new record is %v", pruned, v.Votes, a.get(100))
	}
}
