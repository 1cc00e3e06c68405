package replica

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
)

// Partial replicas are a kind of peer: whatever happens, and whichever collections each of them
// holds when, they have the roots of the full ones in what they hold; and all have the same root
// once they hold everything.
func TestHistoryOfPartialReplicas_isTheProjection(t *testing.T) {
	t.Parallel()
	n := *histories
	if testing.Short() {
		n = min(n, 20)
	}
	count := partialStarts{}
	for seed := *historySeed; seed < *historySeed+n; seed++ {
		h := &history{t: t, rng: rand.New(rand.NewPCG(seed, 23))}
		h.runPartial(&count)
		if t.Failed() {
			t.Fatalf("repeat it with -run TestHistoryOfPartial -seed %d -histories 1", seed)
		}
	}
	t.Logf("trust: %d histories of replicas, %d pruned, %d started, %d were filled, %d found no "+
		"checkpoint", n, count.pruned, count.started, count.filled, count.none)
}

// partialStarts counts what happens in histories of partial replicas.
type partialStarts struct{ pruned, started, filled, none int }

// runPartial runs a history whose first replica holds everything, is given all entries as they are
// made, and never prunes.
func (h *history) runPartial(count *partialStarts) {
	h.peers = []*peer{newPeer(h.t, nil)}
	h.rights = h.rng.IntN(2) == 0
	for range 2 + h.rng.IntN(4) {
		h.addPartial()
	}
	prunes := h.rng.IntN(3) > 0
	for range 20 + h.rng.IntN(50) {
		p := h.any()
		n := h.rng.IntN(18)
		if h.rights && n < 2 {
			h.actPartial(p)
		}
		for _, q := range h.peers {
			h.archiveOwn(q)
		}
		switch {
		case n >= 16:
			if prunes && n == 17 && h.rng.IntN(3) == 0 {
				h.eraPartial(count)
			}
			if prunes && p != h.peers[0] {
				h.prunePartial(p, count)
			}
			if prunes && n == 17 && len(h.peers) < 8 {
				h.joinPartial(p, count)
			}
		case n < 4:
			h.writeHeld(p, func() { h.write(p) }, "tasks")
		case n < 8:
			h.writeHeld(p, func() { h.pay(p) }, "tasks", "salaries")
		case n < 12:
			if q := h.any(); q != p {
				h.meetPartial(p, q, count)
			}
		case n < 13:
			h.checkpointByFirst()
		case n < 14:
			p.now = p.now.Add(time.Duration(h.rng.IntN(240)-120) * time.Second)
		case p != h.peers[0]: // the first one is full
			p.reopen(h.holdings())
		}
		h.checkLacks()
	}
	h.gossip(count)
	h.compareCollections()
	for _, p := range h.peers[1:] {
		p.reopen([]string{})
		h.peers[0].grant(p, Write)
	}
	h.gossip(count)
	whole := slices.DeleteFunc(slices.Clone(h.peers), func(p *peer) bool {
		return h.repeats() && p.db.View(p.space.inWhole) != nil
	})
	agree(h.t, whole...)
	for _, p := range whole[1:] {
		if got, want := all(p), all(whole[0]); !reflect.DeepEqual(got, want) {
			h.t.Errorf("the tasks are %v instead of %v", got, want)
		}
		for id := range int64(4) {
			if got, want := p.salary(id), whole[0].salary(id); !reflect.DeepEqual(got, want) {
				h.t.Errorf("salary %d is %+v instead of %+v", id, got, want)
			}
		}
	}
	h.compare(h.peers[0])
	for _, p := range h.peers {
		p.close()
	}
}

// compareCollections compares what replicas hold and may read with what the first one has.
func (h *history) compareCollections() {
	for _, p := range h.peers[1:] {
		for _, name := range []string{"tasks", "salaries"} {
			got, err := p.collectionRoot(name)
			want, err2 := h.peers[0].collectionRoot(name)
			if errors.Is(err, ErrNotHeld) && h.repeats() {
				continue
			}
			if holds := p.holdsNow(name); holds && !h.readsIn(p, name) {
				continue // what was read stays, as it was
			} else if holds && (err != nil || got != want) {
				h.t.Errorf("the root of %q is %x, not %x: %v", name, got, want, err)
			} else if !holds && !errors.Is(err, ErrNotHeld) {
				h.t.Errorf("it has the root %x of %q: %v", got, name, err)
			}
			must(h.t, err2)
		}
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
func (h *history) gossip(count *partialStarts) {
	for range 3 {
		for _, p := range h.peers {
			p.now = noon.Add(time.Hour)
			h.archiveOwn(p)
			if p != h.peers[0] {
				h.meetPartial(p, h.peers[0], count)
			}
		}
	}
	if h.peers[0].started() {
		h.t.Fatal("the first replica lacks entries")
	}
}

// archiveOwn gives the first replica the entries that another one has made.
func (h *history) archiveOwn(p *peer) {
	h.t.Helper()
	if p == h.peers[0] {
		return
	}
	must(h.t, p.space.Seal())
	has := h.peers[0].everything()
	var runs []*run
	p.inTx(func(t *txn) error {
		heads, err := t.sealedHeads()
		for _, head := range heads {
			if head.device != p.space.device.ID() {
				continue
			}
			for seq := has[LogID(head.id)]; seq < head.sealed && err == nil; {
				var r *run
				if r, err = t.runFrom(head, seq); err == nil {
					runs, seq = append(runs, r), r.first+uint64(len(r.entries))
				}
			}
		}
		return err
	})
	must(h.t, h.peers[0].space.apply(runs))
}

// meetPartial brings two replicas together. One that lacks what the other one has pruned starts
// with its checkpoint, if that has the collections.
func (h *history) meetPartial(p, q *peer, count *partialStarts) {
	h.t.Helper()
	both := []*peer{p, q}
	var before [2]bool
	var lacked [2]int
	for i, p := range both {
		before[i], lacked[i] = p.started(), len(p.withheld())
	}
	_, _, here, there := sessionOf(h.t, p.space, q.space)
	err := errors.Join(p.unlessAhead(q, here), q.unlessAhead(p, there))
	switch {
	case errors.Is(err, ErrPruned) && p != h.peers[0] && q != h.peers[0]:
		count.none++
	case errors.Is(err, ErrNotTaken) && errors.Is(err, ErrNotHeld):
		// One holds all, takes nothing less, and gets it from another one.
	case err != nil && !(h.rights && errors.Is(err, ErrNotAllowed)):
		h.t.Error(err)
	}
	for i, p := range both {
		if !before[i] && p.started() {
			count.started++
		} else if before[i] && len(p.withheld()) < lacked[i] {
			count.filled++
		}
		h.archiveOwn(p)
	}
}

// eraPartial brings all replicas together, which go by a new checkpoint then.
func (h *history) eraPartial(count *partialStarts) {
	for range 2 {
		h.gossip(count)
		for _, p := range h.peers {
			h.writeHeld(p, func() { h.write(p) }, "tasks")
		}
		h.checkpointByFirst()
	}
	h.gossip(count)
}

func (h *history) checkpointByFirst() {
	if err := h.peers[0].checkpoint(); !errors.Is(err, ErrNoCheckpoint) {
		must(h.t, err)
	}
}

// joinPartial adds a replica that holds something, and first meets another one.
func (h *history) joinPartial(from *peer, count *partialStarts) {
	p := h.addPartial()
	p.reopen(h.holdings())
	h.meetPartial(p, from, count)
}

// addPartial adds a replica, which has some rights.
func (h *history) addPartial() *peer {
	if h.rights && h.rng.IntN(2) == 0 {
		p := newGuest(h.t, h.peers[0])
		h.peers = append(h.peers, p)
		h.actPartial(p)
		return p
	}
	p := newPeer(h.t, h.peers[0])
	h.peers = append(h.peers, p)
	return p
}

// actPartial grants something to a replica, or revokes it.
func (h *history) actPartial(p *peer) {
	a := h.peers[0]
	all := [][]Scope{nil, {In("tasks")}, {In("salaries")}}[h.rng.IntN(3)]
	switch h.rng.IntN(4) {
	case 0:
		a.grant(p, Write, all...)
	case 1, 2:
		a.grant(p, Read, all...)
	default:
		a.grant(p, Read, all...)
		a.update(func(tx *stoat.Tx) error { return a.space.Revoke(tx, p.space.device.ID()) })
		a.grant(p, Relay) // so that sessions go on
	}
}

// readsIn reports whether a replica may read a collection, as the first one knows.
func (h *history) readsIn(p *peer, name string) (may bool) {
	a := h.peers[0]
	must(h.t, a.db.View(func(tx *stoat.Tx) (err error) {
		may, err = a.space.MayReadCollection(tx, p.space.device.ID(), name)
		return err
	}))
	return may
}

// holdings returns what a replica may hold.
func (h *history) holdings() []string {
	return [][]string{{"tasks"}, {"salaries"}, {"tasks", "salaries"}, {}}[h.rng.IntN(4)]
}

// prunePartial prunes a replica, unless it lacks what it wants.
func (h *history) prunePartial(p *peer, count *partialStarts) {
	if err := p.space.Prune(); err == nil {
		count.pruned++
	} else if !errors.Is(err, ErrNotHeld) {
		h.t.Error(err)
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
	err := p.db.Update(func(tx *stoat.Tx) error {
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
	if err != nil && !(h.rights && errors.Is(err, ErrNotAllowed)) {
		h.t.Error(err)
	}
}
