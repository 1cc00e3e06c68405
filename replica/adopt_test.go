package replica

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/model"
)

// adopt adopts what does not count of the log of another replica.
func (p *peer) adopt(of *peer) (a Adopted) {
	p.t.Helper()
	log := of.logID()
	p.update(func(tx *stoat.Tx) (err error) {
		a, err = p.space.Adopt(tx, log, 0, 1<<40)
		return err
	})
	return a
}

// logID returns the id of the log that the replica writes.
func (p *peer) logID() (id LogID) {
	p.t.Helper()
	p.inTx(func(t *txn) error {
		h, err := t.ownHead()
		id = LogID(h.id)
		return err
	})
	return id
}

// revoke takes back all grants to the device of a replica.
func (p *peer) revoke(from *peer) {
	p.t.Helper()
	p.update(func(tx *stoat.Tx) error { return p.space.Revoke(tx, from.space.device.ID()) })
}

// offline returns a root, another one, and a guest that wrote tasks which do not count: its grant
// was revoked before others had them.
func offline(t *testing.T, write func(guest *peer)) (root, other, guest *peer) {
	root = newPeer(t, nil)
	other, guest = newPeer(t, root), newGuest(t, root)
	root.grant(guest, Write)
	root.put(task{ID: 1, Title: "root", Votes: 1, Tags: []string{"a", "b"}})
	meet(t, root, guest)
	guest.put(task{ID: 9})
	meet(t, root, guest)
	write(guest)
	root.revoke(guest)
	meet(t, root, guest)
	meet(t, root, other)
	return root, other, guest
}

func TestAdopt_ofARevokedDevice(t *testing.T) {
	root, other, guest := offline(t, func(guest *peer) {
		guest.edit(func(v *task) { v.Votes, v.Title = 11, "guest" })
		guest.put(task{ID: 2, Title: "new"})
	})
	if root.get(2) != nil || root.get(1).Votes != 1 {
		t.Fatal("what was revoked counts")
	}
	if a := root.adopt(guest); a != (Adopted{Entries: 2}) {
		t.Errorf("%+v", a)
	}
	if got := root.get(1); got.Votes != 11 || got.Title != "guest" || root.get(2) == nil {
		t.Errorf("the record is %+v", got)
	}
	if a := root.adopt(guest); a != (Adopted{Before: 2}) {
		t.Errorf("once more: %+v", a)
	}
	meet(t, root, other)
	meet(t, root, guest)
	agree(t, root, other, guest)
	if a := other.adopt(guest); a != (Adopted{Before: 2}) {
		t.Errorf("elsewhere: %+v", a)
	}
	for _, p := range []*peer{root, other, guest} {
		p.checkVoids()
	}
	log := guest.logID()
	err := guest.db.Update(func(tx *stoat.Tx) error {
		_, err := guest.space.Adopt(tx, log, 0, 9)
		return err
	})
	if err != nil {
		t.Errorf("nothing is left to adopt: %v", err)
	}
}

func TestAdopt_needsTheRightToWrite(t *testing.T) {
	_, _, guest := offline(t, func(guest *peer) { guest.put(task{ID: 2}) })
	log := guest.logID()
	err := guest.db.Update(func(tx *stoat.Tx) error {
		_, err := guest.space.Adopt(tx, log, 0, 9)
		return err
	})
	if !errors.Is(err, ErrNotAllowed) {
		t.Errorf("got %v", err)
	}
}

// What two replicas adopt without knowing of each other counts once; and what one of them adopted
// counts when the other had no right to.
func TestAdopt_twice(t *testing.T) {
	for _, revoked := range []bool{false, true} {
		root, other, guest := offline(t, func(guest *peer) {
			guest.edit(func(v *task) { v.Votes += 10 })
		})
		helper, third := newGuest(t, root), newPeer(t, root)
		root.grant(helper, Write)
		meet(t, root, helper)
		meet(t, root, other)
		helper.adopt(guest)
		other.now = other.now.Add(time.Minute)
		other.edit(func(v *task) { v.Votes += 100 })
		other.adopt(guest)
		meet(t, other, third)
		if got := third.get(1).Votes; got != 111 {
			t.Errorf("%d votes", got)
		}
		meet(t, helper, third)
		if got := third.get(1).Votes; got != 111 {
			t.Errorf("%d votes", got)
		}
		if revoked {
			root.revoke(helper)
		}
		everyone := []*peer{root, other, helper, third, guest}
		for range 2 {
			for _, p := range everyone[1:] {
				meet(t, root, p)
				p.checkVoids()
			}
		}
		agree(t, everyone...)
		if got := guest.get(1).Votes; got != 111 {
			t.Errorf("%d votes", got)
		}
		reasons := map[string]int{}
		err := root.db.View(func(tx *stoat.Tx) error {
			for r, err := range root.space.History(tx, "tasks", 1) {
				if err != nil {
					return err
				}
				reasons[r.Void]++
			}
			return nil
		})
		if err != nil || (reasons[repeatedElsewhere] == 1) == revoked {
			t.Errorf("revoked %t: %v (%v)", revoked, reasons, err)
		}
	}
}

// What does not count and was adopted is as if it had been written again.
func TestAdopt_isAsWrittenAgain(t *testing.T) {
	for seed := range uint64(30) {
		var shown [2][]task
		for i := range shown {
			h := &history{t: t, rng: rand.New(rand.NewPCG(seed, 18))}
			work := func(p *peer) {
				again := &history{t: t, rng: rand.New(rand.NewPCG(seed, 19))}
				for range 6 {
					again.write(p)
				}
			}
			root := newPeer(t, nil)
			guest := newGuest(t, root)
			root.grant(guest, Write)
			meet(t, root, guest)
			for range 5 {
				h.write(root)
				h.write(guest)
			}
			meet(t, root, guest)
			if i == 0 {
				work(guest)
				root.revoke(guest)
				meet(t, root, guest)
				root.adopt(guest)
				meet(t, root, guest)
				agree(t, root, guest)
				root.compareWhatCounts()
			} else {
				work(root)
			}
			shown[i] = all(root)
			root.checkVoids()
		}
		if !reflect.DeepEqual(shown[0], shown[1]) {
			t.Fatalf("seed %d: adopted %+v, written again %+v", seed, shown[0], shown[1])
		}
	}
}

// compareWhatCounts compares the replica with the model of those parts of entries that count.
func (p *peer) compareWhatCounts() {
	p.t.Helper()
	facts := factsOf(p)
	p.inTx(func(t *txn) error {
		for i := range facts {
			f := &facts[i]
			number, _, err := t.logNumber(f.Log)
			if err != nil {
				return err
			}
			v, err := t.voided(number, f.Seq)
			if err != nil {
				return err
			}
			var parts []entry.Part
			for j := range f.Entry.Parts {
				if !v.parts().has(j) {
					parts = append(parts, f.Entry.Parts[j])
				}
			}
			f.Entry.Parts = parts
		}
		return nil
	})
	want, err := model.Root(p.space.id, p.about(), facts)
	if err != nil || p.root() != want {
		p.t.Errorf("the root is not that of the model (%v)", err)
	}
}
