package replica

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/tuple"
)

// revert reverts entries.
func (p *peer) revert(f Filter) (r Reverted) {
	p.t.Helper()
	p.update(func(tx *stoat.Tx) (err error) {
		r, err = p.space.Revert(tx, f)
		return err
	})
	return r
}

// revertible returns all tasks of a replica without what cannot be reverted.
func revertible(p *peer) []task {
	list := all(p)
	for i := range list {
		list[i].Best, list[i].First = 0, 0
	}
	return list
}

// What a time took back is as it was, on all replicas; and so is what it was before if the
// reversal is taken back.
func TestRevert_byTime(t *testing.T) {
	for seed := range uint64(40) {
		h := &history{t: t, rng: rand.New(rand.NewPCG(seed, 20))}
		p := newPeer(t, nil)
		q := newPeer(t, p)
		h.peers = []*peer{p, q}
		advance := func() {
			meet(t, p, q)
			p.now = p.now.Add(time.Minute)
			q.now = p.now
		}
		for range 10 {
			h.write(h.any())
		}
		advance()
		before := revertible(p)
		from := p.now
		for range 10 {
			h.write(h.any())
			if h.rng.IntN(3) == 0 {
				meet(t, p, q)
			}
		}
		advance()
		changed := revertible(p)
		p.revert(Filter{From: from})
		if got := revertible(p); !reflect.DeepEqual(got, before) {
			t.Fatalf("seed %d: reverted to %+v, not to %+v", seed, got, before)
		}
		advance()
		agree(t, p, q)
		h.compare(q)
		reverted := p.now.Add(-time.Minute)
		q.revert(Filter{From: reverted, To: q.now, Collection: "tasks"})
		if got := revertible(q); !reflect.DeepEqual(got, changed) {
			t.Fatalf("seed %d: reverted back to %+v, not to %+v", seed, got, changed)
		}
		advance()
		agree(t, p, q)
		p.checkTouches()
	}
}

// The work of one device or log disappears, and that of others on the same records stays.
func TestRevert_ofOneDevice(t *testing.T) {
	for _, byLog := range []bool{false, true} {
		p := newPeer(t, nil)
		q := newPeer(t, p)
		p.put(task{ID: 1, Title: "p", Votes: 1, Tags: []string{"a"}})
		meet(t, p, q)
		q.now = q.now.Add(time.Second)
		q.edit(func(v *task) { v.Title, v.Votes, v.Tags, v.Done = "q", 11, []string{"b"}, true })
		q.put(task{ID: 2})
		meet(t, p, q)
		p.now = q.now.Add(time.Second)
		p.edit(func(v *task) { v.Votes, v.Note = v.Votes+100, "p" })
		f := Filter{Device: q.space.device.ID()}
		if byLog {
			f = Filter{Log: q.logID()}
		}
		if r := p.revert(f); r != (Reverted{Records: 2, Entries: 1}) {
			t.Errorf("%+v", r)
		}
		want := task{ID: 1, Title: "p", Votes: 101, Tags: []string{"a"}, Note: "p"}
		if got := all(p); len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("the records are %+v", got)
		}
		f.To = q.now // of which nothing was reverted
		if r := p.revert(f); r != (Reverted{}) {
			t.Errorf("%+v", r)
		}
		meet(t, p, q)
		agree(t, p, q)
	}
}

// A large reversal makes several entries, none larger than the space allows; and works for
// collections that the program has not opened.
func TestRevert_ofManyRecords(t *testing.T) {
	p := newPeer(t, nil)
	notes, err := Collection[task](p.space, "notes", nil)
	if err != nil {
		t.Fatal(err)
	}
	from := p.now.Add(time.Minute)
	p.put(task{ID: 1, Title: "x"})
	p.now = from
	const n = foldRecords + 100
	title := string(slices.Repeat([]byte("t"), 100))
	for range 3 {
		p.update(func(tx *stoat.Tx) (err error) {
			for id := range int64(n) {
				err = errors.Join(err, p.tasks.Put(tx, &task{ID: id, Title: title}),
					notes.Put(tx, &task{ID: id % 7}))
			}
			return err
		})
	}
	s, err := Open(p.db, "team", p.options())
	if err != nil {
		t.Fatal(err)
	}
	p.space = s
	r := p.revert(Filter{From: from})
	if r.Records != n+7 || r.Entries < 3 {
		t.Errorf("%+v", r)
	}
	p.open()
	if got := all(p); len(got) != 1 || got[0].Title != "x" {
		t.Errorf("%d records", len(got))
	}
}

func TestRevert_refuses(t *testing.T) {
	p := newPeer(t, nil)
	p.put(task{ID: 1})
	guest := newGuest(t, p)
	meet(t, p, guest)
	try := func(p *peer, f Filter) error {
		return p.db.Update(func(tx *stoat.Tx) error {
			_, err := p.space.Revert(tx, f)
			return err
		})
	}
	if err := try(p, Filter{}); err == nil {
		t.Error("an empty filter reverted everything")
	}
	if err := try(guest, Filter{Device: p.space.device.ID()}); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("without a right to write: %v", err)
	}
}

// One record is taken back, and what cannot be is counted.
func TestRevert_ofOneRecord(t *testing.T) {
	p := newPeer(t, nil)
	p.put(task{ID: 1, Title: "old", Best: 1, First: 9})
	p.now = p.now.Add(time.Minute)
	from := p.now
	p.put(task{ID: 1, Title: "new", Best: 5, First: 9})
	p.put(task{ID: 2, Title: "new"})
	for _, f := range []Filter{
		{Key: int64(1)}, {Key: int64(1), From: from}, {},
	} {
		if _, err := p.space.Revert(nil, f); err == nil {
			t.Errorf("%+v is accepted", f)
		}
	}
	r := p.revert(Filter{Collection: "tasks", Key: int64(1), From: from})
	if r != (Reverted{Records: 1, Entries: 1, Stayed: 1}) {
		t.Errorf("%+v", r)
	}
	want := []task{{ID: 1, Title: "old", Best: 5, First: 9}, {ID: 2, Title: "new"}}
	if got := all(p); !reflect.DeepEqual(got, want) {
		t.Errorf("the records are %+v", got)
	}
	if r := p.revert(Filter{Collection: "tasks", Key: tuple.Tuple{int64(3)}}); r != (Reverted{}) {
		t.Errorf("a record that was never there: %+v", r)
	}
}

// What a checkpoint covers is in the record itself, and not in a state beside it, if nothing has
// changed since but by entries that do not count.
func TestRevert_ofWhatDoesNotCountBehindACheckpoint(t *testing.T) {
	a := newPeer(t, nil)
	guest := newGuest(t, a)
	a.grant(guest, Write, In("tasks"))
	a.put(task{ID: 1, Title: "covered"})
	meet(t, a, guest)
	must(t, errors.Join(a.checkpoint(), a.space.Seal()))
	if len(a.covered()) == 0 {
		t.Fatal("the checkpoint does not count")
	}
	guest.edit(func(v *task) { v.Title = "does not count" })
	must(t, guest.space.Seal())
	a.revoke(guest)
	for _, runs := range runsOf(t, guest) {
		a.take(runs...)
	}
	if got := a.revert(Filter{Device: guest.space.device.ID()}); got.Records != 0 {
		t.Errorf("%+v", got)
	}
	if a.get(1).Title != "covered" {
		t.Errorf("the record is %+v", a.get(1))
	}
}

// An empty key does not stand for all records.
func TestRevert_refusesAnEmptyKey(t *testing.T) {
	p := newPeer(t, nil)
	p.put(task{ID: 1})
	err := p.db.Update(func(tx *stoat.Tx) error {
		_, err := p.space.Revert(tx, Filter{Collection: "tasks", Key: tuple.Tuple{}})
		return err
	})
	if err == nil || p.get(1) == nil {
		t.Errorf("it returns %v, and leaves %v", err, p.get(1))
	}
}
