package replica

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/session"
)

// offered returns what a replica offers to another one.
func (p *peer) offered(to *peer) *session.Offer {
	p.t.Helper()
	o, reason, err := endpoint{p.space}.Offer(to.reader())
	must(p.t, errors.Join(reason, err))
	if o == nil {
		p.t.Fatal("there is no checkpoint to start with")
	}
	o, err = session.ParseOffer(o.Append(nil)) // which the test may change
	must(p.t, err)
	return o
}

// An offer that is not that of its checkpoint, or is not proven, is refused, and a session with an
// honest peer then starts the replica.
func TestAttack16_offerThatIsForged(t *testing.T) {
	a, _, _ := prunedPeers(t)
	other := newPeer(t, nil)
	other.put(task{ID: 1})
	must(t, other.checkpoint())
	must(t, other.space.Seal())
	for name, alter := range map[string]func(o, foreign *session.Offer){
		"no proof":           func(o, _ *session.Offer) { o.Evidence = nil },
		"another checkpoint": func(o, _ *session.Offer) { o.Checkpoint[0] ^= 1 },
		"a broken seal": func(o, _ *session.Offer) {
			run := o.Evidence[0]
			run[len(run)-1] ^= 1
		},
		"of another space": func(o, foreign *session.Offer) {
			o.Evidence[0], o.Checkpoint = foreign.Evidence[0], foreign.Checkpoint
		},
		"a swapped chunk":   func(o, _ *session.Offer) { o.Trees[1][0][0] ^= 1 },
		"a missing log":     func(o, _ *session.Offer) { o.Trees[0] = o.Trees[0][1:] },
		"a missing subtree": func(o, _ *session.Offer) { o.Trees = o.Trees[:1] },
		"endless chunks": func(o, _ *session.Offer) {
			o.Trees[1] = append(o.Trees[1], o.Trees[1]...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			victim := newPeer(t, a)
			o := a.offered(victim)
			alter(o, other.offered(victim))
			_, reason, err := endpoint{victim.space}.Begin(o, a.space.device.ID())
			if reason != nil || err == nil {
				t.Errorf("got %v, %v", reason, err)
			}
			meet(t, a, victim)
			agree(t, a, victim)
		})
	}
}

// A checkpoint by a device without the right to make it is no beginning, even if it is sealed.
func TestAttack16_startWithoutTheRight(t *testing.T) {
	root := newPeer(t, nil)
	guest := newGuest(t, root)
	root.grant(guest, Write)
	root.put(task{ID: 1})
	meet(t, root, guest)
	guest.put(task{ID: 2})
	meet(t, root, guest)
	must(t, root.checkpoint())
	must(t, root.space.Seal())
	guest.forge(func(*entry.Checkpoint) {})
	must(t, guest.space.Seal())
	victim := newPeer(t, root)
	o := root.offered(victim)
	guest.inTx(func(tr *txn) error {
		h, err := tr.ownHead()
		if err != nil {
			return err
		}
		run, err := tr.evidenceOf(h, h.next-1)
		if err == nil {
			o.Evidence[0] = run.Append(nil)
			o.Checkpoint = h.hash
		}
		return err
	})
	_, _, err := endpoint{victim.space}.Begin(o, root.space.device.ID())
	if !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

// A replica that knows a checkpoint does not go back to an older one.
func TestAttack16_olderCheckpoint(t *testing.T) {
	a := newPeer(t, nil)
	a.put(task{ID: 1})
	must(t, a.checkpoint())
	must(t, a.space.Seal())
	begun, late := newPeer(t, a), newPeer(t, a)
	old := a.offered(late)
	a.put(task{ID: 80})
	must(t, a.checkpoint())
	must(t, a.space.Seal())
	_, reason, err := endpoint{begun.space}.Begin(a.offered(begun), DeviceID{})
	must(t, errors.Join(reason, err))
	startWith(t, a, late)
	for _, p := range []*peer{begun, late} {
		_, reason, err := endpoint{p.space}.Begin(old, DeviceID{})
		if err != nil || !errors.Is(reason, errOlder) {
			t.Errorf("got %v, %v", reason, err)
		}
	}
	agree(t, a, late)
}

// bulky returns a replica that has pruned, with a state of some megabytes.
func bulky(t *testing.T) *peer {
	t.Helper()
	a := newPeer(t, nil)
	random := rand.NewChaCha8([32]byte{5})
	for id := range int64(50) {
		text := make([]byte, 48<<10)
		_, _ = random.Read(text)
		for i := range text {
			text[i] = 32 + text[i]%64
		}
		a.put(task{ID: id, Note: string(text)})
	}
	must(t, a.checkpoint())
	must(t, a.space.Seal())
	must(t, a.space.Prune())
	return a
}

// A start that is cut off shows nothing of the state, keeps what was stored, says in the status how
// far it is, and the next session takes the rest only.
func TestStart_goesOnAfterACut(t *testing.T) {
	a := bulky(t)
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	resumed := false
	for range 6 {
		n := rng.IntN(2_600_000)
		c := newPeer(t, a)
		x, y := net.Pipe()
		done := make(chan error, 1)
		go func() { done <- Sync(context.Background(), a.space, &cut{x, n}, once) }()
		err := Sync(context.Background(), c.space, y, once)
		_ = errors.Join(err, <-done) // the cut may come behind the end
		first := c.startOf()
		if first != nil && c.get(1) != nil {
			t.Errorf("seed %d: half of the state shows after %d bytes", seed, n)
		}
		lacks := -1
		x, y = net.Pipe()
		go func() { done <- Sync(context.Background(), a.space, x, once) }()
		err = Sync(context.Background(), c.space, y, &SyncOptions{Once: true,
			OnStatus: func(s SyncStatus) { lacks = max(lacks, int(s.ChunksLacking)) }})
		must(t, errors.Join(err, <-done))
		if first != nil && lacks != first.Chunks-first.Stored {
			t.Errorf("seed %d: after %d bytes, %d chunks are taken, with %+v", seed, n, lacks, first)
		}
		resumed = resumed || first != nil && first.Stored > 0
		if c.startOf() != nil {
			t.Error("it still starts")
		}
		agree(t, a, c)
		must(t, c.verify())
		must(t, c.db.Close())
	}
	t.Logf("seed %d; resumed: %t", seed, resumed)
}

// startOf returns the start from a checkpoint as the status has it.
func (p *peer) startOf() (st *Start) {
	p.inTx(func(t *txn) error {
		now, err := p.space.Status(t.tx)
		if err == nil {
			st = now.Start
		}
		return err
	})
	return st
}

// goBy makes a replica go by its last checkpoint alone.
func (p *peer) goBy() {
	p.t.Helper()
	must(p.t, p.space.Seal())
	must(p.t, p.space.inUpdate(func(t *txn) error {
		all, err := t.candidates()
		for _, c := range all {
			next, err := t.horizonAt(c, nil)
			if err == nil && next == nil {
				err = errors.New("the checkpoint is not valid")
			}
			if err != nil {
				return err
			}
			return t.advance(c, next)
		}
		return err
	}))
}

// A replica that knows of a revocation does not start with a checkpoint that the revoked device has
// made behind it.
func TestAttack16_checkpointOfARevokedDevice(t *testing.T) {
	root := newPeer(t, nil)
	server := newGuest(t, root)
	root.grant(server, Write|Checkpoint)
	other, victim := newPeer(t, root), newPeer(t, root)
	meet(t, root, other)
	root.put(task{ID: 1})
	meet(t, root, server)
	other.update(func(tx *stoat.Tx) error { return other.space.Revoke(tx, server.space.device.ID()) })
	meet(t, other, victim) // which lacks the record
	server.put(task{ID: 3, Title: "forged"})
	meet(t, root, server)
	root.put(task{ID: 4}) // has seen that
	meet(t, root, server)
	server.forge(func(*entry.Checkpoint) {})
	server.goBy()
	_, reason, err := endpoint{victim.space}.Begin(server.offered(victim), DeviceID{})
	must(t, err)
	if reason == nil || errors.Is(reason, session.ErrNeedless) {
		t.Fatalf("got %v", reason)
	}
	meet(t, other, root)
	meet(t, root, victim)
	agree(t, root, victim)
}

// A checkpoint with a time to come must wait: a replica that starts with it would write entries
// that wait everywhere.
func TestAttack10_checkpointThatIsAhead(t *testing.T) {
	a := newPeer(t, nil)
	victim := newPeer(t, a)
	a.now = a.now.Add(48 * time.Hour)
	a.put(task{ID: 1})
	must(t, a.checkpoint())
	must(t, a.space.Seal())
	o := a.offered(victim)
	_, reason, err := endpoint{victim.space}.Begin(o, DeviceID{})
	if err != nil || !errors.Is(reason, errCheckpointAhead) {
		t.Errorf("got %v, %v", reason, err)
	}
	victim.now = a.now
	_, reason, err = endpoint{victim.space}.Begin(o, DeviceID{})
	must(t, errors.Join(reason, err))
}
