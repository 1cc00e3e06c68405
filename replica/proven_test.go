package replica

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stoatdb/stoat"
)

// verify checks everything that is stored.
func (p *peer) verify() error {
	p.t.Helper()
	return p.db.View(func(tx *stoat.Tx) error {
		return p.space.Verify(context.Background(), tx, func(uint64) {})
	})
}

// An act whose neighbours were pruned is still proven, and Verify notices if it is not.
func TestPrune_keepsEvidence(t *testing.T) {
	a := newPeer(t, nil)
	guest := newGuest(t, a)
	for round := range 3 {
		a.put(task{ID: 1, Title: "before"})
		a.grant(guest, Write)
		a.put(task{ID: 1, Title: "behind"})
		a.put(task{ID: 2, Title: "more"})
		must(t, a.checkpoint())
		must(t, a.space.Seal())
		must(t, a.space.Prune())
		if err := a.verify(); err != nil {
			t.Fatalf("after round %d: %v", round, err)
		}
	}
	if entries, _, _, _, _ := a.counted(); entries > 12 {
		t.Errorf("%d entries are left", entries)
	}
	a.update(func(tx *stoat.Tx) error {
		tr, err := a.space.in(tx)
		if err != nil {
			return err
		}
		for key, p := range tr.meta.Scan(stoat.Prefix([]byte(prefixEvidence))) {
			p = bytes.Clone(p)
			p[len(p)-70] ^= 1
			return tr.meta.Put(bytes.Clone(key), p)
		}
		t.Error("there is no evidence")
		return nil
	})
	if err := a.verify(); !errors.Is(err, stoat.ErrCorrupt) {
		t.Errorf("damaged evidence: %v", err)
	}
	a.update(func(tx *stoat.Tx) error {
		tr, err := a.space.in(tx)
		if err != nil {
			return err
		}
		return tr.meta.DeleteRange(stoat.Prefix([]byte(prefixEvidence)))
	})
	if err := a.verify(); !errors.Is(err, stoat.ErrCorrupt) {
		t.Errorf("missing evidence: %v", err)
	}
}
