package replica

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
)

// Partial replicas are a kind of peer: whatever happens, and whichever collections each of them
// holds when, they have the roots of the full ones in what they hold; and all have the same root
// once they hold everything.
func TestHistoryOfPartialReplicas_isTheProjection(t *testing.T) {
	n := *histories
	if testing.Short() {
		n = min(n, 20)
	}
	for seed := *historySeed; seed < *historySeed+n; seed++ {
		h := &history{t: t, rng: rand.New(rand.NewPCG(seed, 23))}
		h.runPartial()
		if t.Failed() {
			t.Fatalf("repeat it with -run TestHistoryOfPartial -seed %d -histories 1", seed)
		}
	}
	t.Logf("trust: %d histories of replicas", n)
}

func (h *history) runPartial() {
	h.peers = []*peer{newPeer(h.t, nil)}
	for range 2 + h.rng.IntN(4) {
		h.peers = append(h.peers, newPeer(h.t, h.peers[0]))
	}
	for range 20 + h.rng.IntN(50) {
		p := h.any()
		n := h.rng.IntN(16)
		switch {
		case n < 4:
			h.writeHeld(p, func() { h.write(p) }, "tasks")
		case n < 8:
			h.writeHeld(p, func() { h.pay(p) }, "tasks", "salaries")
		case n < 12:
			if q := h.any(); q != p {
				p.syncWith(q)
			}
		case n < 13:
			if err := h.peers[0].checkpoint(); err != nil && !errors.Is(err, ErrNoCheckpoint) {
				h.t.Error(err)
			}
		case n < 14:
			p.now = p.now.Add(time.Duration(h.rng.IntN(240)-120) * time.Second)
		case p != h.peers[0]: // the first one is full
			p.reopen([][]string{{"tasks"}, {"salaries"}, {"tasks", "salaries"}, {}}[h.rng.IntN(4)])
		}
	}
	h.gossip()
	for _, p := range h.peers[1:] {
		for _, name := range []string{"tasks", "salaries"} {
			got, err := p.collectionRoot(name)
			want, err2 := h.peers[0].collectionRoot(name)
			if errors.Is(err, ErrNotHeld) && h.repeats() {
				continue
			}
			if holds := p.holdsNow(name); holds && (err != nil || got != want) {
				h.t.Errorf("the root of %q is %x, not %x: %v", name, got, want, err)
			} else if !holds && !errors.Is(err, ErrNotHeld) {
				h.t.Errorf("it has the root %x of %q: %v", got, name, err)
			}
			must(h.t, err2)
		}
	}
	for _, p := range h.peers[1:] {
		p.reopen([]string{})
	}
	h.gossip()
	whole := slices.DeleteFunc(slices.Clone(h.peers), func(p *peer) bool {
		return h.repeats() && p.db.View(p.space.inWhole) != nil
	})
	agree(h.t, whole...)
	h.compare(h.peers[0])
	for _, p := range h.peers {
		_ = p.db.Close()
	}
}

// repeats reports whether entries repeat others, and there are checkpoints: then, what these cover
// is not filled.
func (h *history) repeats() (has bool) {
	p := h.peers[0]
	must(h.t, p.db.View(func(tx *stoat.Tx) error {
		t, err := p.space.in(tx)
		if err == nil {
			has, err = t.hasRepeats()
		}
		return err
	}))
	return has && p.checkpoints() > 0
}

// gossip lets the first replica meet all others, thrice.
func (h *history) gossip() {
	for range 3 {
		for _, p := range h.peers {
			p.now = noon.Add(time.Hour)
			if p != h.peers[0] {
				p.syncWith(h.peers[0])
			}
		}
	}
}

// writeHeld lets a replica write if it has all of some collections.
func (h *history) writeHeld(p *peer, write func(), collections ...string) {
	p.t.Helper()
	whole := true
	must(p.t, p.db.View(func(tx *stoat.Tx) error {
		t, err := p.space.in(tx)
		for _, name := range collections {
			whole = whole && err == nil && t.whole(name) == nil
		}
		return err
	}))
	if whole {
		write()
	}
}

// holdsNow reports whether a replica holds a collection.
func (p *peer) holdsNow(name string) (holds bool) {
	p.t.Helper()
	must(p.t, p.db.View(func(tx *stoat.Tx) error {
		t, err := p.space.in(tx)
		if err == nil {
			err = t.holds(name)
		}
		holds = err == nil
		if errors.Is(err, ErrNotHeld) {
			err = nil
		}
		return err
	}))
	return holds
}

// pay changes a salary, and a task in the same transaction.
func (h *history) pay(p *peer) {
	c := p.salaries()
	p.update(func(tx *stoat.Tx) error {
		id := int64(1 + h.rng.IntN(3))
		v, err := c.Get(tx, id)
		if err != nil {
			v = &task{ID: id}
		}
		if h.rng.IntN(5) == 0 {
			err = c.Delete(tx, id)
			if errors.Is(err, stoat.ErrNotFound) {
				err = nil
			}
			return err
		}
		h.mutate(v)
		if err := c.Put(tx, v); err != nil || h.rng.IntN(2) == 0 {
			return err
		}
		return p.tasks.Put(tx, &task{ID: id, Votes: int32(h.rng.IntN(9))})
	})
}
