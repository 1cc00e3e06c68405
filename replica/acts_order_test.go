package replica

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stoatdb/stoat"
)

// Three logs, of two roots with a quorum of 2 and of a device that is none, have three entries
// each: grants, revocations, endorsements, writes and lies. They arrive at a replica in every
// order, also before what they follow, and always mean the same: what the model says.
func TestActs_inEveryOrder(t *testing.T) {
	t.Parallel()
	scenarios, step := uint64(4), 1
	if testing.Short() {
		scenarios, step = 3, 60
	}
	for seed := range scenarios {
		h := &history{t: t, rng: rand.New(rand.NewPCG(seed, 18)), rights: true}
		logs := h.threeLogs()
		n := 0
		eachOrder(logs, func(order []*run) {
			if n++; n%step == 0 {
				arrive(t, h.peers[0], order)
			}
		})
		if n != 1680 {
			t.Errorf("%d orders", n)
		}
		if t.Failed() {
			t.Fatalf("scenario %d", seed)
		}
	}
}

// threeLogs makes the logs at three replicas, the first of which has them all in the end.
func (h *history) threeLogs() [][]*run {
	h.t.Helper()
	roots := testRoots()[4:5] // the first replica that joins
	founder, err := LoadDevice(append([]byte{1}, make([]byte, 31)...))
	if err != nil {
		h.t.Fatal(err)
	}
	a := newPeerOf(h.t, nil, append(roots, founder.ID()), 2)
	h.peers = []*peer{a, newPeer(h.t, a), newPeer(h.t, a)}
	for round := range 3 {
		for _, p := range h.peers {
			h.oneEntry(p)
			if err := p.space.Seal(); err != nil {
				h.t.Fatal(err)
			}
		}
		meet(h.t, h.peers[round], h.peers[(round+1)%3])
	}
	for _, p := range []*peer{h.peers[1], h.peers[2], h.peers[1]} {
		meet(h.t, a, p)
	}
	h.compare(a)
	logs := runsOf(h.t, a)
	for _, runs := range logs {
		if len(runs) != 3 {
			h.t.Fatalf("a log has %d runs", len(runs))
		}
	}
	return logs
}

// oneEntry makes a replica write one entry.
func (h *history) oneEntry(p *peer) {
	for {
		before := len(factsOf(p))
		err := p.db.Update(func(tx *stoat.Tx) error {
			n, err := p.space.in(tx)
			if err != nil {
				return err
			}
			if h.rng.IntN(3) == 0 {
				return h.trespass(n)
			}
			return h.oneAct(tx, p, n)
		})
		if err != nil && !errors.Is(err, ErrNotAllowed) && !errors.Is(err, errNoGrant) {
			h.t.Fatal(err)
		}
		if len(factsOf(p)) > before {
			return
		}
	}
}

// eachOrder calls fn with every order of some chains, each of which stays in its own order.
func eachOrder[T any](chains [][]T, fn func(order []T)) {
	next, total := make([]int, len(chains)), 0
	for _, c := range chains {
		total += len(c)
	}
	var visit func(order []T)
	visit = func(order []T) {
		if len(order) == total {
			fn(order)
			return
		}
		for i, c := range chains {
			if next[i] < len(c) {
				x := c[next[i]]
				next[i]++
				visit(append(order[:len(order):len(order)], x))
				next[i]--
			}
		}
	}
	visit(nil)
}
