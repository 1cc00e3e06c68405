package replica

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// checkRights checks that the rights of a transaction are those of the stored acts.
func (p *peer) checkRights(tx *stoat.Tx) error {
	p.t.Helper()
	n, err := p.space.in(tx)
	if err != nil {
		return err
	}
	v, err := n.rights()
	if errors.Is(err, errUndescribed) {
		return nil
	}
	if err != nil {
		return err
	}
	stored := &rightsView{t: n}
	if err := stored.load(p.space.described()); err != nil {
		return err
	}
	got, want := v.text(), stored.text()
	if got != want {
		p.t.Errorf("the rights are\n%sinstead of\n%s", got, want)
	}
	if len(v.tree.Since(stored.tree)) > 0 || len(stored.tree.Since(v.tree)) > 0 ||
		v.tree.Narrow() != stored.tree.Narrow() {
		p.t.Errorf("the rights are not those of the stored acts:\n%s", want)
	}
	held, err := n.readHeld()
	if err != nil || !slices.Equal(v.held.names, held.names) {
		p.t.Errorf("holds %q instead of %q, %v", v.held.names, held.names, err)
	}
	lacks, err := n.readLacks()
	if err != nil || !maps.Equal(v.lacks, lacks) {
		p.t.Errorf("lacks %v instead of %v, %v", v.lacks, lacks, err)
	}
	return nil
}

// text returns the grants, what became of them, and which entries they await that are not here.
func (v *rightsView) text() (text string) {
	for _, g := range v.tree.All() {
		all := granted(v.tree, g)
		all.Under = nil
		text += fmt.Sprintf("%+v\n", all)
		for f := range v.tree.Ends(g.At) {
			for _, l := range f.Act.Revoke.Last {
				if !v.arrived(l.Head) {
					text += fmt.Sprintf(" %s/%d awaited: %t\n", l.Log, l.Seq, v.tree.Awaits(l.Head))
				}
			}
		}
	}
	return text
}

// arrived reports whether an entry is here, or was before it was pruned.
func (v *rightsView) arrived(at entry.Head) bool {
	number, known, err := v.t.logNumber(at.Log)
	if err != nil || !known {
		return false
	}
	h, err := v.t.head(number)
	return err == nil && at.Seq < h.next
}

// spoilActs makes the stored acts unreadable for who has not read them yet.
func (p *peer) spoilActs() {
	p.t.Helper()
	p.inTx(func(n *txn) error {
		for key := range n.meta.Keys(stoat.Prefix([]byte(prefixAct))) {
			if err := n.meta.Put(key, []byte("spoilt")); err != nil {
				return err
			}
		}
		return nil
	})
}

// A grant costs what it adds: whoever makes it, or merges it, and who asks afterwards, read no acts
// that the space has read or added before.
func TestGrant_needsNoActsThatAreKnown(t *testing.T) {
	root := newPeer(t, nil)
	other, guest := newPeer(t, root), newGuest(t, root)
	root.grant(guest, Read)
	meet(t, root, other)
	root.spoilActs()
	other.spoilActs()
	failed := errors.New("it fails")
	for range 2 * knownMax {
		err := root.db.Update(func(tx *stoat.Tx) error {
			err := root.space.Grant(tx, guest.space.device.ID(), Admin)
			return errors.Join(err, tx.BeforeCommit(func() error { return failed }))
		})
		if !errors.Is(err, failed) {
			t.Fatal(err)
		}
	}
	root.grant(guest, Write, In("tasks"))
	meet(t, root, other)
	root.grant(guest, Write, In("others"))
	meet(t, root, other)
	for _, p := range []*peer{root, other} {
		if n := len(p.grantsTo(guest)); n != 3 {
			t.Errorf("%d grants", n)
		}
		p.space.rights.all = nil
		err := p.db.View(func(tx *stoat.Tx) error {
			_, err := p.space.May(tx, guest.space.device.ID(), Read, "")
			return err
		})
		if !errors.Is(err, stoat.ErrCorrupt) {
			t.Errorf("the acts are readable: %v", err)
		}
	}
}

// Rights that a transaction was about to commit, and has not, are not those of the transaction that
// commits next, be it through another Space.
func TestRights_ofATransactionThatFailsAtTheEndAreForgotten(t *testing.T) {
	root := newPeer(t, nil)
	failing, guest := newGuest(t, root), newGuest(t, root)
	again, err := Open(root.db, "team", root.options())
	must(t, err)
	failed := errors.New("it fails")
	for _, s := range []*Space{root.space, again} {
		for range 3 {
			err := root.db.Update(func(tx *stoat.Tx) error {
				err := root.space.Grant(tx, failing.space.device.ID(), Admin)
				last := func() error { return tx.BeforeCommit(func() error { return failed }) }
				return errors.Join(err, tx.BeforeCommit(last))
			})
			if !errors.Is(err, failed) {
				t.Fatal(err)
			}
			root.update(func(tx *stoat.Tx) error {
				return s.Grant(tx, guest.space.device.ID(), Read)
			})
			root.root() // checks the rights
			if all := root.grantsTo(failing); len(all) > 0 {
				t.Fatalf("a grant that was never committed holds: %v", all)
			}
		}
	}
}

// A transaction that began before acts were added goes by what it sees.
func TestRights_areThoseOfTheSnapshot(t *testing.T) {
	root := newPeer(t, nil)
	guest := newGuest(t, root)
	device := guest.space.device.ID()
	for range 5 {
		root.grant(guest, Write)
		err := root.db.View(func(before *stoat.Tx) error {
			root.update(func(tx *stoat.Tx) error { return root.space.Revoke(tx, device) })
			root.grant(guest, Read)
			may, err := root.space.May(before, device, Write, "")
			if !may {
				t.Error("a revocation counts in a transaction that began before it")
			}
			return errors.Join(err, root.checkRights(before))
		})
		must(t, err)
		err = root.db.View(func(tx *stoat.Tx) error {
			if may, err := root.space.May(tx, device, Write, ""); may || err != nil {
				t.Errorf("the revocation does not count: %v", err)
			}
			return root.checkRights(tx)
		})
		must(t, err)
	}
}

// A revocation names the last entry of a log that counts. If another one arrives in its place,
// nothing of the log counts, now and in later transactions.
func TestRights_changeWithTheEntryThatARevocationNames(t *testing.T) {
	p := newPeer(t, nil)
	f, w := newForger(p), newStranger(p, 1)
	p.update(func(tx *stoat.Tx) error { return p.space.Grant(tx, w.device(), Write) })
	grant := p.grants()[0].ID.head()
	w.add(seeing(t, titling(1, 1, "first"), p))
	p.take(w.run)
	last := entry.Last{Head: entry.Head{Log: w.log, Seq: 2}, Hash: entry.Hash{1}}
	revoke := &entry.Act{Revoke: &entry.Revoke{Grant: grant, Last: []entry.Last{last}}}
	f.add(seeing(t, at(2, revoke.Entry()), p))
	p.take(f.run)
	if p.get(1) == nil {
		t.Fatal("what the revocation leaves is void")
	}
	w.add(titling(3, 1, "second"))
	p.take(w.run)
	p.root() // checks the rights
	if got := p.get(1); got != nil {
		t.Errorf("the record is %+v", got)
	}
}
