package replica

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// forkedCopies returns a sole root with a checkpoint, a copy of it whose log has another entry in
// the place of the checkpoint, a writer who has met the first, and a replica that has met neither.
func forkedCopies(
	t *testing.T, other func(copied *peer),
) (root, two, writer, friend *peer) {
	t.Helper()
	first := newPeerOf(t, nil, nil, 1)
	writer = newGuest(t, first)
	friend = newGuestAfter(t, first, 1)
	first.grant(writer, Write)
	first.grant(friend, Write)
	together(t, first, writer)
	write(writer)
	together(t, first, writer)
	dir, copied := filepath.Join(t.TempDir(), "db"), filepath.Join(t.TempDir(), "copy")
	must(t, first.space.Seal())
	must(t, first.db.Backup(t.Context(), dir))
	must(t, os.CopyFS(copied, os.DirFS(dir)))
	root, two = first.copyIn(dir), first.copyIn(copied)
	for range 2 { // the copy does not have what is covered
		write(writer)
		meet(t, root, writer)
	}
	must(t, root.checkpoint())
	must(t, root.space.Seal())
	other(two)
	must(t, two.space.Seal())
	return root, two, writer, friend
}

// Both branches of a log that has forked at the entry of a checkpoint are met, in full sessions and
// in several orders, and other entries follow each. Who goes over to the checkpoint has the state
// of those that go by it.
func TestStart_goesOverFromTheOtherBranch(t *testing.T) {
	for name, other := range map[string]func(p *peer){
		"at data":         func(p *peer) { p.put(task{ID: 5, Title: "of the copy"}) },
		"at a checkpoint": func(p *peer) { must(p.t, p.checkpoint()) },
	} {
		for order, first := range []func(root, two, writer, friend *peer){
			func(root, two, _, friend *peer) {
				meet(t, two, friend)
				must(t, friend.goOver(root))
				must(t, two.goOver(root))
			},
			func(root, two, _, friend *peer) {
				must(t, two.goOver(root))
				meet(t, two, friend)
			},
			func(root, two, writer, friend *peer) {
				meet(t, two, friend)
				write(friend) // has seen the other branch only
				meet(t, two, friend)
				meet(t, two, root) // which may ask for a branch that gives way meanwhile
				meet(t, root, friend)
				meet(t, root, writer)
			},
		} {
			for _, prunes := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %d, %v", name, order, prunes), func(t *testing.T) {
					root, two, writer, friend := forkedCopies(t, other)
					if prunes {
						must(t, root.space.Prune())
					}
					first(root, two, writer, friend)
					goesOver(t, root, two, writer, friend)
				})
			}
		}
	}
}

// goesOver lets replicas write and meet, and go over to the checkpoint of the first one.
func goesOver(t *testing.T, all ...*peer) {
	t.Helper()
	for range 3 {
		for _, p := range all[1:] {
			meet(t, all[0], p)
		}
	}
	for _, p := range all {
		p.now = p.now.Add(100 * 24 * time.Hour)
	}
	write(all...)
	for _, p := range all[1:] {
		meet(t, all[0], p)
	}
	for _, p := range all[1:] {
		must(t, p.goOver(all[0]))
	}
	together(t, all...)
	want := all[0].horizonHash()
	for _, p := range all {
		must(t, p.verify())
		if p.horizonHash() != want {
			t.Error("a replica has not gone over")
		}
		if w := p.waiting(); p != all[0] && len(w) > 0 && w[0].Log != LogID(all[0].authorLog()) {
			t.Errorf("%v waits", w[0])
		}
	}
}

// horizonHash returns the hash of the checkpoint by which a replica goes.
func (p *peer) horizonHash() (hash [32]byte) {
	p.t.Helper()
	p.inTx(func(t *txn) error {
		hz, err := t.horizonOf()
		if hz != nil {
			hash = hz.hash
		}
		return err
	})
	return hash
}

// authorLog returns the log with the checkpoint by which a replica goes.
func (p *peer) authorLog() (log [32]byte) {
	p.t.Helper()
	p.inTx(func(t *txn) error {
		hz, err := t.horizonOf()
		if err != nil {
			return err
		}
		h, err := t.head(hz.at.log)
		log = h.id
		return err
	})
	return log
}

// A replica that starts with a checkpoint takes the one before it as decided: who has made a rival
// of its own that lost does not go by another one.
func TestSplit_notByARivalOfTheCheckpoint(t *testing.T) {
	a, b, _ := prunedPeers(t)
	first := a.horizonHash()
	for _, p := range []*peer{a, b} {
		p.now = p.now.Add(100 * 24 * time.Hour) // the guest is away
	}
	for range 2 {
		write(a, b)
		together(t, a, b)
	}
	must(t, a.checkpoint())
	for range 2 {
		together(t, a, b)
		write(b)
	}
	together(t, a, b)
	if a.horizonHash() == first {
		t.Fatal("there is no second checkpoint")
	}
	must(t, a.space.Prune())
	fresh := newPeer(t, a)
	fresh.now = a.now
	startWith(t, a, fresh)
	fresh.inTx(func(tx *txn) error {
		decided, err := tx.wasDecided(first)
		if !decided {
			t.Error("the checkpoint before is not decided")
		}
		return err
	})
}
