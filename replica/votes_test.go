package replica

import (
	"errors"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// known makes replicas that have all written, and know that of each other.
func known(t *testing.T, n int) (all []*peer) {
	t.Helper()
	all = []*peer{newPeer(t, nil)}
	for len(all) < n {
		all = append(all, newPeer(t, all[0]))
	}
	for i, p := range all {
		p.put(task{ID: int64(i + 1), Title: "known"})
	}
	agreeAfter(t, all...)
	for _, p := range all {
		p.put(task{ID: 8}) // has seen that
	}
	agreeAfter(t, all...)
	return all
}

// Two devices make checkpoints without knowing of the other's. Whichever a replica learns of first,
// all go by the same in the end.
func TestVotes_decideBetweenRivals(t *testing.T) {
	peers := known(t, 3)
	a, b, c := peers[0], peers[1], peers[2]
	for _, p := range []*peer{a, b} {
		p.edit(func(v *task) { v.Title = p.space.device.ID().String() })
		p.put(task{ID: 9})
	}
	a.now = a.now.Add(time.Second) // b's is the lesser one
	if err := errors.Join(a.checkpoint(), b.checkpoint()); err != nil {
		t.Fatal(err)
	}
	meet(t, a, c)
	c.put(task{ID: 4}) // knows a's alone
	meet(t, c, b)
	b.put(task{ID: 5})
	meet(t, b, a)
	if len(a.covered()) > 0 { // b has voted for its own, and a had no say about that
		t.Error("a checkpoint is decided against a vote")
	}
	for range 3 {
		for _, p := range peers {
			p.put(task{ID: 6})
		}
		late := newPeer(t, a) // meets everything at once
		agreeAfter(t, append(peers, late)...)
	}
	if err := a.checkpoint(); err != nil && !errors.Is(err, ErrNoCheckpoint) {
		t.Fatal(err)
	}
	for range 2 {
		agreeAfter(t, peers...)
		for _, p := range peers {
			p.put(task{ID: 7})
		}
	}
	agreeAfter(t, peers...)
	if len(a.covered()) == 0 {
		t.Error("rivals keep everything from being decided")
	}
}

// What a device has stored for a checkpoint that was voted down is not in the one that it makes
// next.
func TestVotes_againstACheckpointLeaveNothingOfIt(t *testing.T) {
	peers := known(t, 3)
	a, b := peers[0], peers[1]
	for _, p := range []*peer{a, b} {
		p.edit(func(v *task) { v.Title = "not covered by " + p.space.device.ID().String() })
		p.put(task{ID: 9})
	}
	must(t, errors.Join(a.checkpoint(), b.checkpoint()))
	meet(t, a, b)
	a.put(task{ID: 4})
	b.put(task{ID: 5})
	for range 2 {
		agreeAfter(t, peers...)
		for _, p := range peers {
			p.put(task{ID: 6})
		}
	}
	agreeAfter(t, peers...)
	if len(a.covered()) > 0 {
		t.Fatal("a checkpoint is not voted down")
	}
	must(t, a.checkpoint())
	for range 2 {
		agreeAfter(t, peers...)
		for _, p := range peers {
			p.put(task{ID: 7})
		}
	}
	agreeAfter(t, peers...)
	for _, p := range peers {
		if len(p.covered()) == 0 {
			t.Error("the next checkpoint does not count")
		}
		must(t, p.space.Prune())
	}
	agree(t, peers...)
}

// A right that is revoked by somebody who had not seen a checkpoint does not undo it, whatever a
// replica learns of first.
func TestVotes_areNotUndoneByRevocations(t *testing.T) {
	root := newPeer(t, nil)
	other := newPeer(t, root)
	keeper := newGuest(t, root)
	root.grant(keeper, Write|Checkpoint)
	agreeAfter(t, root, other, keeper)
	other.put(task{ID: 1})
	keeper.put(task{ID: 2})
	agreeAfter(t, root, other, keeper)
	for _, p := range []*peer{root, other, keeper} {
		p.put(task{ID: 3})
	}
	agreeAfter(t, root, other, keeper)
	if err := keeper.checkpoint(); err != nil {
		t.Fatal(err)
	}
	other.update(func(tx *stoat.Tx) error {
		return other.space.Revoke(tx, keeper.space.device.ID())
	})
	late := newPeer(t, root) // learns of the revocation first
	meet(t, other, late)
	meet(t, keeper, root)
	root.put(task{ID: 4})
	meet(t, keeper, root)
	agreeAll := []*peer{root, other, keeper, late}
	for round := range int64(3) {
		for i, p := range agreeAll[:2] {
			p.put(task{ID: 5, Best: 2*round + int64(i) + 1})
		}
		for _, p := range agreeAll[1:] {
			meet(t, root, p)
		}
	}
	agree(t, agreeAll...)
	for _, p := range agreeAll {
		if len(p.covered()) == 0 {
			t.Error("the checkpoint does not count")
		}
	}
}

// In a space with a quorum, one root cannot make a checkpoint alone, but with another root.
func TestVotes_takeAQuorumOfRoots(t *testing.T) {
	roots := testRoots()
	a := newPeerOf(t, nil, []DeviceID{roots[1], roots[4], roots[5]}, 2)
	b, c := newPeer(t, a), newPeer(t, a)
	a.put(task{ID: 1})
	if err := a.checkpoint(); !errors.Is(err, ErrNoCheckpoint) {
		t.Errorf("got %v", err)
	}
	a.forge(func(*entry.Checkpoint) {})
	agreeAfter(t, a, b, c)
	if len(a.covered())+len(b.covered()) > 0 {
		t.Error("a checkpoint of one root counts")
	}
	b.put(task{ID: 2})
	for range 2 {
		agreeAfter(t, a, b, c)
		a.put(task{ID: 3})
	}
	agreeAfter(t, a, b, c)
	if err := a.checkpoint(); err != nil {
		t.Fatal(err)
	}
	agreeAfter(t, a, b, c)
	if len(c.covered()) > 0 {
		t.Error("the checkpoint counts without the other root")
	}
	b.put(task{ID: 4})
	agreeAfter(t, a, b, c)
	if len(c.covered()) == 0 {
		t.Error("the checkpoint does not count")
	}
}

// Two devices that have never met make checkpoints each. That is not decided between them, but both
// notice it.
func TestVotes_splitIsNoticed(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	third := newPeer(t, a)
	meet(t, a, third)
	for _, p := range []*peer{a, b} {
		for id := range int64(2) {
			p.put(task{ID: id + 1})
			if err := errors.Join(p.checkpoint(), p.space.Seal()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(a.split())+len(b.split()) > 0 {
		t.Error("a split is seen before they have met")
	}
	meet(t, a, third)
	if len(third.split()) > 0 {
		t.Error("a replica that knows one of them alone sees a split")
	}
	meet(t, a, b)
	for p, other := range map[*peer]*peer{a: b, b: a} {
		if got := p.split(); len(got) != 1 || got[0] != other.space.device.ID() {
			t.Errorf("got %v", got)
		}
	}
}
