package replica

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/tuple"
)

// checkpoint makes a checkpoint.
func (p *peer) checkpoint() error {
	return p.db.Update(func(tx *stoat.Tx) error { return p.space.Checkpoint(tx) })
}

// covered returns the vector of the horizon.
func (p *peer) covered() (covers vector) {
	p.t.Helper()
	err := p.db.View(func(tx *stoat.Tx) error {
		t, err := p.space.in(tx)
		if err != nil {
			return err
		}
		h, err := t.horizonOf()
		if h != nil {
			covers = h.covers
		}
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return covers
}

func TestCheckpoint_forgetsDeletedRecordsAndLosers(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	a.put(task{ID: 1, Title: "a"})
	a.put(task{ID: 2, Title: "gone", Best: 9})
	meet(t, a, b)
	a.edit(func(v *task) { v.Title = "x" })
	b.edit(func(v *task) { v.Title = "y" })
	b.update(func(tx *stoat.Tx) error { return b.tasks.Delete(tx, int64(2)) })
	meet(t, a, b)
	b.put(task{ID: 3}) // has seen all
	meet(t, a, b)
	if n := len(conflictsOf(t, a)); n != 1 {
		t.Fatalf("%d conflicts", n)
	}
	if err := a.checkpoint(); err != nil {
		t.Fatal(err)
	}
	if n := len(conflictsOf(t, a)); n != 1 {
		t.Errorf("%d conflicts before b has agreed", n)
	}
	meet(t, a, b)
	b.put(task{ID: 4})
	agreeAfter(t, a, b)
	for _, p := range []*peer{a, b} {
		if n := len(conflictsOf(t, p)); n != 0 {
			t.Errorf("%d conflicts behind the checkpoint", n)
		}
		if v := p.get(1); v.Title != "y" && v.Title != "x" {
			t.Errorf("got %+v", v)
		}
		p.put(task{ID: 2, Title: "again", Best: 5})
		if v := p.get(2); v.Title != "again" || v.Best != 5 {
			t.Errorf("a record that is stored again is %+v", v)
		}
		p.put(task{ID: 2})
	}
	agreeAfter(t, a, b)
}

// A question to the user stays one behind a checkpoint, though not who gave the answers.
func TestCheckpoint_keepsQuestions(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	a.put(task{ID: 1})
	meet(t, a, b)
	a.edit(func(v *task) { v.Note = "x" })
	b.edit(func(v *task) { v.Note = "y" })
	meet(t, a, b)
	b.put(task{ID: 2}) // has seen both
	meet(t, a, b)
	must(t, a.checkpoint())
	meet(t, a, b)
	b.put(task{ID: 3})
	agreeAfter(t, a, b)
	for _, p := range []*peer{a, b} {
		got := conflictsOf(t, p)
		if len(got) != 1 || !got[0].Kept || len(got[0].Values) != 2 {
			t.Fatalf("got %+v", got)
		}
		for _, v := range got[0].Values {
			if v.Log != (LogID{}) || v.Device != (DeviceID{}) || !v.Time.IsZero() {
				t.Errorf("a value is by %+v", v)
			}
		}
		if shown := p.get(1).Note; got[0].Values[0].Value != shown {
			t.Errorf("it shows %q, and the first value is %v", shown, got[0].Values[0].Value)
		}
	}
	a.update(func(tx *stoat.Tx) error { return a.space.Settle(tx, conflictsOf(t, a)[0]) })
	agreeAfter(t, a, b)
	for _, p := range []*peer{a, b} {
		if got := conflictsOf(t, p); len(got) > 0 {
			t.Errorf("the answer leaves %+v", got)
		}
	}
}

// A record that was deleted when a checkpoint was made, and stored again by somebody who did not
// know of the checkpoint, shows what was written.
func TestCheckpoint_crossesTheReturnOfADeletedRecord(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	v := task{ID: 1, Title: "t", Note: "n", Done: true, Votes: 5, Best: 9, First: -3,
		Tags: []string{"x"}, Prices: map[string]int64{"p": 1}}
	a.put(v)
	a.update(func(tx *stoat.Tx) error { return a.tasks.Delete(tx, int64(1)) })
	meet(t, a, b)
	b.put(task{ID: 2})
	meet(t, a, b)
	if err := a.checkpoint(); err != nil {
		t.Fatal(err)
	}
	b.put(v) // does not know of it
	agreeAfter(t, a, b)
	for _, p := range []*peer{a, b} {
		if got := p.get(1); got == nil || got.Title != v.Title || got.Note != v.Note || !got.Done ||
			got.Votes != 5 || got.Best != 9 || got.First != -3 || len(got.Tags) != 1 ||
			got.Prices["p"] != 1 {
			t.Errorf("got %+v", got)
		}
	}
}

func TestCheckpoint_needsSomethingNew(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	a.put(task{ID: 1})
	for range 2 {
		if err := a.checkpoint(); err != nil {
			t.Fatal(err)
		}
		must(t, a.space.Seal())
	}
	meet(t, a, b)
	b.put(task{ID: 2})
	meet(t, a, b)
	a.put(task{ID: 3})
	a.put(task{ID: 4})
	if err := a.checkpoint(); err != nil { // covers what b had seen when it wrote
		t.Fatal(err)
	}
	meet(t, a, b)
	b.put(task{ID: 2, Title: "agreed"})
	meet(t, a, b)
	if err := a.checkpoint(); !errors.Is(err, ErrNoCheckpoint) {
		t.Errorf("a checkpoint of nothing new: %v", err)
	}
	a.now = a.now.Add(100 * 24 * time.Hour) // b is silent
	if err := a.checkpoint(); err != nil {
		t.Error(err)
	}
	err := a.db.Update(func(tx *stoat.Tx) error {
		if err := a.tasks.Put(tx, &task{ID: 5}); err != nil {
			return err
		}
		return a.space.Checkpoint(tx)
	})
	if !errors.Is(err, errUncommitted) {
		t.Errorf("a checkpoint among changes: %v", err)
	}
}

// agreeAfter lets replicas meet, twice, and fails the test unless they have the same state.
func agreeAfter(t *testing.T, peers ...*peer) {
	t.Helper()
	gather(t, peers...)
	for _, p := range peers {
		(&history{t: t}).compare(p)
	}
}

// gather brings everything to all replicas, also of what was pruned, and requires one state.
func gather(t *testing.T, peers ...*peer) {
	t.Helper()
	for range 3 {
		for _, p := range peers[1:] {
			meet(t, peers[0], p)
		}
	}
	agree(t, peers...)
}

func conflictsOf(t *testing.T, p *peer) (all []Conflict) {
	t.Helper()
	err := p.db.View(func(tx *stoat.Tx) error {
		for c, err := range p.space.Conflicts(tx) {
			if err != nil {
				return err
			}
			all = append(all, c)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A checkpoint does not change what a space was before it.
func TestCheckpoint_leavesTheHistory(t *testing.T) {
	a := newPeer(t, nil)
	a.put(task{ID: 1, Title: "first"})
	a.put(task{ID: 1, Title: "second"})
	if err := a.checkpoint(); err != nil {
		t.Fatal(err)
	}
	a.put(task{ID: 1, Title: "third"})
	title := func() (title string, err error) {
		err = a.db.View(func(tx *stoat.Tx) error {
			heads, err := a.space.Heads(tx)
			if err != nil {
				return err
			}
			v, err := a.space.At(tx, Moment{Vector: Vector{heads[0].Log: 3}})
			if err != nil {
				return err
			}
			tasks, err := At[task](v, "tasks")
			if err != nil {
				return err
			}
			r, err := tasks.Get(int64(1))
			if err == nil {
				title = r.Title
			}
			return err
		})
		return title, err
	}
	was, err := title()
	if err != nil || was != "first" && was != "second" {
		t.Errorf("it was %q: %v", was, err)
	}
	if err := errors.Join(a.space.Seal(), a.space.Prune()); err != nil {
		t.Fatal(err)
	}
	if _, err := title(); !errors.Is(err, ErrPruned) {
		t.Errorf("a state that is gone: %v", err)
	}
	revisions := 0
	err = a.db.View(func(tx *stoat.Tx) error {
		for _, err := range a.space.History(tx, "tasks", 1) {
			if err != nil {
				return err
			}
			revisions++
		}
		return nil
	})
	if err != nil || revisions != 1 {
		t.Errorf("%d revisions are left: %v", revisions, err)
	}
}

// A space may have more collections than a checkpoint can say something about. Then there is none,
// the error says what to do, and nothing was written.
func TestCheckpoint_ofTooManyCollections(t *testing.T) {
	p := newPeer(t, nil)
	p.grant(newPeer(t, p), Read, In("tasks")) // from now on, checkpoints have salts
	collections := func(from, to int) {
		p.inTx(func(t *txn) error {
			c := &entry.Changes{Fields: []string{"title"}, Records: []entry.Record{{
				Key: tuple.AppendInt(nil, 1),
				Ops: []entry.Op{{Kind: entry.OpSet, Value: tuple.AppendString(nil, "one")}}}}}
			var parts []entry.Part
			for n := from; n < to; n++ {
				name := fmt.Sprintf("%05d%s", n, strings.Repeat("n", 250))
				salted := *c
				salted.Salt = make([]byte, 16)
				parts = append(parts, entry.Part{Group: name, Data: salted.Append(nil)})
			}
			for some := range slices.Chunk(parts, entry.PartsMax) {
				next, err := t.nextOwn()
				if err == nil {
					err = t.place(next, &entry.Entry{Kind: entry.KindData, Parts: some})
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	collections(0, 3400)
	must(t, p.checkpoint()) // fits
	must(t, p.space.Seal())
	if len(p.covered()) == 0 {
		t.Fatal("the checkpoint does not count")
	}
	collections(3400, 4400)
	before := p.everything()[p.logID()]
	err := p.db.Update(func(tx *stoat.Tx) error {
		if err := p.space.Checkpoint(tx); !errors.Is(err, stoat.ErrTooLarge) ||
			!strings.Contains(err.Error(), "4400 collections") {
			t.Errorf("got %v", err)
		}
		return nil // the transaction goes on
	})
	must(t, err)
	if after := p.everything()[p.logID()]; after != before {
		t.Errorf("%d entries were written", after-before)
	}
	must(t, p.verify())
	p.put(task{ID: 1, Title: "goes on"})
}

// A checkpoint that turns out not to fit leaves no states for one that covers something else.
func TestCheckpoint_leavesNothingOfOneThatDoesNotFit(t *testing.T) {
	a := newPeer(t, nil)
	guest := newGuest(t, a)
	a.grant(guest, Write)
	a.put(task{ID: 1, Title: "covered"})
	for range 2 {
		together(t, a, guest)
		guest.put(task{ID: 2, Title: "by the guest"})
	}
	together(t, a, guest)
	a.put(task{ID: 1, Title: "not covered"})
	a.inTx(func(x *txn) error {
		count := func() (n int) {
			bases, err := x.bases()
			must(t, err)
			for range bases.Keys(stoat.Range{}) {
				n++
			}
			return n
		}
		limit := x.space.entryMax
		x.space.entryMax = checkpointRoom
		if err := x.makeCheckpoint(); !errors.Is(err, stoat.ErrTooLarge) {
			t.Errorf("the error is %v", err)
		}
		if left := count(); left != 0 {
			t.Errorf("%d states are left", left)
		}
		x.space.entryMax = limit
		must(t, x.makeCheckpoint())
		if count() == 0 {
			t.Error("a checkpoint has no states")
		}
		return nil
	})
}
