package replica

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// A folder is copied, both copies go on, and both meet a third replica: nothing is lost, and what
// both had counts once.
func TestCopiedFolder_bothGoOn(t *testing.T) {
	for name, sealed := range map[string]bool{"sealed": true, "not sealed": false} {
		t.Run(name, func(t *testing.T) {
			dir, other := filepath.Join(t.TempDir(), "db"), filepath.Join(t.TempDir(), "copy")
			a := newPeerIn(t, dir)
			third := newPeer(t, a)
			a.put(task{ID: 1, Votes: 1})
			meet(t, a, third)
			a.edit(func(v *task) { v.Votes += 10 })
			if sealed {
				if err := a.space.Seal(); err != nil {
					t.Fatal(err)
				}
			}
			if err := a.db.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(other, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			one, two := a.copyIn(dir), a.copyIn(other)
			if one.ownLog() != two.ownLog() {
				t.Fatal("the copy is noticed without a peer")
			}
			one.edit(func(v *task) { v.Votes += 100 })
			two.edit(func(v *task) { v.Votes += 1000 })
			two.put(task{ID: 2, Title: "two"})
			for range 2 {
				meet(t, one, third)
				meet(t, two, third)
			}
			agree(t, one, two, third)
			if got := third.get(1); got.Votes != 1111 || third.get(2) == nil {
				t.Errorf("the record is %+v", got)
			}
			agreeWithModel(t, third)
		})
	}
}

// Both copies of a folder seal what they write before they meet anybody: the log forks, and nothing
// is lost all the same.
func TestCopiedFolder_bothSeal(t *testing.T) {
	dir, other := filepath.Join(t.TempDir(), "db"), filepath.Join(t.TempDir(), "copy")
	a := newPeerIn(t, dir)
	third, fourth := newPeer(t, a), newPeer(t, a)
	a.put(task{ID: 1, Votes: 1})
	meet(t, a, third)
	meet(t, a, fourth)
	if err := a.db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(other, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	one, two := a.copyIn(dir), a.copyIn(other)
	one.edit(func(v *task) { v.Votes += 10 })
	two.edit(func(v *task) { v.Votes += 100 })
	log := one.logID()
	meet(t, one, third)
	meet(t, two, fourth)
	_ = two.db.Close() // its disk is lost
	meet(t, third, fourth)
	meet(t, third, fourth)
	if third.cutOf(entry.Hash(log)) == 0 || third.root() != fourth.root() {
		t.Error("the fork is not found")
	}
	for range 2 {
		meet(t, one, third)
		meet(t, one, fourth)
		meet(t, third, fourth)
	}
	agree(t, one, third, fourth)
	if got := third.get(1); got.Votes != 111 {
		t.Errorf("the record is %+v", got)
	}
	agreeWithModel(t, one)
}

// The same device key on two machines at once is no fork: each writes a log of its own.
func TestDevice_onTwoMachines(t *testing.T) {
	a := newPeer(t, nil)
	b, c := newPeer(t, a), newPeer(t, a)
	c.seed = b.seed
	c.copies = a.another()
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	c.db = db
	if c.space, err = Join(db, "team", a.space.ID(), c.options()); err != nil {
		t.Fatal(err)
	}
	c.open()
	meet(t, a, b)
	meet(t, a, c)
	for i, p := range []*peer{b, c, b, c} {
		p.put(task{ID: int64(i), Votes: 1})
		meet(t, b, c)
	}
	for _, p := range []*peer{b, c} {
		meet(t, a, p)
	}
	meet(t, a, b)
	agree(t, a, b, c)
	if n := len(all(a)); n != 4 {
		t.Errorf("%d records", n)
	}
}

// A server that lost everything opens empty, with the device key that it had. Whoever connects
// refills it; it writes a log of its own, and others go on with it.
func TestServer_isRefilled(t *testing.T) {
	server := newPeer(t, nil)
	clients := []*peer{newPeer(t, server), newPeer(t, server)}
	server.put(task{ID: 1, Title: "by the server", Votes: 1})
	for i, c := range clients {
		meet(t, c, server)
		c.put(task{ID: int64(i) + 2, Votes: 1})
		meet(t, c, server)
	}
	clients[0].put(task{ID: 9, Title: "the server has never seen it"})
	lost := server.root()
	empty := &peer{t: t, now: server.now, seed: server.seed, branch: 2, copies: 99}
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	empty.db = db
	if empty.space, err = Join(db, "team", server.space.ID(), empty.options()); err != nil {
		t.Fatal(err)
	}
	empty.open()
	meet(t, clients[1], empty)
	if empty.root() != lost {
		t.Error("one client does not refill the server")
	}
	empty.edit(func(v *task) { v.Votes++ })
	for range 2 {
		for _, c := range clients {
			meet(t, c, empty)
		}
	}
	agree(t, append(clients, empty)...)
	if got := clients[0].get(1); got.Votes != 2 || len(all(empty)) != 4 {
		t.Errorf("the record is %+v", got)
	}
	if empty.cutOf(entry.Hash(server.logID())) != 0 {
		t.Error("the log of the server forks")
	}
}

// One copy of a folder writes what it does not seal, and meets what the other one has sealed there.
// Then a checkpoint covers the log far beyond, and is pruned by: nothing of the first is lost.
func TestCopiedFolder_behindACheckpointOfTheOther(t *testing.T) {
	for _, shares := range []bool{false, true} {
		dir, other := filepath.Join(t.TempDir(), "db"), filepath.Join(t.TempDir(), "copy")
		a := newPeerIn(t, dir)
		a.allow()
		third := newPeer(t, a)
		a.put(task{ID: 1, Votes: 1})
		meet(t, a, third)
		third.put(task{ID: 2})
		meet(t, a, third)
		if shares { // what is not sealed when the folder is copied
			a.put(task{ID: 3})
		}
		must(t, a.db.Close())
		must(t, os.CopyFS(other, os.DirFS(dir)))
		one, two := a.copyIn(dir), a.copyIn(other)
		for _, votes := range []int32{10, 100, 1000} {
			one.edit(func(v *task) { v.Votes += votes })
		}
		if !shares {
			two.put(task{ID: 3})
		}
		meet(t, two, third)
		must(t, one.load(third.export(nil)))
		for i := range int64(6) {
			third.put(task{ID: 10 + i})
			meet(t, two, third)
			two.put(task{ID: 20 + i})
			meet(t, two, third)
		}
		pruneBoth(t, two, third)
		gather(t, third, two, one)
		if v := third.get(1); v.Votes != 1111 || !one.started() {
			t.Errorf("shares %v: %d votes instead of 1111; from the checkpoint: %v", shares, v.Votes,
				one.started())
		}
	}
}
