package replica

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"testing"
	"time"
)

// Replicas that start with checkpoints, prune, and come back after they were away for long have the
// state that the model has of all entries.
func TestHistoryOfStarts_equalsTheModel(t *testing.T) {
	t.Parallel()
	count := &starts{}
	eachHistory(t, func(seed uint64) {
		h := &history{t: t, rng: rand.New(rand.NewPCG(seed, 29))}
		h.runStarts(count)
	})
	t.Logf("%d replicas joined by a checkpoint, %d came back by one", count.joined, count.rejoined)
}

// starts counts what happens in histories.
type starts struct{ joined, rejoined int }

// runStarts runs a history whose first replica is given all entries as they are made, and never
// prunes.
func (h *history) runStarts(count *starts) {
	h.peers = []*peer{newPeer(h.t, nil)}
	for range 2 + h.rng.IntN(3) {
		h.peers = append(h.peers, newPeer(h.t, h.peers[0]))
	}
	for range 20 + h.rng.IntN(60) {
		p := h.peers[1+h.rng.IntN(len(h.peers)-1)]
		switch n := h.rng.IntN(16); {
		case n < 6:
			h.write(h.any())
		case n < 10:
			if q := h.any(); q != p {
				h.meetStarting(p, q, count)
			}
		case n < 11:
			p.now = noon.Add(time.Duration(h.rng.IntN(240)-120) * time.Second)
		case n < 12:
			h.compare(h.peers[0])
		case n < 13:
			h.checkpointBySecond()
		case n < 14:
			h.era(count)
		case n < 15:
			h.prune(p)
		default:
			if len(h.peers) < 8 {
				h.join(p, count)
			}
		}
	}
	for range 3 {
		for _, p := range h.peers {
			p.now = noon.Add(time.Hour)
			h.archive(p)
		}
		for _, p := range h.peers[1:] {
			h.meetStarting(h.peers[0], p, count)
		}
	}
	if h.peers[0].started() {
		h.t.Fatal("the first replica lacks entries")
	}
	h.compare(h.peers[0])
	agree(h.t, h.peers...)
	for _, p := range h.peers {
		must(h.t, p.verify())
		p.close()
	}
}

// checkpointBySecond makes a checkpoint. One replica makes them all, so that they wait for nobody.
func (h *history) checkpointBySecond() {
	if err := h.peers[1].checkpoint(); !errors.Is(err, ErrNoCheckpoint) {
		must(h.t, err)
	}
}

// era brings most replicas together, which make a checkpoint and prune while some others are away
// and write.
func (h *history) era(count *starts) {
	var here, away []*peer
	for i, p := range h.peers[1:] {
		if i == 0 || h.rng.IntN(2) == 0 {
			here = append(here, p)
		} else {
			away = append(away, p)
		}
	}
	gather := func() {
		for _, p := range here {
			h.write(p)
		}
		for range 2 {
			for _, p := range here[1:] {
				h.meetStarting(here[0], p, count)
			}
		}
	}
	gather()
	h.checkpointBySecond()
	gather()
	for _, p := range away {
		h.write(p)
	}
	by := here[h.rng.IntN(len(here))]
	h.prune(by)
	if len(away) > 0 && h.rng.IntN(2) == 0 {
		h.meetStarting(by, away[0], count)
	}
}

func (h *history) prune(p *peer) {
	h.archive(p)
	if err := p.space.Prune(); !errors.Is(err, ErrNoCheckpoint) {
		must(h.t, err)
	}
}

// archive gives the first replica the entries of another one.
func (h *history) archive(p *peer) {
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

// meetStarting brings two replicas together. One may start with the checkpoint of the other.
func (h *history) meetStarting(p, q *peer, count *starts) {
	h.t.Helper()
	h.archive(p)
	h.archive(q)
	before := [2]bool{p.started(), q.started()}
	meet(h.t, p, q)
	for i, p := range []*peer{p, q} {
		if !before[i] && p.started() {
			count.rejoined++
		}
	}
	h.archive(p)
	h.archive(q)
}

// join adds a replica that starts with the checkpoint of another one, if that has one.
func (h *history) join(from *peer, count *starts) {
	h.t.Helper()
	h.archive(from)
	p := newPeer(h.t, h.peers[0])
	h.peers = append(h.peers, p)
	x, y := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- Sync(context.Background(), from.space, y, once) }()
	err := Sync(context.Background(), p.space, x, &SyncOptions{Once: true, FromCheckpoint: true})
	must(h.t, errors.Join(err, <-done))
	if p.started() {
		count.joined++
	}
	h.archive(p)
}

// started reports whether a replica lacks entries that its horizon covers.
func (p *peer) started() (has bool) {
	p.inTx(func(t *txn) error {
		has = errors.Is(t.unpruned(), ErrPruned)
		return nil
	})
	return has
}
