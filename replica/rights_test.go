package replica

import (
	"errors"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// newGuest makes a replica whose device is no root and has no grant.
func newGuest(t testing.TB, of *peer) *peer {
	t.Helper()
	of.joined += rootsOfTests
	defer func() { of.joined -= rootsOfTests }()
	return newPeer(t, of)
}

// grant gives a right to the device of a replica.
func (p *peer) grant(to *peer, right Right, scopes ...Scope) {
	p.t.Helper()
	p.update(func(tx *stoat.Tx) error {
		return p.space.Grant(tx, to.space.device.ID(), right, scopes...)
	})
}

// try stores a task and returns the error.
func (p *peer) try(v task) error {
	return p.db.Update(func(tx *stoat.Tx) error { return p.tasks.Put(tx, &v) })
}

func TestGrant_permitsToWrite(t *testing.T) {
	root := newPeer(t, nil)
	guest := newGuest(t, root)
	err := guest.try(task{ID: 1})
	id := guest.space.device.ID().String()
	if !errors.Is(err, ErrNotAllowed) || !strings.Contains(err.Error(), id) {
		t.Errorf("got %v", err)
	}
	root.grant(guest, Write, In("tasks"))
	if err := guest.try(task{ID: 1}); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("before it has seen the grant: %v", err)
	}
	meet(t, root, guest)
	guest.put(task{ID: 1, Title: "a"})
	meet(t, root, guest)
	agree(t, root, guest)
	if root.get(1) == nil {
		t.Error("the record is void")
	}
}

// What a revocation cuts off disappears everywhere, whatever came first; what it leaves stays.
func TestRevoke_cutsOff(t *testing.T) {
	root := newPeer(t, nil)
	other, guest := newPeer(t, root), newGuest(t, root)
	root.grant(guest, Write)
	meet(t, root, guest)
	guest.put(task{ID: 1, Title: "before"})
	meet(t, root, guest)
	guest.put(task{ID: 1, Title: "after"})
	guest.put(task{ID: 2})
	meet(t, guest, other)
	if other.get(2) == nil {
		t.Error("the record did not arrive")
	}
	root.update(func(tx *stoat.Tx) error { return root.space.Revoke(tx, guest.space.device.ID()) })
	meet(t, root, other)
	meet(t, root, guest)
	agree(t, root, other, guest)
	for _, p := range []*peer{root, other, guest} {
		if v := p.get(1); v == nil || v.Title != "before" || p.get(2) != nil {
			t.Errorf("got %+v, %+v", v, p.get(2))
		}
	}
	if err := guest.try(task{ID: 3}); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("got %v", err)
	}
	root.grant(guest, Write)
	meet(t, root, guest)
	guest.put(task{ID: 3})
	meet(t, guest, other)
	meet(t, guest, root)
	agree(t, root, other, guest)
	if other.get(3) == nil || other.get(2) != nil {
		t.Error("a new grant is for what follows")
	}
}

// A root may act under a grant as others do.
func TestGrant_isMadeByARootUnderAnother(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a) // a root, too
	a.grant(b, Admin)
	meet(t, a, b)
	var above EntryID
	for _, g := range a.grants() {
		above = g.ID
	}
	b.put(task{ID: 1}) // has seen the grant
	b.update(func(tx *stoat.Tx) error {
		n, err := b.space.in(tx)
		if err != nil {
			return err
		}
		next, err := n.nextOwn()
		if err != nil {
			return err
		}
		under := above.head()
		act := &entry.Act{Grant: &entry.Grant{Under: &under, To: Anyone.principal(),
			Right: entry.RightRead}}
		return n.issue(next, act.Entry())
	})
	agreeAfter(t, a, b)
	for _, p := range []*peer{a, b} {
		for _, g := range p.grants() {
			if !g.Active() {
				t.Errorf("grant %v is void: %v", g.ID, g.Void)
			}
		}
		if n := len(p.grants()); n != 2 {
			t.Errorf("%d grants", n)
		}
	}
}

// What looks like the narrowing of a grant never grants more than a caller meant.
func TestGrant_refusesScopesThatAreWiderThanTheyLook(t *testing.T) {
	a := newPeer(t, nil)
	guest := newGuest(t, a)
	device := testDevice(guest.seed).ID()
	grant := func(scopes ...Scope) error {
		return a.db.Update(func(tx *stoat.Tx) error {
			return a.space.Grant(tx, device, Write, scopes...)
		})
	}
	for says, scopes := range map[string][]Scope{
		"not set":      {In("tasks"), {}},
		"has no names": {In("tasks").Fields()},
		"is empty":     {In("tasks", "")},
	} {
		if err := grant(scopes...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q in it", err, says)
		}
	}
	must(t, grant(In("tasks"), In("tasks").Fields("title"), In("tasks")))
}

// Only acts that need it can be endorsed, so a wrong number is not taken for consent.
func TestEndorse_refusesWhatIsNoAct(t *testing.T) {
	a := newPeer(t, nil)
	a.put(task{ID: 1})
	a.update(func(tx *stoat.Tx) error { return a.space.Grant(tx, Anyone, Read) })
	for seq, fails := range []bool{true, true, false} {
		err := a.db.Update(func(tx *stoat.Tx) error {
			heads, err := a.space.Heads(tx)
			must(t, err)
			return a.space.Endorse(tx, EntryID{heads[0].Log, uint64(seq)})
		})
		if (err != nil) != fails {
			t.Errorf("entry %d: %v", seq, err)
		}
	}
}

// What a transaction that fails did about rights is gone with it, also if others reach its version
// in another way.
func TestRights_ofAFailedTransactionAreForgotten(t *testing.T) {
	root := newPeer(t, nil)
	guest := newGuest(t, root)
	failed := errors.New("it fails")
	err := root.db.Update(func(tx *stoat.Tx) error {
		if err := root.space.Grant(tx, guest.space.device.ID(), Write); err != nil {
			return err
		}
		n, err := root.space.in(tx)
		if err != nil {
			return err
		}
		n.rightsView = nil // as it is when the acts of a checkpoint have replaced others
		_, err = n.rights()
		return errors.Join(err, failed)
	})
	if !errors.Is(err, failed) {
		t.Fatal(err)
	}
	root.inTx(func(n *txn) error { return n.renewRights() }) // as when something is withheld
	if all := root.grantsTo(guest); len(all) > 0 {
		t.Errorf("a grant that was never committed holds: %v", all)
	}
}
