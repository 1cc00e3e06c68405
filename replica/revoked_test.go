package replica

import (
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
