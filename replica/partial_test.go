package replica

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// secret is what some replicas must not have.
const secret = "SECRET"

// salaries opens the collection of salaries.
func (p *peer) salaries() *record.Collection[task] {
	p.t.Helper()
	c, err := Collection[task](p.space, "salaries", nil)
	must(p.t, err)
	return c
}

// pay stores a salary.
func (p *peer) pay(id int64, title string) {
	p.t.Helper()
	c := p.salaries()
	p.update(func(tx *stoat.Tx) error {
		return errors.Join(c.Put(tx, &task{ID: id, Title: title}),
			p.tasks.Put(tx, &task{ID: 1000 + id, Title: "paid"}))
	})
}

// salary returns a salary, or nil.
func (p *peer) salary(id int64) (v *task) {
	p.t.Helper()
	c := p.salaries()
	err := p.db.View(func(tx *stoat.Tx) (err error) {
		v, err = c.Get(tx, id)
		return err
	})
	if err != nil {
		return nil
	}
	return v
}

// reopen opens the space again with other collections.
func (p *peer) reopen(collections []string) {
	p.t.Helper()
	opts := p.options()
	opts.Collections = collections
	var err error
	p.space, err = Open(p.db, "team", opts)
	must(p.t, err)
	p.tasks = nil
	if p.holdsNow("tasks") {
		p.open()
	}
}

// collectionRoot returns the root of a collection.
func (p *peer) collectionRoot(name string) (root [32]byte, err error) {
	p.t.Helper()
	err = p.db.View(func(tx *stoat.Tx) error {
		root, err = p.space.CollectionRoot(tx, name)
		return err
	})
	return root, err
}

// has reports whether anything that a replica stores contains a text.
func (p *peer) has(text string) (has bool) {
	p.t.Helper()
	err := p.db.View(func(tx *stoat.Tx) error {
		root, err := tx.Bucket([]byte(rootBucket))
		if err != nil {
			return err
		}
		b, err := root.Bucket([]byte("team"))
		if err != nil {
			return err
		}
		for _, name := range []string{"", entriesBucket, statesBucket, touchesBucket, basesBucket} {
			in := b
			if name != "" {
				if in, err = b.Bucket([]byte(name)); err != nil {
					return err
				}
			}
			for key, value := range in.Scan(stoat.Range{}) {
				has = has || bytes.Contains(key, []byte(text)) || bytes.Contains(value, []byte(text))
			}
		}
		return tx.Err()
	})
	must(p.t, err)
	return has
}

// syncWith brings two replicas together by their rights.
func (p *peer) syncWith(other *peer) {
	p.t.Helper()
	_, _, here, there := sessionOf(p.t, p.space, other.space)
	if err := errors.Join(here, there); err != nil {
		p.t.Fatal(err)
	}
}

// sameRoot fails the test unless replicas have the same root of a collection.
func sameRoot(t *testing.T, collection string, a, b *peer) {
	t.Helper()
	x, err := a.collectionRoot(collection)
	must(t, err)
	y, err := b.collectionRoot(collection)
	must(t, err)
	if x != y || x == [32]byte{} {
		t.Errorf("the roots of %q are %x and %x", collection, x, y)
	}
}

// newPartialPeer is newPeer for a replica that holds some collections.
func newPartialPeer(t *testing.T, of *peer, collections ...string) *peer {
	t.Helper()
	p := newPeer(t, of)
	p.reopen(collections)
	return p
}

// A partial replica has the records of its collections, and nothing of others; it can do everything
// with its own.
func TestPartial_isTheProjectionOfAFullOne(t *testing.T) {
	a := newPeer(t, nil)
	b := newPartialPeer(t, a, "tasks")
	for id := range int64(300) {
		a.pay(id, secret)
	}
	a.put(task{ID: 1, Title: "a"})
	b.put(task{ID: 2, Title: "b"})
	a.syncWith(b)
	if b.has(secret) {
		t.Error("it has what it does not hold")
	}
	if b.get(1) == nil || b.get(1001) == nil || a.get(2) == nil {
		t.Error("a task is missing")
	}
	sameRoot(t, "tasks", a, b)
	b.edit(func(v *task) { v.Votes = 7 })
	a.pay(1, "other")
	a.syncWith(b)
	sameRoot(t, "tasks", a, b)
	if v := a.get(1); v.Votes != 7 {
		t.Errorf("got %+v", v)
	}
	if _, err := Collection[task](b.space, "salaries", nil); !errors.Is(err, ErrNotHeld) {
		t.Errorf("got %v", err)
	}
	if _, err := b.collectionRoot("salaries"); !errors.Is(err, ErrNotHeld) {
		t.Errorf("got %v", err)
	}
	err := b.db.View(func(tx *stoat.Tx) error {
		_, err := b.space.Root(tx)
		return err
	})
	if !errors.Is(err, ErrNotHeld) {
		t.Errorf("got %v", err)
	}
}

// A replica that holds more collections than before is given what it lacks of them.
func TestPartial_isFilledLater(t *testing.T) {
	a := newPeer(t, nil)
	b := newPartialPeer(t, a, "tasks")
	for id := range int64(300) {
		a.pay(id, secret)
	}
	a.syncWith(b)
	b.reopen([]string{})
	c := b.salaries()
	err := b.db.Update(func(tx *stoat.Tx) error { return c.Put(tx, &task{ID: 1, Title: "blind"}) })
	if !errors.Is(err, ErrNotHeld) {
		t.Errorf("it writes over what it has not seen: %v", err)
	}
	b.put(task{ID: 3})
	a.pay(1, "other")
	a.syncWith(b)
	agree(t, a, b)
	if v := b.salary(1); v == nil || v.Title != "other" {
		t.Errorf("got %+v", v)
	}
	b.pay(1, "again")
	a.syncWith(b)
	agree(t, a, b)
	b.reopen(nil)
	agree(t, a, b)
}

// A partial replica between two full ones gives the one what it has of the other, and nothing that
// it has in part.
func TestPartial_betweenFullOnes(t *testing.T) {
	a := newPeer(t, nil)
	p := newPartialPeer(t, a, "tasks")
	b := newPeer(t, a)
	b.salaries()
	a.pay(1, "first")
	a.syncWith(p)
	b.pay(1, "second")
	p.syncWith(b)
	p.syncWith(a)
	if b.get(1001) != nil && b.salary(1).Title == "" {
		t.Error("it has an entry in part")
	}
	if err := b.db.View(func(tx *stoat.Tx) error { return b.space.inWhole(tx) }); err != nil {
		t.Error(err)
	}
	a.syncWith(b)
	p.syncWith(a)
	agree(t, a, b)
	sameRoot(t, "tasks", a, p)
	p.reopen([]string{})
	p.syncWith(b)
	agree(t, a, b, p)
}

// inWhole is wholeSpace in a transaction.
func (s *Space) inWhole(tx *stoat.Tx) error {
	t, err := s.in(tx)
	if err != nil {
		return err
	}
	return t.wholeSpace()
}

// checkpoints returns how many checkpoints count.
func (p *peer) checkpoints() (n uint64) {
	p.t.Helper()
	must(p.t, p.db.View(func(tx *stoat.Tx) error {
		st, err := p.space.Status(tx)
		if err == nil {
			n = st.Checkpoints
		}
		return err
	}))
	return n
}

// A partial replica goes by checkpoints; it makes none, and prunes nothing that it wants.
func TestPartial_withCheckpoints(t *testing.T) {
	for _, fills := range []bool{true, false} {
		a := newPeer(t, nil)
		b := newPeer(t, a)
		p := newPartialPeer(t, a, "tasks")
		all := []*peer{a, b, p}
		n := int32(0)
		for round := range int64(3) {
			a.pay(1, "a")
			b.pay(2, "b")
			a.pay(10+round, "once")
			a.pay(20, "deleted, and there again by a repeat")
			paid := a.lastOrigin()
			far := paid
			far.Seq += 1000
			c := a.salaries()
			a.update(func(tx *stoat.Tx) error { return c.Delete(tx, 20) })
			a.repeat(far, paid)
			if round > 0 {
				a.update(func(tx *stoat.Tx) error { return c.Delete(tx, 9+round) })
			}
			gossip := func() {
				for range 5 {
					for _, q := range all {
						if q != a {
							a.syncWith(q)
						}
						n++
						q.put(task{ID: round, Votes: n})
					}
				}
			}
			gossip()
			if err := a.checkpoint(); err != nil && !errors.Is(err, ErrNoCheckpoint) {
				t.Fatal(err)
			}
			gossip()
			a.pay(1, "concurrent")
			b.pay(1, "too")
			a.syncWith(b)
		}
		a.syncWith(p)
		if p.checkpoints() < 2 || p.checkpoints() != a.checkpoints() {
			t.Fatalf("it goes by %d checkpoints, and a full one by %d", p.checkpoints(), a.checkpoints())
		}
		sameRoot(t, "tasks", a, p)
		if err := p.checkpoint(); !errors.Is(err, ErrNotHeld) {
			t.Errorf("it makes a checkpoint: %v", err)
		}
		if fills {
			p.reopen([]string{})
			if err := p.space.Prune(); !errors.Is(err, ErrNotHeld) {
				t.Errorf("it prunes what it wants: %v", err)
			}
			a.syncWith(p)
			a.syncWith(b)
			sameRoot(t, "tasks", a, p)
			sameRoot(t, "salaries", a, p)
			agree(t, a, b, p)
			must(t, p.space.Prune())
			agree(t, a, p)
			continue
		}
		must(t, p.space.Prune())
		sameRoot(t, "tasks", a, p)
		p.put(task{ID: 77})
		a.syncWith(p)
		sameRoot(t, "tasks", a, p)
	}
}

// What is not here is an error, and not empty.
func TestPartial_saysWhatItLacks(t *testing.T) {
	a := newPeer(t, nil)
	p := newPartialPeer(t, a, "tasks")
	a.pay(1, secret)
	a.syncWith(p)
	log := a.logID()
	err := p.db.Update(func(tx *stoat.Tx) error {
		v, err := p.space.At(tx, Moment{})
		if err != nil {
			return err
		}
		if _, err := v.Record("salaries", int64(1)); !errors.Is(err, ErrNotHeld) {
			t.Errorf("At: %v", err)
		}
		if _, err := v.Record("tasks", int64(1001)); err != nil {
			t.Errorf("At: %v", err)
		}
		for _, err := range p.space.History(tx, "salaries", int64(1)) {
			if !errors.Is(err, ErrNotHeld) {
				t.Errorf("History: %v", err)
			}
		}
		_, err = p.space.Revert(tx, Filter{Log: log})
		if !errors.Is(err, ErrNotHeld) {
			t.Errorf("Revert: %v", err)
		}
		r, err := p.space.Revert(tx, Filter{Log: log, Collection: "tasks"})
		if err != nil || r.Records != 1 {
			t.Errorf("Revert: %+v, %v", r, err)
		}
		st, err := p.space.Status(tx)
		if err != nil || len(st.Withheld) != 1 ||
			st.Withheld[0] != (Withheld{Collection: "salaries", Logs: 1}) {
			t.Errorf("Status: %+v, %v", st.Withheld, err)
		}
		n := 0
		for e, err := range p.space.Entries(tx, log, 0, 100) {
			if err != nil {
				return err
			}
			n += len(e.Withheld)
		}
		if n != 1 {
			t.Errorf("Entries: %d are withheld", n)
		}
		return p.space.Verify(t.Context(), tx, func(uint64) {})
	})
	must(t, err)
}
