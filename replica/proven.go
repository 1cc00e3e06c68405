package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/evidence"
	"github.com/stoatdb/stoat/replica/internal/seal"
)

// An act that a checkpoint covers outlives the entries around it. Its chain and its seal go with
// these, so before they are pruned, a proof run is stored of it: see package evidence. It convinces
// replicas that start with the checkpoint that the act is by the device that it is said to be by.

// check verifies a proof run.
func (s *Space) check(run *evidence.Run) (*evidence.Proven, error) {
	p, err := run.Check(s.id, func(device [32]byte, at *entry.Place, sig *[seal.Size]byte) error {
		return s.checkSeal(device, at, sig)
	})
	if err != nil && !errors.Is(err, ErrNewer) {
		err = invalid("a proof run: %w", err)
	}
	return p, err
}

// read is check for a proof run whose seal was checked before.
func (s *Space) read(run *evidence.Run) (*evidence.Proven, error) {
	p, err := run.Check(s.id, func([32]byte, *entry.Place, *[seal.Size]byte) error { return nil })
	if err != nil && !errors.Is(err, ErrNewer) {
		err = invalid("a proof run: %w", err)
	}
	return p, err
}

// eachEvidence calls fn with the stored proof runs, by log and seq.
func (t *txn) eachEvidence(within stoat.Range, fn func(at spot, run *evidence.Run) error) error {
	for key, p := range t.meta.Scan(within) {
		at, err := spotOf(key[len(prefixEvidence):])
		var run *evidence.Run
		if err == nil {
			run, err = evidence.Parse(p)
		}
		if err == nil && run.First != at.seq {
			err = stoat.ErrCorrupt
		}
		if err != nil {
			return fmt.Errorf("the proof run of entry %d of log %d: %w", at.seq, at.log, err)
		}
		if err := fn(at, run); err != nil {
			return err
		}
	}
	return t.tx.Err()
}

// keepEvidence stores proof runs of acts of a log, before the entries up to an end are pruned.
func (t *txn) keepEvidence(log uint32, acts []uint64, end uint64) error {
	last := uint64(0) // the end of what is proven
	within := stoat.Prefix(keyed(nil, prefixEvidence, log))
	err := t.eachEvidence(within, func(at spot, run *evidence.Run) error {
		last = max(last, at.seq+uint64(len(run.Entries)))
		return nil
	})
	if err != nil {
		return err
	}
	h, err := t.head(log)
	if err != nil {
		return err
	}
	for _, seq := range slices.Sorted(slices.Values(acts)) {
		if seq < last || seq >= end {
			continue
		}
		run, err := t.evidenceOf(h, seq)
		if err != nil {
			return err
		}
		key := entryKey(nil, prefixEvidence, log, seq)
		if err := t.meta.Put(key, run.Append(nil)); err != nil {
			return err
		}
		last = seq + uint64(len(run.Entries))
	}
	return nil
}

// evidenceOf makes the proof run that begins with an act.
func (t *txn) evidenceOf(h *head, seq uint64) (*evidence.Run, error) {
	r, err := t.runFrom(h, seq)
	if err != nil {
		return nil, err
	}
	genesis, err := t.sent(h.number, 0)
	if err != nil {
		return nil, err
	}
	run := &evidence.Run{Genesis: bytes.Clone(genesis), First: seq, Seal: r.seal}
	if run.Prev, err = t.hashOf(h.number, seq-1); err != nil {
		return nil, err
	}
	for _, stored := range r.entries {
		withheld, err := evidence.Withhold(stored)
		if err != nil {
			return nil, fmt.Errorf("log %s: %w: %w", h.id, err, stoat.ErrCorrupt)
		}
		run.Entries = append(run.Entries, withheld)
	}
	return run, nil
}

// verifyEvidence checks the proof runs, and that there is one for each act whose predecessor was
// pruned. It returns the first problem.
func (t *txn) verifyEvidence(ctx context.Context) error {
	proven := map[spot]entry.Hash{}
	within := stoat.Prefix([]byte(prefixEvidence))
	err := t.eachEvidence(within, func(at spot, run *evidence.Run) error {
		h, err := t.head(at.log)
		if err != nil {
			return err
		}
		p, err := t.space.check(run)
		if err == nil && p.Log != h.id {
			err = errors.New("it is of another log")
		}
		if err != nil {
			return fmt.Errorf("log %s, entry %d: %w: %w", h.id, at.seq, err, stoat.ErrCorrupt)
		}
		for i := range p.Acts {
			proven[spot{at.log, p.Acts[i].At.Seq}] = p.Acts[i].Hash
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	return t.eachAct(func(at spot) error {
		_, err := t.kept(spot{at.log, at.seq - 1})
		if !errors.Is(err, ErrPruned) {
			return err
		}
		hash, err := t.hashOf(at.log, at.seq)
		if err == nil && proven[at] != hash {
			err = fmt.Errorf("log %d, entry %d: its proof run is missing: %w", at.log, at.seq,
				stoat.ErrCorrupt)
		}
		return err
	})
}
