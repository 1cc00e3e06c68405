package replica

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

func TestUpdate_refusesTwoSpaces(t *testing.T) {
	p := newPeer(t, nil)
	other, err := Create(p.db, "other", p.options())
	if err != nil {
		t.Fatal(err)
	}
	notes, err := Collection[task](other, "notes", nil)
	if err != nil {
		t.Fatal(err)
	}
	before := p.root()
	err = p.db.Update(func(tx *stoat.Tx) error {
		if err := p.tasks.Put(tx, &task{ID: 1}); err != nil {
			return err
		}
		return notes.Put(tx, &task{ID: 1})
	})
	if !errors.Is(err, ErrTwoSpaces) || p.get(1) != nil || p.root() != before {
		t.Errorf("got %v", err)
	}
}

func TestUpdate_isOneEntry(t *testing.T) {
	p := newPeer(t, nil)
	lists, err := Collection[task](p.space, "lists", nil)
	if err != nil {
		t.Fatal(err)
	}
	p.update(func(tx *stoat.Tx) error {
		for i := range int64(5) {
			if err := lists.Put(tx, &task{ID: i}); err != nil {
				return err
			}
		}
		return errors.Join(p.tasks.Put(tx, &task{ID: 1}), p.tasks.Put(tx, &task{ID: 1, Title: "a"}))
	})
	p.update(func(tx *stoat.Tx) error { return p.tasks.Put(tx, &task{ID: 1, Title: "a"}) })
	facts := factsOf(p)
	if len(facts) != 2 || len(facts[1].Entry.Parts) != 2 {
		t.Errorf("%d entries", len(facts))
	}
}

// Every way of writing to a collection is replicated.
func TestCollection_replicatesEveryWrite(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	steps := []func(tx *stoat.Tx) error{
		func(tx *stoat.Tx) error {
			var list []*task
			for i := range int64(10) {
				list = append(list, &task{ID: i, Title: "t", Tags: []string{"x"}})
			}
			_, err := a.tasks.InsertAll(tx, slices.Values(list))
			return err
		},
		func(tx *stoat.Tx) error { return record.SetField(tx, a.tasks, 1, "done", true) },
		func(tx *stoat.Tx) error { return record.SetField(tx, a.tasks, 2, "title", "other") },
		func(tx *stoat.Tx) error {
			_, err := a.tasks.Query().Where(record.Lt("id", 5)).Update(tx, func(v *task) error {
				v.Votes++
				return nil
			})
			return err
		},
		func(tx *stoat.Tx) error {
			_, err := a.tasks.Query().Where(record.Eq("title", "other")).Delete(tx)
			return err
		},
		func(tx *stoat.Tx) error { return a.tasks.Insert(tx, &task{ID: 77}) },
		func(tx *stoat.Tx) error { return a.tasks.Clear(tx) },
		func(tx *stoat.Tx) error {
			_, err := a.tasks.Query().Delete(tx)
			return errors.Join(err, a.tasks.Put(tx, &task{ID: 3, Title: "again"}))
		},
	}
	for i, step := range steps {
		a.update(step)
		meet(t, a, b)
		if got, want := all(b), all(a); !reflect.DeepEqual(got, want) {
			t.Errorf("step %d: got %v, want %v", i, got, want)
		}
		agree(t, a, b)
	}
}

func TestCommit_letsLaterFunctionsWrite(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	a.update(func(tx *stoat.Tx) error {
		if err := a.tasks.Put(tx, &task{ID: 1}); err != nil {
			return err
		}
		return tx.BeforeCommit(func() error { return a.tasks.Put(tx, &task{ID: 2}) })
	})
	meet(t, a, b)
	if b.get(1) == nil || b.get(2) == nil {
		t.Error("a record is missing")
	}
	err := a.db.Update(func(tx *stoat.Tx) error {
		err := a.tasks.Put(tx, &task{ID: 3})
		return errors.Join(err, tx.BeforeCommit(func() error {
			return tx.BeforeCommit(func() error { return a.tasks.Put(tx, &task{ID: 4}) })
		}))
	})
	if !errors.Is(err, errLate) || a.get(3) != nil {
		t.Errorf("got %v", err)
	}
}

func TestCommit_refusesTooLargeTransactions(t *testing.T) {
	p := newPeer(t, nil)
	err := p.db.Update(func(tx *stoat.Tx) error {
		return p.tasks.Put(tx, &task{ID: 1, Title: strings.Repeat("x", 1<<20)})
	})
	if !errors.Is(err, stoat.ErrTooLarge) || p.get(1) != nil {
		t.Errorf("got %v", err)
	}
}

func TestMax_keepsTheGreaterValueLocally(t *testing.T) {
	p := newPeer(t, nil)
	p.put(task{ID: 1, Best: 5, First: 5, Tags: []string{"b", "a", "b"}})
	p.edit(func(v *task) { v.Best, v.First = 3, 7 })
	got := p.get(1)
	if got.Best != 5 || got.First != 5 || !slices.Equal(got.Tags, []string{"a", "b"}) {
		t.Errorf("got %+v", got)
	}
	var tagged uint64
	err := p.db.View(func(tx *stoat.Tx) (err error) {
		tagged, err = p.tasks.Query().Where(record.Has("tags", "b")).Count(tx)
		return err
	})
	if tagged != 1 || err != nil {
		t.Errorf("the index has %d, %v", tagged, err)
	}
}

func TestSum_showsTheNearestThatFits(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	a.put(task{ID: 1, Votes: 1 << 30})
	meet(t, a, b)
	for _, p := range []*peer{a, b} {
		p.edit(func(v *task) { v.Votes += 1<<30 - 1 })
	}
	meet(t, a, b)
	if got := a.get(1).Votes; got != 1<<31-1 {
		t.Errorf("got %d", got)
	}
	a.edit(func(v *task) { v.Votes -= 10 })
	b.now = noon.Add(time.Minute)
	meet(t, a, b)
	agree(t, a, b)
	if a.get(1).Votes != b.get(1).Votes {
		t.Errorf("got %d and %d", a.get(1).Votes, b.get(1).Votes)
	}
}

func TestConflicts_areListedUntilTheyAreSettled(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	a.put(task{ID: 1, Note: "?"})
	meet(t, a, b)
	a.edit(func(v *task) { v.Note = "from a" })
	b.now = noon.Add(time.Second)
	b.edit(func(v *task) { v.Note = "from b" })
	meet(t, a, b)
	list := conflicts(a)
	if len(list) != 1 || !list[0].Kept || list[0].Field != "note" || len(list[0].Values) != 2 {
		t.Fatalf("got %+v", list)
	}
	first := list[0].Values[0]
	if first.Value != "from b" || first.Device != b.space.device.ID() || a.get(1).Note != "from b" {
		t.Errorf("got %+v", first)
	}
	if !reflect.DeepEqual(list, conflicts(b)) {
		t.Error("the replicas list different conflicts")
	}
	a.update(func(tx *stoat.Tx) error { return a.space.Settle(tx, list[0]) })
	meet(t, a, b)
	if len(conflicts(a))+len(conflicts(b)) > 0 || a.get(1).Note != "from b" {
		t.Error("the conflict is not settled")
	}
	agree(t, a, b)
}

func conflicts(p *peer) (list []Conflict) {
	p.t.Helper()
	err := p.db.View(func(tx *stoat.Tx) error {
		for c, err := range p.space.Conflicts(tx) {
			if err != nil {
				return err
			}
			list = append(list, c)
		}
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return list
}

// A context has at most 32 heads; more go into entries of their own.
func TestContext_mayBeWide(t *testing.T) {
	hub := newPeer(t, nil)
	hub.allow()
	var others []*peer
	for i := range 70 {
		p := newPeer(t, hub)
		meet(t, hub, p)
		p.put(task{ID: int64(i)})
		others = append(others, p)
	}
	for _, p := range others {
		meet(t, hub, p)
	}
	hub.put(task{ID: 1000})
	late := newPeer(t, hub)
	meet(t, hub, late)
	agree(t, hub, late)
	facts := factsOf(hub)
	own := facts[:0]
	for _, f := range facts {
		if len(f.Entry.Context) > 0 && f.Log == facts[0].Log {
			own = append(own, f)
		}
	}
	if len(own) != 3 || len(own[0].Entry.Context) != 32 || len(own[2].Entry.Context) != 6 {
		t.Errorf("%d entries have contexts", len(own))
	}
}

func TestCollection_refusesWhatCannotHold(t *testing.T) {
	p := newPeer(t, nil)
	type unique struct {
		ID   int64  `stoat:"id,key"`
		Mail string `stoat:"mail,unique"`
	}
	type auto struct {
		ID int64 `stoat:"id,key,auto"`
	}
	type expires struct {
		ID    int64     `stoat:"id,key"`
		Until time.Time `stoat:"until,expires"`
	}
	type unknown struct {
		ID int64 `stoat:"id,key"`
		N  int64 `stoat:"n,merge=average"`
	}
	type float struct {
		ID int64   `stoat:"id,key"`
		N  float64 `stoat:"n,merge=sum"`
	}
	type twice struct {
		ID int64 `stoat:"id,key"`
		A  int64 `stoat:"a,was=c"`
		B  int64 `stoat:"b,was=c"`
	}
	for name, err := range map[string]error{
		"unique":  open[unique](p.space),
		"auto":    open[auto](p.space),
		"expires": open[expires](p.space),
		"rule":    open[unknown](p.space),
		"float":   open[float](p.space),
		"names":   open[twice](p.space),
	} {
		if err == nil || !strings.Contains(err.Error(), `space "team", collection "x"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func open[T any](s *Space) error {
	_, err := Collection[T](s, "x", nil)
	if err == nil {
		return nil
	}
	return fmt.Errorf("open: %w", err)
}

// A commit that writes less than the maximum leaves a record that shows the maximum.
func TestPut_showsTheStateThatFollows(t *testing.T) {
	p := newPeer(t, nil)
	p.put(task{ID: 1, Best: 8})
	p.edit(func(v *task) { v.Best = -7 })
	if got := p.get(1).Best; got != 8 {
		t.Errorf("the record shows %d", got)
	}
}
