package replica

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// then returns all tasks of a replica as they were at a moment.
func (p *peer) then(m Moment) (list []task) {
	p.t.Helper()
	err := p.db.View(func(tx *stoat.Tx) error {
		at, err := p.space.At(tx, m)
		if err != nil {
			return err
		}
		tasks, err := At[task](at, "tasks")
		if err != nil {
			return err
		}
		for v, err := range tasks.All() {
			if err != nil {
				return err
			}
			one, err := tasks.Get(v.ID)
			if err != nil || !reflect.DeepEqual(one, v) {
				p.t.Errorf("Get returns %v (%v), All %v", one, err, v)
			}
			list = append(list, *v)
		}
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return list
}

// everything returns how many entries of each log a replica has, sealed or not.
func (p *peer) everything() Vector {
	p.t.Helper()
	v := Vector{}
	must(p.t, p.db.View(func(tx *stoat.Tx) error {
		heads, err := p.space.Heads(tx)
		for _, h := range heads {
			v[h.Log] = h.Entries
		}
		return err
	}))
	return v
}

// What a replica showed once, a view of that moment shows on all replicas.
func TestAt_showsTheStateOfThen(t *testing.T) {
	for seed := range uint64(20) {
		h := &history{t: t, rng: rand.New(rand.NewPCG(seed, 17))}
		p := newPeer(t, nil)
		h.peers = []*peer{p, newPeer(t, p), newPeer(t, p)}
		type moment struct {
			Moment
			tasks []task
		}
		var moments []moment
		for range 30 {
			q := h.any()
			for _, q := range h.peers {
				q.now = q.now.Add(time.Second)
			}
			h.write(q)
			moments = append(moments, moment{Moment{Vector: q.everything()}, all(q)})
			if h.rng.IntN(2) == 0 {
				meet(t, q, h.any())
			}
			if h.rng.IntN(4) == 0 {
				for _, p := range h.peers[1:] {
					meet(t, h.peers[0], p)
				}
				for _, p := range h.peers[1:] {
					meet(t, h.peers[0], p)
				}
				moments = append(moments, moment{Moment{Time: q.now}, all(q)})
			}
		}
		for _, q := range h.peers[1:] {
			meet(t, p, q)
		}
		for _, m := range moments {
			if got := p.then(m.Moment); !reflect.DeepEqual(got, m.tasks) {
				t.Fatalf("seed %d: at %v the tasks were %v, not %v", seed, m.Moment, m.tasks, got)
			}
		}
		if got := p.then(Moment{}); !reflect.DeepEqual(got, all(p)) {
			t.Errorf("now the tasks are %v, not %v", all(p), got)
		}
	}
}

func TestAt_withoutTheType(t *testing.T) {
	p := newPeer(t, nil)
	p.put(task{ID: 1, Title: "a", Tags: []string{"x"}, Prices: map[string]int64{"p": 3}, Votes: 4})
	then := Moment{Time: p.now}
	p.now = p.now.Add(time.Minute)
	p.edit(func(v *task) { v.Title = "b" })
	err := p.db.View(func(tx *stoat.Tx) error {
		at, err := p.space.At(tx, then)
		if err != nil {
			return err
		}
		r, err := at.Record("tasks", 1)
		if err != nil {
			return err
		}
		fields := r.Fields
		if fields["title"] != "a" || fields["votes"] != int64(4) ||
			!reflect.DeepEqual(fields["tags"], []any{"x"}) ||
			!reflect.DeepEqual(fields["prices"], map[any]any{"p": int64(3)}) {
			t.Errorf("the fields are %v", fields)
		}
		n := 0
		for r, err := range at.Records("tasks") {
			if n++; err != nil || r.Key[0] != int64(1) {
				t.Errorf("the record is %v (%v)", r, err)
			}
		}
		if _, err := at.Record("tasks", 2); n != 1 || !errors.Is(err, stoat.ErrNotFound) {
			t.Errorf("%d records, and the error of another one is %v", n, err)
		}
		if _, err := at.Record("other", 1); !errors.Is(err, stoat.ErrNotFound) {
			t.Errorf("the error of an unknown collection is %v", err)
		}
		type title struct {
			ID    int64  `stoat:"id,key"`
			Title string `stoat:"title"`
			More  int    `stoat:"more"`
		}
		titles, err := At[title](at, "tasks")
		if err != nil {
			return err
		}
		got, err := titles.Get(1)
		if want := (title{ID: 1, Title: "a"}); err != nil || *got != want {
			t.Errorf("the record of another type is %v (%v)", got, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestHistory_tellsWhoDidWhat(t *testing.T) {
	p := newPeer(t, nil)
	q := newPeer(t, p)
	p.put(task{ID: 1, Title: "a", Votes: 2, Tags: []string{"x"}})
	p.put(task{ID: 2})
	meet(t, p, q)
	q.now = q.now.Add(time.Minute)
	q.edit(func(v *task) {
		v.Votes++
		v.Tags = []string{"y"}
		v.Prices = map[string]int64{"p": 7}
		v.Note = "n"
	})
	q.update(func(tx *stoat.Tx) error { return q.tasks.Delete(tx, 1) })
	meet(t, p, q)
	var got []Revision
	err := p.db.View(func(tx *stoat.Tx) error {
		for c, err := range p.space.History(tx, "tasks", 1) {
			if err != nil {
				return err
			}
			got = append(got, *c)
		}
		return nil
	})
	if err != nil || len(got) != 3 {
		t.Fatalf("%d changes (%v)", len(got), err)
	}
	if c := got[0]; c.Device != p.space.device.ID() || c.Seq != 1 || !c.Time.Equal(noon) ||
		len(c.Fields) < 3 || c.Void != "" {
		t.Errorf("the first change is %+v", c)
	}
	want := []FieldChange{
		{Field: "note", Rule: "keep", Value: "n"},
		{Field: "prices", Rule: "entries", Added: []record.Value{"p"}, Values: []record.Value{int64(7)}},
		{Field: "tags", Rule: "elements", Removed: []record.Value{"x"}, Added: []record.Value{"y"}},
		{Field: "votes", Rule: "sum", Value: int64(1)},
	}
	if c := got[1]; c.Device != q.space.device.ID() || !c.Time.Equal(q.now) ||
		!reflect.DeepEqual(c.Fields, want) {
		t.Errorf("the second change is %+v", c)
	}
	if c := got[2]; !c.Deleted || len(c.Fields) > 0 {
		t.Errorf("the third change is %+v", c)
	}
}

func TestAt_namesTheCollectionOnceInErrors(t *testing.T) {
	p := newPeer(t, nil)
	p.put(task{ID: 1})
	err := p.db.View(func(tx *stoat.Tx) error {
		at, err := p.space.At(tx, Moment{})
		if err != nil {
			return err
		}
		tasks, err := At[task](at, "tasks")
		if err != nil {
			return err
		}
		_, typed := tasks.Get(int64(2))
		_, untyped := at.Record("tasks", int64(2))
		for _, err := range []error{typed, untyped} {
			if !errors.Is(err, stoat.ErrNotFound) || strings.Count(err.Error(), `"tasks"`) != 1 {
				t.Errorf("a missing record: %v", err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
