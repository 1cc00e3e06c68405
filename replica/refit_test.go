package replica

import (
	"errors"
	"testing"

	"github.com/stoatdb/stoat"
)

// Acts that were not sealed when a copy of the database began are made again in the new log, with
// what they cite.
func TestOpen_inAnotherBranchMovesActs(t *testing.T) {
	root := newPeer(t, nil)
	guest, other := newGuest(t, root), newGuestAfter(t, root, 1)
	root.grant(guest, Admin, In("tasks"))
	root.grant(other, Write)
	meet(t, root, guest)
	meet(t, root, other)
	root.update(func(tx *stoat.Tx) error { return root.space.Revoke(tx, other.space.device.ID()) })
	root.allow()
	guest.grant(other, Write|Invite, In("tasks"))
	for _, p := range []*peer{root, guest} {
		p.branch++
		p.seed[9]++ // other random numbers
		s, err := Open(p.db, "team", &Options{Device: p.space.device, Now: p.options().Now,
			random: p.options().random, branch: p.branch})
		if err != nil {
			t.Fatal(err)
		}
		p.space = s
		p.open()
	}
	if n := len(root.grants()); n != 3 {
		t.Errorf("%d grants", n)
	}
	meet(t, root, guest)
	meet(t, guest, other)
	other.put(task{ID: 1})
	meet(t, other, root)
	meet(t, root, guest)
	agree(t, root, guest, other)
	active := 0
	for _, g := range other.grants() {
		if g.Active() {
			active++
		}
	}
	if n := len(other.grants()); n != 4 || active != 3 || root.get(1) == nil {
		t.Errorf("%d grants, %d active", n, active)
	}
	h := &history{t: t, rights: true}
	h.compare(root)
}

// A space that has not met another replica cannot be written to, and says what to do.
func TestJoin_needsAMeetingFirst(t *testing.T) {
	root := newPeer(t, nil)
	root.allow()
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	p := &peer{t: t, db: db, now: noon, seed: [32]byte{3}, branch: 1}
	if p.space, err = Join(db, "team", root.space.ID(), p.options()); err != nil {
		t.Fatal(err)
	}
	p.open()
	if err := p.try(task{ID: 1}); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("got %v", err)
	}
	meet(t, root, p)
	if err := p.try(task{ID: 1}); err != nil {
		t.Error(err)
	}
	meet(t, root, p)
	agree(t, root, p)
}
