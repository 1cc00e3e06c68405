package replica

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// checkpointOf returns the last checkpoint, its salts as far as they are here, and the roots that
// whoever guesses the state at the checkpoint computes.
func (p *peer) checkpointOf() (act *entry.Checkpoint, known salts, guess []chunk.Subtree) {
	p.t.Helper()
	p.inTx(func(t *txn) error {
		hz, err := t.horizonOf()
		if err != nil {
			return err
		}
		c, err := t.candidate(hz.at)
		if err != nil {
			return err
		}
		act = c.act
		if known, err = t.saltsOf(c); err == nil {
			guess, err = t.subtreesAt(hz, nil, nil, nil)
		}
		return err
	})
	return act, known, guess
}

// The roots of a checkpoint do not tell whether a guess of a collection's state is right to those
// who may not read it, from the first narrower grant on; who may read it has the salt.
func TestAttack20_guessesContentByTheRootOfACheckpoint(t *testing.T) {
	root := newPeer(t, nil)
	other, relay, reader := newPeer(t, root), newGuest(t, root), newGuestAfter(t, root, 1)
	root.pay(1, secret)
	must(t, root.checkpoint())
	must(t, root.space.Seal())
	act, _, guess := root.checkpointOf()
	if act.Salts != 0 || act.Chunks[1] != guess[1] {
		t.Error("there are salts that hide nothing")
	}
	root.grant(relay, Relay)
	root.grant(reader, Read, In("salaries"))
	must(t, root.checkpoint())
	meet(t, root, other)
	for _, p := range []*peer{relay, reader} {
		root.syncWith(p)
	}
	act, salts, guess := root.checkpointOf()
	if act.Salts != 1 || len(salts) != 2 || bytes.Equal(salts["tasks"], salts["salaries"]) {
		t.Fatalf("the salts are %x, in %d entries", salts, act.Salts)
	}
	for i, s := range act.Chunks {
		if salted := s.Root != guess[i].Root; salted != (s.Collection != "") {
			t.Errorf("subtree %q is salted: %t", s.Collection, salted)
		}
	}
	for p, wanted := range map[*peer]int{root: 2, other: 2, relay: 0, reader: 1} {
		if _, known, _ := p.checkpointOf(); len(known) != wanted {
			t.Errorf("it has %d salts instead of %d", len(known), wanted)
		}
		must(t, p.space.Prune())
		must(t, p.verify())
	}
	if reader.salary(1) == nil {
		t.Error("the reader has no salary")
	}
	before := salts
	root.pay(2, "more")
	must(t, root.checkpoint())
	must(t, root.space.Seal())
	if _, salts, _ = root.checkpointOf(); bytes.Equal(salts["salaries"], before["salaries"]) {
		t.Error("the next checkpoint has the same salts")
	}
}

// Replicas start with a salted checkpoint, give it to others, and hold more of it later.
func TestStart_withSalts(t *testing.T) {
	a := newPeer(t, nil)
	relay, guest := newGuest(t, a), newGuestAfter(t, a, 1)
	a.grant(relay, Relay)
	a.grant(guest, Write, In("tasks"))
	for id := range int64(30) {
		a.pay(id, secret)
	}
	renewPayer(a)
	full, partial := newPeer(t, a), newPartialPeer(t, a, "tasks")
	a.syncWith(full)
	third := newPeer(t, a)
	full.syncWith(third)
	for _, p := range []*peer{full, third} {
		agree(t, a, p)
		must(t, p.verify())
		if !p.started() {
			t.Error("it has not started")
		}
	}
	for _, p := range []*peer{relay, guest, partial} {
		a.syncWith(p)
		if !p.started() || p.has(secret) {
			t.Error("it has not started, or has what it may not read")
		}
		if _, known, _ := p.checkpointOf(); known["salaries"] != nil {
			t.Error("it has a salt of what it does not have")
		}
		must(t, p.verify())
	}
	partial.reopen([]string{})
	third.syncWith(partial)
	agree(t, a, partial)
	must(t, partial.verify())
	last := newPeer(t, a)
	partial.syncWith(last)
	agree(t, a, last)
	file := newPeer(t, a)
	must(t, file.load(partial.export(nil)))
	agree(t, a, file)
}

// A checkpoint whose salts are not there, or others, is of another state.
func TestAttack16_checkpointWithOtherSalts(t *testing.T) {
	for name, alter := range map[string]func(c *entry.Checkpoint, s salts){
		"another": func(_ *entry.Checkpoint, s salts) { s["tasks"][0] ^= 1 },
		"none":    func(_ *entry.Checkpoint, s salts) { delete(s, "tasks") },
	} {
		t.Run(name, func(t *testing.T) {
			a := newPeer(t, nil)
			b, relay := newPeer(t, a), newGuest(t, a)
			a.grant(relay, Relay)
			a.put(task{ID: 1})
			a.pay(1, secret)
			a.inTx(func(tr *txn) error {
				before, next, err := tr.nextHorizon()
				must(t, err)
				act, salts, err := tr.newCheckpoint(before, next)
				if err != nil {
					return err
				}
				alter(act, salts)
				return tr.issueCheckpoint(act, salts)
			})
			agreeAfter(t, a, b)
			if err := b.space.Prune(); !errors.Is(err, ErrMismatch) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// More collections than an entry has parts have salts in several.
func TestCheckpoint_saltsManyCollections(t *testing.T) {
	a := newPeer(t, nil)
	b, relay := newPeer(t, a), newGuest(t, a)
	a.grant(relay, Relay)
	for i := range entry.PartsMax + 3 {
		c, err := Collection[task](a.space, fmt.Sprintf("c%02d", i), nil)
		must(t, err)
		a.update(func(tx *stoat.Tx) error { return c.Put(tx, &task{ID: 1}) })
	}
	must(t, a.checkpoint())
	meet(t, a, b)
	act, salts, _ := b.checkpointOf()
	if act.Salts != 2 || len(salts) != entry.PartsMax+3 {
		t.Errorf("%d salts in %d entries", len(salts), act.Salts)
	}
	must(t, b.space.Prune())
}
