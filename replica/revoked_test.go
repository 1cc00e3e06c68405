package replica

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
)

// A revocation that a checkpoint does not cover does not reach behind it, whether it arrives before
// the checkpoint or after it.
func TestCheckpoint_endsTheReachOfRevocations(t *testing.T) {
	root := newPeer(t, nil)
	other, third := newPeer(t, root), newPeer(t, root)
	writer := newGuest(t, root)
	root.grant(writer, Write)
	meet(t, root, writer)
	meet(t, root, other)
	other.put(task{ID: 2})
	meet(t, root, other)
	meet(t, root, third)
	other.update(func(tx *stoat.Tx) error {
		return other.space.Revoke(tx, writer.space.device.ID())
	})
	writer.put(task{ID: 1, Title: "w"}) // the revocation has not seen it
	meet(t, root, writer)
	all := []*peer{root, other, third, writer}
	for _, p := range all {
		p.now = p.now.Add(100 * 24 * time.Hour)
	}
	meet(t, writer, third)
	meet(t, other, third)
	if third.get(1) != nil {
		t.Error("the revocation does not void what it has not seen")
	}
	if err := root.checkpoint(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for _, p := range all[1:] {
			meet(t, root, p)
		}
	}
	agree(t, all...)
	for _, p := range all {
		if p.get(1) == nil {
			t.Error("what a checkpoint covers is void")
		}
	}
}

// A revocation arrives after what its grant covered was pruned, and names some of that.
func TestCheckpoint_revocationOfWhatWasPruned(t *testing.T) {
	root := newPeer(t, nil)
	other := newPeer(t, root)
	writer := newGuest(t, root)
	root.grant(writer, Write)
	meet(t, root, writer)
	for id := range int64(4) {
		writer.put(task{ID: id + 1, Title: "w"})
	}
	meet(t, root, writer)
	meet(t, root, other)
	other.update(func(tx *stoat.Tx) error { // names the fourth entry
		return other.space.Revoke(tx, writer.space.device.ID())
	})
	writer.put(task{ID: 5, Title: "w"})
	writer.put(task{ID: 6, Title: "w"})
	meet(t, root, writer)
	if err := errors.Join(root.checkpoint(), root.space.Seal()); err != nil {
		t.Fatal(err)
	}
	if len(root.covered()) == 0 {
		t.Fatal("the checkpoint does not count")
	}
	if err := root.space.Prune(); err != nil {
		t.Fatal(err)
	}
	meet(t, writer, other)
	for range 2 {
		meet(t, root, writer)
		meet(t, root, other)
	}
	agree(t, root, writer, other)
	if root.get(5) == nil {
		t.Error("what a checkpoint covers is void")
	}
	h := &history{t: t, rng: rand.New(rand.NewPCG(1, 1))}
	writer.inTx(h.trespass)
	meet(t, root, writer)
	agree(t, root, writer)
	for _, v := range all(root) {
		if v.Title != "w" {
			t.Error("the revocation has no effect")
		}
	}
	if w := root.waiting(); len(w) > 0 {
		t.Errorf("%v waits", w[0])
	}
}

// What a record shows is taken back while no program has its collection open.
func TestCollection_showsWhatHappenedWhileItWasClosed(t *testing.T) {
	root := newPeer(t, nil)
	other, writer := newPeer(t, root), newGuest(t, root)
	root.grant(writer, Write)
	meet(t, root, writer)
	writer.put(task{ID: 1, Title: "w"})
	meet(t, writer, other)
	if other.get(1) == nil {
		t.Fatal("the record is not there")
	}
	root.update(func(tx *stoat.Tx) error { // has not seen the record
		return root.space.Revoke(tx, writer.space.device.ID())
	})
	var err error
	if other.space, err = Open(other.db, "team", other.options()); err != nil {
		t.Fatal(err)
	}
	meet(t, root, other)
	other.open()
	if other.get(1) != nil {
		t.Error("the record is still there")
	}
	agree(t, root, other)
}
