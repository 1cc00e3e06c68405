package replica

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// another starts a further log of the forger's device.
func (f *forger) another(incarnation byte) *forger {
	g := &forger{key: f.key, space: f.space, run: &run{}}
	g.add((&entry.Genesis{Device: [32]byte(f.key[32:]),
		Incarnation: [16]byte{incarnation}}).Entry(1))
	return g
}

// after makes an entry follow the last one of another log.
func after(e *entry.Entry, other *forger) *entry.Entry {
	e.Context = []entry.Head{{Log: other.log, Seq: other.seq - 1}}
	e.Digest = entry.ContextDigest([]entry.Hash{other.prev})
	return e
}

// ended returns the entries that are not valid.
func (p *peer) ended() (all []Waiting) {
	p.t.Helper()
	err := p.db.View(func(tx *stoat.Tx) (err error) {
		all, err = p.space.Ended(tx)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

// What is merged can be passed on, even if the seal that covers it is behind entries that wait, or
// are not valid. Otherwise what is written on top of it could not be merged by anybody else.
func TestPark_passesOnWhatIsMerged(t *testing.T) {
	for name, rest := range map[string]*entry.Entry{
		"waits":     data(10*60*1000, "ahead"),
		"not valid": data(1, "not later"),
	} {
		t.Run(name, func(t *testing.T) {
			a := newPeer(t, nil)
			b := newPeer(t, a)
			c := newPeer(t, a)
			f := newForger(a)
			f.add(data(1, "valid"))
			f.add(rest)
			f.add(data(11*60*1000, "behind"))
			err := b.space.apply([]*run{f.run})
			if errors.Is(err, ErrInvalid) != (name == "not valid") || b.get(1).Title != "valid" {
				t.Fatalf("got %v, %v", b.get(1), err)
			}
			b.edit(func(v *task) { v.Votes = 7 })
			for range 2 {
				meetAnyway(b, c)
			}
			agree(t, b, c)
			if v := c.get(1); v == nil || v.Title != "valid" || v.Votes != 7 {
				t.Errorf("got %+v", v)
			}
			for _, p := range []*peer{b, c} {
				waiting, refused := p.waiting(), p.ended()
				if name == "not valid" {
					waiting, refused = refused, waiting
				}
				if len(waiting) != 1 || waiting[0].First != 2 || waiting[0].Last != 3 || len(refused) > 0 {
					t.Errorf("%v waits, %v is refused", waiting, refused)
				}
			}
			b.now, c.now = noon.Add(time.Hour), noon.Add(time.Hour)
			for _, p := range []*peer{b, c} {
				if err := p.space.apply(nil); err != nil {
					t.Error(err)
				}
			}
			want := "behind"
			if name == "not valid" {
				want = "valid"
			}
			agree(t, b, c)
			if v := c.get(1); v.Title != want || v.Votes != 7 || len(c.waiting()) > 0 {
				t.Errorf("got %+v, %v", v, c.waiting())
			}
			compareWithModel(t, b)
		})
	}
}

// meetAnyway exchanges the entries of two replicas, of which some may be refused.
func meetAnyway(a, b *peer) {
	for _, way := range [][2]*peer{{a, b}, {b, a}} {
		if err := way[0].space.Seal(); err != nil {
			way[0].t.Fatal(err)
		}
		var runs []*run
		for _, of := range runsOf(way[0].t.(*testing.T), way[0]) {
			runs = append(runs, of...)
		}
		if err := way[1].space.apply(runs); err != nil && !errors.Is(err, ErrInvalid) {
			way[1].t.Fatal(err)
		}
	}
}

// Sessions carry what waits and what is not valid, once.
func TestPark_isCarriedBySessions(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	c := newPeer(t, a)
	f := newForger(a)
	f.add(data(1, "valid"))
	f.add(data(10*60*1000, "ahead"))
	if err := b.space.apply([]*run{f.run}); err != nil {
		t.Fatal(err)
	}
	b.edit(func(v *task) { v.Votes = 7 })
	meet(t, b, c)
	meet(t, b, c)
	agree(t, b, c)
	if v := c.get(1); v == nil || v.Votes != 7 || len(c.waiting()) != 1 {
		t.Errorf("got %+v, %v", v, c.waiting())
	}
}

// Logs that wait for each other are merged as soon as what the first lacks arrives, and not before:
// also after the database was opened again, and whatever the order in which they came.
func TestPark_followsDependencies(t *testing.T) {
	const n = 40
	p := newPeer(t, nil)
	first := newForger(p)
	first.add(data(1, "first"))
	before := first
	var chain []*forger
	for i := range byte(n) {
		f := first.another(i + 1)
		f.add(after(data(2*int(i)+2, fmt.Sprint(i)), before))
		f.add(data(2*int(i)+3, fmt.Sprint(i)))
		chain, before = append(chain, f), f
	}
	slices.Reverse(chain)
	for _, f := range chain {
		if err := p.space.apply([]*run{f.run}); err != nil {
			t.Fatal(err)
		}
	}
	waiting := p.waiting()
	if len(waiting) != n || p.get(1) != nil {
		t.Fatalf("%d wait", len(waiting))
	}
	for _, w := range waiting {
		if w.First != 1 || w.Last != 2 || w.For == nil || !w.Since.Equal(p.now) ||
			lackedBy(w.Reason) == nil {
			t.Errorf("got %+v", w)
		}
	}
	var err error
	if p.space, err = Open(p.db, "team", p.options()); err != nil {
		t.Fatal(err)
	}
	p.open()
	if err := p.space.apply([]*run{first.run}); err != nil {
		t.Fatal(err)
	}
	if v := p.get(1); v == nil || v.Title != fmt.Sprint(n-1) || len(p.waiting()) > 0 {
		t.Errorf("got %+v; %v wait", v, p.waiting())
	}
	compareWithModel(t, p)
	err = p.db.View(func(tx *stoat.Tx) error {
		n, err := p.space.in(tx)
		if err != nil {
			return err
		}
		if size, err := n.parkedSize(); size != 0 || err != nil {
			t.Errorf("%d bytes are parked: %v", size, err)
		}
		for _, prefix := range []string{prefixWait, prefixNeeded, prefixAhead} {
			for key := range n.meta.Keys(stoat.Prefix([]byte(prefix))) {
				t.Errorf("%q is left", key)
			}
		}
		return tx.Err()
	})
	if err != nil {
		t.Error(err)
	}
}

// What arrives does not make everything that waits be looked at again.
func TestPark_wakesOnlyWhatAnArrivalCompletes(t *testing.T) {
	p := newPeer(t, nil)
	missing := newForger(p)
	missing.add(data(1, "missing"))
	for i := range byte(100) {
		f := missing.another(i + 1)
		gap := *f.run
		f.add(after(data(2, "x"), missing))
		if err := p.space.apply([]*run{f.run}); err != nil {
			t.Fatal(err)
		}
		gap.first, gap.log[0] = 9, gap.log[0]+1
		if err := p.space.apply([]*run{&gap}); err != nil {
			t.Fatal(err)
		}
	}
	if len(p.waiting()) != 200 {
		t.Fatalf("%d wait", len(p.waiting()))
	}
	other := missing.another(200)
	other.add(data(1, "other"))
	if awake, _ := p.space.awake([]*run{other.run}); len(awake) > 0 {
		t.Errorf("%d runs are looked at", len(awake))
	}
	err := p.db.View(func(tx *stoat.Tx) error {
		n, err := p.space.in(tx)
		if err != nil {
			return err
		}
		due, err := n.due(false)
		if err != nil {
			return err
		}
		logs, err := n.neededBy(&head{id: other.log, next: 2})
		if len(due)+len(logs) > 0 {
			t.Errorf("%v are due, %v wake", due, logs)
		}
		logs, also := n.neededBy(&head{id: missing.log, next: 2})
		if len(logs) != 100 {
			t.Errorf("%d wake", len(logs))
		}
		return errors.Join(err, also)
	})
	if err != nil {
		t.Error(err)
	}
}

// A log with an entry that is not valid has ended: no more of it is taken, and its forks show.
func TestPark_endsLogs(t *testing.T) {
	p := newPeer(t, nil)
	f, fork := newForger(p), newForger(p)
	for _, f := range []*forger{f, fork} {
		f.add(data(5, "valid"))
	}
	f.add(data(4, "not valid"))
	fork.add(data(6, "fork"))
	if err := p.space.apply([]*run{f.run}); !errors.Is(err, ErrInvalid) {
		t.Fatalf("got %v", err)
	}
	more := &run{log: f.log, first: f.seq}
	f.run = more
	f.add(data(9, "more"))
	if err := p.space.apply([]*run{more}); !errors.Is(err, ErrInvalid) || p.get(1).Title != "valid" {
		t.Errorf("got %v", err)
	}
	if err := p.space.apply([]*run{fork.run}); err != nil || p.cutOf(f.log) != 2 {
		t.Errorf("got %v, cut at %d", err, p.cutOf(f.log))
	}
	if r := p.ended(); len(r) != 1 || r[0].First != 2 || r[0].Last != 2 {
		t.Errorf("got %v", r)
	}
}

// The runs of a log that has not begun wait for its first one.
func TestRoom_wakesWhatFollows(t *testing.T) {
	p := newPeer(t, nil)
	f := &forger{key: newForger(p).key, space: p.space.id, run: &run{}}
	f.add((&entry.Genesis{Device: [32]byte(f.key[32:])}).Entry(data(10*60*1000, "").Time))
	begin := f.run
	f.run = &run{log: f.log, first: f.seq}
	f.add(data(11*60*1000, "x"))
	for _, r := range []*run{begin, f.run} {
		if err := p.space.apply([]*run{r}); err != nil {
			t.Fatal(err)
		}
	}
	if w := p.waiting(); len(w) != 2 || p.get(1) != nil {
		t.Fatalf("got %v", w)
	}
	p.now = noon.Add(time.Hour)
	if err := p.space.apply(nil); err != nil || p.get(1) == nil || len(p.waiting()) > 0 {
		t.Errorf("got %v, %v", err, p.waiting())
	}
}
