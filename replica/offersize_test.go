package replica

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// offerLength returns how many bytes the offer of a replica has; 0 if it has none.
func (p *peer) offerLength() (n int) {
	p.t.Helper()
	must(p.t, endpoint{p.space}.view(func(t *txn) error {
		o, err := t.offering()
		if err != nil || o == nil {
			return err
		}
		given, err := t.give(o)
		if err == nil {
			n = len(given.Append(nil))
		}
		return err
	}))
	return n
}

// From every checkpoint that is made, a new replica starts, by a session and by a file. One from
// which none could is refused, the error says what to do, and nothing is written.
func TestCheckpoint_canBeStartedFrom(t *testing.T) {
	for seed, c := range []struct{ limit, grants, records int }{
		{12 << 10, 8, 8}, {32 << 10, 64, 2}, {6 << 10, 1, 20},
	} {
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		limit := c.limit
		p := newPeer(t, nil)
		p.space.offerMax = limit
		reader := newGuest(t, p)
		for round, refused := 0, false; !refused; round++ {
			if round == 14 {
				t.Fatalf("seed %d: nothing is refused", seed)
			}
			p.grow(rng, reader, c.grants, c.records)
			before := p.everything()[p.logID()]
			err := p.db.Update(func(tx *stoat.Tx) error {
				err := p.space.Checkpoint(tx)
				if refused = errors.Is(err, stoat.ErrTooLarge); refused {
					if !strings.Contains(err.Error(), "delete records") {
						t.Errorf("seed %d: %v", seed, err)
					}
					return nil // the transaction goes on
				}
				return err
			})
			must(t, err)
			if refused {
				if after := p.everything()[p.logID()]; after != before {
					t.Errorf("seed %d: %d entries were written", seed, after-before)
				}
				break
			}
			p.grow(rng, reader, c.grants, c.records) // it is sealed with what follows
			must(t, p.space.Seal())
			must(t, p.space.Prune())
			if n := p.offerLength(); n == 0 || n > limit {
				t.Fatalf("seed %d: an offer of %d bytes", seed, n)
			}
			p.startBoth(limit)
		}
		if n := p.offerLength(); n < limit/3 {
			t.Errorf("seed %d: a checkpoint is refused when the last offer has %d bytes", seed, n)
		}
		must(t, p.verify())
	}
}

// grow makes some grants, and stores some large records, a part of which is sealed.
func (p *peer) grow(rng *rand.Rand, to *peer, grants, records int) {
	for range rng.IntN(grants) {
		p.grant(to, Write, In("tasks").Prefix(fmt.Appendf(nil, "%0*d", rng.IntN(300), 1)))
	}
	if rng.IntN(2) == 0 {
		must(p.t, p.space.Seal())
	}
	p.update(func(tx *stoat.Tx) error {
		for range rng.IntN(records) {
			v := task{ID: rng.Int64(), Title: strings.Repeat("x", 50<<10)} // a chunk
			if err := p.tasks.Put(tx, &v); err != nil {
				return err
			}
		}
		return nil
	})
}

// startBoth fails the test unless new replicas start from the checkpoint, by a session and a file.
func (p *peer) startBoth(offerMax int) {
	p.t.Helper()
	for _, byFile := range []bool{false, true} {
		late := newPeer(p.t, p)
		late.space.offerMax = offerMax
		if byFile {
			must(p.t, late.load(p.export(nil)))
		} else {
			meet(p.t, p, late)
		}
		if late.covered() == nil {
			p.t.Fatal("it has not started from the checkpoint")
		}
		agree(p.t, p, late)
		late.close()
	}
}

// What is bounded before a checkpoint is issued is not exceeded by what is sealed with it, whether
// that is before or behind it.
func TestCheckpoint_boundsItsProofs(t *testing.T) {
	for _, open := range []int{0, 1, 40, 300} {
		p := newPeer(t, nil)
		guest := newGuest(t, p)
		p.grant(guest, Write)
		must(t, p.space.Seal())
		for n := range open {
			p.grant(guest, Write, In(fmt.Sprint("a collection ", n)))
			p.put(task{ID: int64(n)})
		}
		bound := 0
		p.inTx(func(t *txn) (err error) {
			if bound, err = t.proofSize(&entry.Checkpoint{}, nil); err == nil {
				err = t.makeCheckpoint()
			}
			return err
		})
		for n := range 40 {
			p.grant(guest, Write, In(fmt.Sprint("another collection ", n)))
		}
		must(t, p.space.Seal())
		proofs := 0
		must(t, endpoint{p.space}.view(func(t *txn) error {
			o, err := t.offering()
			if err != nil {
				return err
			}
			bound += len((&entry.Act{Checkpoint: o.act}).Append(nil))
			given, err := t.give(o)
			for _, run := range given.Evidence {
				proofs += len(run)
			}
			return err
		}))
		if proofs > bound || proofs < bound/2-2*checkpointRoom {
			t.Errorf("%d open acts: the proofs take %d bytes, and the bound is %d", open, proofs, bound)
		}
	}
}
