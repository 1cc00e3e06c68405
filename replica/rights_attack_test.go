package replica

import (
	"errors"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
)

// at sets the time of an entry, in milliseconds after noon.
func at(ms int, e *entry.Entry) *entry.Entry {
	e.Time = hlc.At(noon.Add(time.Duration(ms) * time.Millisecond))
	return e
}

// reasonOf returns why the first part of an entry of a forger is void at a replica, or nil.
func (p *peer) reasonOf(f *forger, seq uint64) (reason error) {
	p.t.Helper()
	p.inTx(func(t *txn) error {
		number, _, err := t.logNumber(f.log)
		if err != nil {
			return err
		}
		h, err := t.head(number)
		if err != nil {
			return err
		}
		e, err := t.entry(number, seq)
		if err != nil {
			return err
		}
		_, reason, err = t.verdict(h, seq, e)
		return err
	})
	return reason
}

// revokeDevice revokes what was granted to a device.
func (p *peer) revokeDevice(device DeviceID) {
	p.t.Helper()
	p.update(func(tx *stoat.Tx) error { return p.space.Revoke(tx, device) })
}

// A device that was revoked signs entries with old times, which reach others before or after the
// revocation, and by way of a friend.
func TestAttack06_backdatedEntries(t *testing.T) {
	root := newPeer(t, nil)
	friend := newPeer(t, root)
	f := newStranger(root, 1)
	root.update(func(tx *stoat.Tx) error { return root.space.Grant(tx, f.device(), Write) })
	f.add(seeing(t, at(1, data(0, "before")), root))
	known := *f.run
	if err := root.space.apply([]*run{&known}); err != nil {
		t.Fatal(err)
	}
	root.now = noon.Add(time.Minute)
	root.revokeDevice(f.device())
	f.add(data(2, "backdated")) // long before the revocation, by its time
	meet(t, root, friend)
	for name, p := range map[string]*peer{"root": root, "friend": friend} {
		p.now = noon.Add(time.Minute)
		if err := p.space.apply([]*run{f.run}); err != nil {
			t.Fatal(err)
		}
		if v := p.get(1); v == nil || v.Title != "before" {
			t.Errorf("%s: %+v", name, v)
		}
		if err := p.reasonOf(f, 2); !errors.Is(err, ErrNotAllowed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	agree(t, root, friend)
}

// The author of an entry is judged, and not who passes it on: a friend that has every right hands
// the entries of a revoked device to somebody who has not heard of the revocation.
func TestAttack07_byWayOfAFriend(t *testing.T) {
	root := newPeer(t, nil)
	friend, late := newPeer(t, root), newPeer(t, root)
	f := newStranger(root, 1)
	root.update(func(tx *stoat.Tx) error { return root.space.Grant(tx, f.device(), Write) })
	f.add(seeing(t, at(1, data(0, "before")), root))
	first := *f.run
	meet(t, root, friend)
	f.add(data(2, "after"))
	err := errors.Join(root.space.apply([]*run{&first}), friend.space.apply([]*run{f.run}))
	if err != nil {
		t.Fatal(err)
	}
	root.revokeDevice(f.device())
	meet(t, friend, late)
	if v := late.get(1); v == nil || v.Title != "after" {
		t.Errorf("before it hears of the revocation: %+v", v)
	}
	meet(t, root, late)
	meet(t, late, friend)
	agree(t, root, late, friend)
	if v := late.get(1); v == nil || v.Title != "before" {
		t.Errorf("got %+v", v)
	}
}

// Two admins revoke each other, and grants that lead back to themselves: the tree decides, whatever
// arrives first.
func TestAttack08_grantLoops(t *testing.T) {
	root := newPeer(t, nil)
	a, b := newStranger(root, 1), newStranger(root, 2)
	var granted [2]entry.Head
	for i, f := range []*forger{a, b} {
		root.update(func(tx *stoat.Tx) error { return root.space.Grant(tx, f.device(), Admin) })
		root.inTx(func(x *txn) error {
			h, err := x.ownHead()
			granted[i] = entry.Head{Log: h.id, Seq: h.next - 1}
			return err
		})
	}
	for i, f := range []*forger{a, b} {
		other := granted[1-i]
		ends := entry.Act{Revoke: &entry.Revoke{Under: &granted[i], Grant: other}}
		f.add(seeing(t, at(1, ends.Entry()), root))
		own := entry.Act{Revoke: &entry.Revoke{Under: &granted[i], Grant: granted[i]}}
		f.add(at(2, own.Entry()))
		loop := entry.Act{Grant: &entry.Grant{Under: &entry.Head{Log: f.log, Seq: 4},
			To: entry.Principal{Device: f.device()}, Right: entry.RightAdmin}}
		f.add(at(3, loop.Entry()))
		loop.Grant.Under = &entry.Head{Log: f.log, Seq: 3}
		f.add(at(4, loop.Entry()))
		f.add(data(5+i, string("ab"[i])))
	}
	var peers []*peer
	for _, order := range [][]*run{{a.run, b.run}, {b.run, a.run}} {
		p := newPeer(t, root)
		meet(t, root, p)
		for _, r := range order {
			if err := p.space.apply([]*run{{log: r.log, entries: r.entries, seal: r.seal}}); err != nil {
				t.Fatal(err)
			}
		}
		for _, f := range []*forger{a, b} {
			for seq := uint64(1); seq < 5; seq++ {
				if p.reasonOf(f, seq) == nil {
					t.Errorf("act %d counts", seq)
				}
			}
			if err := p.reasonOf(f, 5); err != nil {
				t.Errorf("it lost its grant: %v", err)
			}
		}
		peers = append(peers, p)
	}
	agree(t, peers...)
}

// Grants of more than the granter holds, acts without a grant, and acts passed off as data.
func TestAttack09_escalation(t *testing.T) {
	root := newPeer(t, nil)
	f := newStranger(root, 1)
	root.update(func(tx *stoat.Tx) error {
		return root.space.Grant(tx, f.device(), Write|Invite, In("tasks").NoDelete())
	})
	var held entry.Head
	root.inTx(func(x *txn) error {
		h, err := x.ownHead()
		held = entry.Head{Log: h.id, Seq: h.next - 1}
		return err
	})
	me := entry.Principal{Device: f.device()}
	own := In("tasks").NoDelete().areas
	give := func(under *entry.Head, right entry.Right, scope []entry.Area) *entry.Grant {
		return &entry.Grant{Under: under, To: me, Right: right, Scope: scope}
	}
	const write = entry.RightWrite
	acts := map[string]*entry.Grant{
		"a right above":           give(&held, entry.RightAdmin, own),
		"a flag":                  give(&held, write|entry.RightInvite, own),
		"everything":              give(&held, write, nil),
		"another collection":      give(&held, write, In("x").areas),
		"deletions":               give(&held, write, In("tasks").areas),
		"as a root":               give(nil, entry.RightAdmin, nil),
		"under what is not there": give(&entry.Head{Log: f.log}, write, own),
	}
	names := []string{}
	ms := 1
	for name, g := range acts {
		act := entry.Act{Grant: g}
		f.add(seeing(t, at(ms, act.Entry()), root))
		names = append(names, name)
		ms++
	}
	f.add(seeing(t, at(ms, (&entry.Act{Revoke: &entry.Revoke{Grant: held}}).Entry()), root))
	names = append(names, "a revocation")
	gone := data(ms+1, "")
	c := entry.Changes{Records: []entry.Record{{Key: []byte{0x15, 1}, Delete: true}}}
	gone.Parts[0].Data = c.Append(nil)
	f.add(gone)
	names = append(names, "a deletion")
	elsewhere := data(ms+2, "x")
	elsewhere.Parts[0].Group = "grants"
	f.add(elsewhere)
	names = append(names, "another collection's records")
	if err := root.space.apply([]*run{f.run}); err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if err := root.reasonOf(f, uint64(i+1)); !errors.Is(err, ErrNotAllowed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	within := entry.Act{Grant: give(&held, write, own)}
	f.run = &run{log: f.log, first: f.seq}
	f.add(at(ms+3, within.Entry()))
	if err := root.space.apply([]*run{f.run}); err != nil {
		t.Fatal(err)
	}
	if err := root.reasonOf(f, f.seq-1); err != nil {
		t.Errorf("what it may give: %v", err)
	}
}

// Times far ahead wait, and win nothing until they have come; times that are not after what an
// entry has seen are refused.
func TestAttack10_clocks(t *testing.T) {
	p := newPeer(t, nil)
	p.put(task{ID: 1, Title: "p"})
	f := newForger(p)
	f.add(seeing(t, data(20*24*3600*1000, "in twenty days"), p))
	if err := p.space.apply([]*run{f.run}); err != nil || p.get(1).Title != "p" {
		t.Errorf("got %v, %+v", err, p.get(1))
	}
	if w := p.waiting(); len(w) != 1 || !errors.Is(w[0].Reason, errAhead) {
		t.Errorf("got %v", w)
	}
	g := newForger(p)
	g.seq, g.log, g.prev, g.run = 0, entry.Hash{}, entry.Hash{}, &run{}
	genesis := entry.Genesis{Device: g.device(), Incarnation: [16]byte{8}}
	g.add(genesis.Entry(hlc.At(noon.Add(-time.Hour))))
	g.add(seeing(t, data(-30*60*1000, "before what it has seen"), p))
	if err := p.space.apply([]*run{g.run}); !errors.Is(err, ErrInvalid) || p.get(1).Title != "p" {
		t.Errorf("got %v, %+v", err, p.get(1))
	}
	p.put(task{ID: 2})
	for _, fact := range factsOf(p) {
		if fact.Entry.Time > hlc.At(noon.Add(time.Minute)) {
			t.Error("the replica's clock was raised")
		}
	}
}
