package replica

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"

	"github.com/stoatdb/stoat"
)

// split returns the devices that go by another checkpoint.
func (p *peer) split() (devices []DeviceID) {
	p.t.Helper()
	must(p.t, p.db.View(func(tx *stoat.Tx) error {
		st, err := p.space.Status(tx)
		if err == nil {
			devices = st.Split
		}
		return err
	}))
	return devices
}

// goOver makes a replica go by the checkpoint of another one.
func (p *peer) goOver(to *peer) error {
	x, y := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- Sync(context.Background(), to.space, y, once) }()
	err := Sync(context.Background(), p.space, x, &SyncOptions{Once: true, FromCheckpoint: true})
	return errors.Join(err, <-done)
}

// A copy of a database seals a branch of its log, and is away while others make a checkpoint that
// covers the other branch. What knows of the fork before the checkpoint is decided cannot go by it,
// and says so; it goes over to it when it is told to, and loses nothing.
func TestSplit_copyComesBackAfterACheckpoint(t *testing.T) {
	a := newPeer(t, nil)
	w, third := newPeer(t, a), newPeer(t, a)
	for i, p := range []*peer{a, w, third} {
		p.put(task{ID: int64(10 + i), Votes: 1})
	}
	w.put(task{ID: 1, Votes: 1})
	agreeAfter(t, a, w, third)
	dir := filepath.Join(t.TempDir(), "copy")
	must(t, w.db.Backup(t.Context(), dir))
	two := w.copyIn(dir)
	two.edit(func(v *task) { v.Votes += 1000 })
	for range 9 {
		two.put(task{ID: 2, Votes: int32(len(factsOf(two)))})
	}
	must(t, two.space.Seal())
	w.edit(func(v *task) { v.Votes += 10 })
	round := int32(1)
	everybody := func() {
		for i, p := range []*peer{a, w, third} {
			p.put(task{ID: int64(10 + i), Votes: round})
		}
		round++
		for range 2 {
			meet(t, a, w)
			meet(t, a, third)
		}
	}
	everybody()
	everybody()
	must(t, a.checkpoint())
	meet(t, a, w)
	meet(t, a, third)
	everybody()
	if len(a.covered()) == 0 || len(w.covered()) == 0 || len(third.covered()) == 0 {
		t.Fatal("the checkpoint does not count")
	}
	friend := newPeer(t, a)
	meet(t, two, friend) // has the other branch
	for range 2 {
		for _, p := range []*peer{friend, two} {
			meet(t, p, a)
			meet(t, p, w)
			meet(t, p, third)
		}
	}
	for name, p := range map[string]*peer{"the copy": two, "its friend": friend} {
		if len(p.split()) == 0 || len(p.covered()) > 0 {
			t.Errorf("%s does not notice that others go by a checkpoint", name)
		}
		must(t, p.goOver(a))
		if len(p.split()) > 0 || len(p.covered()) == 0 {
			t.Errorf("%s does not go by the checkpoint of the others", name)
		}
	}
	everyone := []*peer{a, w, third, two, friend}
	gather(t, everyone...)
	for _, p := range everyone {
		if p.get(1).Votes != 1011 || p.get(2) == nil {
			t.Errorf("the records are %+v and %+v", p.get(1), p.get(2))
		}
		if len(p.split()) > 0 {
			t.Error("a split is left")
		}
		p.put(task{ID: 3, Votes: 1})
	}
	gather(t, everyone...)
}
