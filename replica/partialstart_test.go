package replica

import (
	"errors"
	"testing"

	"github.com/stoatdb/stoat"
)

// prunedPayer returns a replica with tasks and salaries that has pruned what its checkpoint covers.
func prunedPayer(t *testing.T) *peer {
	t.Helper()
	a := newPeer(t, nil)
	for id := range int64(30) {
		a.pay(id, secret)
	}
	renewPayer(a)
	a.pay(40, secret)
	return a
}

// renewPayer makes a checkpoint, and prunes.
func renewPayer(a *peer) {
	a.t.Helper()
	must(a.t, a.checkpoint())
	must(a.t, a.space.Seal())
	must(a.t, a.space.Prune())
}

// A partial replica starts from the checkpoint with what it holds, and is filled when it holds
// more.
func TestStart_ofAPartialReplica(t *testing.T) {
	a := prunedPayer(t)
	p := newPartialPeer(t, a, "tasks")
	a.syncWith(p)
	if !p.started() || p.has(secret) {
		t.Error("it has not started, or has what it does not hold")
	}
	sameRoot(t, "tasks", a, p)
	must(t, p.verify())
	if _, err := p.collectionRoot("salaries"); !errors.Is(err, ErrNotHeld) {
		t.Errorf("got %v", err)
	}
	p.put(task{ID: 7, Title: "by the partial one"})
	a.syncWith(p)
	sameRoot(t, "tasks", a, p)
	must(t, p.space.Prune())

	p.reopen([]string{})
	if w := p.withheld(); len(w) != 1 || !w[0].Wanted || !w[0].Checkpoint {
		t.Errorf("it lacks %+v", w)
	}
	if v := p.salary(3); v != nil {
		t.Errorf("it has %+v", v)
	}
	a.syncWith(p)
	agree(t, a, p)
	if v := p.salary(3); v == nil || v.Title != secret || len(p.withheld()) > 0 {
		t.Errorf("it has %+v, and lacks %+v", v, p.withheld())
	}
	must(t, p.verify())
	p.pay(3, "more")
	third := newPeer(t, a)
	p.syncWith(third)
	a.syncWith(p)
	a.syncWith(third)
	agree(t, a, p, third)
}

// A partial replica gives a checkpoint to those who hold no more than it, and tells others that it
// cannot.
func TestStart_fromAPartialReplica(t *testing.T) {
	a := prunedPayer(t)
	p := newPartialPeer(t, a, "tasks")
	a.syncWith(p)
	q := newPartialPeer(t, a, "tasks")
	p.syncWith(q)
	sameRoot(t, "tasks", a, q)
	full := newPeer(t, a)
	_, _, here, there := sessionOf(t, p.space, full.space)
	if err := errors.Join(here, there); !errors.Is(err, ErrPruned) || !errors.Is(err, ErrNotHeld) {
		t.Errorf("got %v", err)
	}
	a.syncWith(full)
	agree(t, a, full)
	q.reopen([]string{})
	p.syncWith(q)
	if w := q.withheld(); len(w) != 1 || !w[0].Checkpoint {
		t.Errorf("it lacks %+v", w)
	}
	full.syncWith(q)
	agree(t, a, q)
}

// What a partial replica has not pruned itself is filled by its peer's checkpoint, too.
func TestStart_fillsWhatThePeerHasPruned(t *testing.T) {
	a := newPeer(t, nil)
	p := newPartialPeer(t, a, "tasks")
	for id := range int64(30) {
		a.pay(id, secret)
	}
	a.syncWith(p)
	renewPayer(a)
	a.syncWith(p)
	a.pay(41, "after")
	p.reopen([]string{})
	a.syncWith(p)
	agree(t, a, p)
	must(t, p.verify())
	must(t, p.space.Prune())
	a.pay(3, "later")
	a.syncWith(p)
	agree(t, a, p)
}

// A device is given those collections at the checkpoint that it may read, and the others when it
// may.
func TestStart_withSomeRights(t *testing.T) {
	a := newPeer(t, nil)
	guest, relay := newGuest(t, a), newGuest(t, a)
	a.grant(guest, Write, In("tasks"))
	a.grant(relay, Relay)
	for id := range int64(30) {
		a.pay(id, secret)
	}
	renewPayer(a)
	for _, p := range []*peer{guest, relay} {
		a.syncWith(p)
		if !p.started() || p.has(secret) {
			t.Error("it has not started, or has what it may not read")
		}
		must(t, p.verify())
	}
	sameRoot(t, "tasks", a, guest)
	if relay.get(1001) != nil {
		t.Error("it has what it may not read")
	}
	guest.put(task{ID: 7, Title: "mine"})
	a.syncWith(guest)
	sameRoot(t, "tasks", a, guest)
	a.grant(guest, Read, In("salaries"))
	a.grant(relay, Read)
	for _, p := range []*peer{guest, relay} {
		a.syncWith(p)
		agree(t, a, p)
		must(t, p.verify())
	}
	if v := guest.salary(3); v == nil || v.Title != secret {
		t.Errorf("it may read %+v", v)
	}
	a.revokeLast(guest)
	a.pay(3, "another "+secret)
	renewPayer(a)
	a.syncWith(guest)
	sameRoot(t, "tasks", a, guest)
	if v := guest.salary(3); v == nil || v.Title != secret {
		t.Errorf("what was read is gone, or too new: %+v", v)
	}
	a.update(func(tx *stoat.Tx) error {
		c := a.salaries()
		return c.Delete(tx, int64(4))
	})
	a.grant(guest, Read)
	a.syncWith(guest)
	agree(t, a, guest)
	if v := guest.salary(3); v == nil || v.Title != "another "+secret || guest.salary(4) != nil {
		t.Errorf("it may read %+v, and what was deleted, %+v", v, guest.salary(4))
	}
}

// revokeLast revokes the last grant to a device.
func (p *peer) revokeLast(to *peer) {
	p.t.Helper()
	p.update(func(tx *stoat.Tx) error {
		var last EntryID
		for g, err := range p.space.Grants(tx) {
			if err != nil {
				return err
			}
			if g.To == to.space.device.ID() && g.Right == Read {
				last = g.ID
			}
		}
		return p.space.RevokeGrant(tx, last)
	})
}

// A root that is not given all that it holds does not start.
func TestAttack16_offerOfSomeCollections(t *testing.T) {
	a := prunedPayer(t)
	victim, guest := newPeer(t, a), newGuest(t, a)
	a.grant(guest, Read)
	renewPayer(a)
	for _, p := range []*peer{victim, guest} {
		o := a.offered(p)
		o.Trees[1] = nil
		for _, from := range []DeviceID{{}, {9}, a.space.device.ID()} {
			_, reason, err := endpoint{p.space}.Begin(o, from)
			believed := p == guest && from == a.space.device.ID()
			if must(t, err); errors.Is(reason, ErrNotHeld) == believed {
				t.Errorf("from %s: %v", from, reason)
			}
		}
	}
	a.syncWith(victim)
	agree(t, a, victim)
	for _, p := range []*peer{victim, guest} {
		o := a.offered(p)
		o.Trees[0] = nil
		if _, reason, err := (endpoint{p.space}).Begin(o, DeviceID{}); err == nil {
			t.Errorf("without logs: %v", reason)
		}
	}
}

// Files have what a partial replica has, and fill one that wants more.
func TestImport_startsAPartialReplica(t *testing.T) {
	a := prunedPayer(t)
	p := newPartialPeer(t, a, "tasks")
	file := a.export(nil)
	must(t, p.load(file))
	if p.has(secret) {
		t.Error("it has what it does not hold")
	}
	sameRoot(t, "tasks", a, p)
	q := newPartialPeer(t, a, "tasks")
	must(t, q.load(p.export(nil)))
	sameRoot(t, "tasks", a, q)
	full := newPeer(t, a)
	if err := full.load(p.export(nil)); !errors.Is(err, ErrNotHeld) || !errors.Is(err, ErrPruned) {
		t.Errorf("got %v", err)
	}
	must(t, full.load(file))
	for _, q := range []*peer{p, q} {
		q.reopen([]string{})
		must(t, q.load(file))
		agree(t, a, q)
		must(t, q.verify())
	}
}

// withheld returns what is missing of collections.
func (p *peer) withheld() (all []Withheld) {
	p.t.Helper()
	must(p.t, p.db.View(func(tx *stoat.Tx) error {
		st, err := p.space.Status(tx)
		all = st.Withheld
		return err
	}))
	return all
}
