package replica

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/fork"
	"github.com/stoatdb/stoat/replica/internal/seal"
)

// A log forks when two databases write it: a copy of a folder and its original, or a device that
// cheats. Two sealed entries with one number prove it. The proof cuts the log: entries from the
// first that differ on are void, on all replicas, whichever branch they have. Of several proofs of
// a log, the one with the least number counts, so their order does not matter.

// claim is a fork proof that was checked.
type claim struct {
	log   entry.Hash
	proof *fork.Proof
}

// size returns the memory that a claim takes, about.
func (c *claim) size() int { return 256 + len(c.proof.Append(nil)) }

// claimOf checks a fork proof.
func (s *Space) claimOf(p *fork.Proof) (claim, error) {
	log, err := p.Check(s.id, func(device [32]byte, at *entry.Place, sig *[seal.Size]byte) error {
		return s.checkSeal(device, at, sig)
	})
	if err != nil && !errors.Is(err, ErrNewer) {
		err = invalid("a fork proof: %w", err)
	}
	return claim{log, p}, err
}

// voids reports whether an entry of the log is void by a fork proof.
func (h *head) voids(seq uint64) bool { return h.cut > 0 && seq >= h.cut }

// proofOf returns the fork proof that cuts a log, in its encoded form.
func (t *txn) proofOf(h *head) ([]byte, error) {
	p, err := t.meta.Get(keyed(nil, prefixProof, h.number))
	if err != nil {
		return nil, fmt.Errorf("the fork proof of log %s: %w", h.id, err)
	}
	return p, nil
}

// hasProof reports whether there is a proof that a log forks at an entry, or before it.
func (t *txn) hasProof(h *head, first uint64) (bool, error) {
	if h.cut == 0 {
		return false, nil
	}
	stored, err := t.proofOf(h)
	if err != nil {
		return false, err
	}
	p, err := fork.Parse(stored)
	if err != nil {
		return false, fmt.Errorf("the fork proof of log %s: %w: %w", h.id, err, stoat.ErrCorrupt)
	}
	return p.First <= first, nil
}

// knows reports whether there is such a proof already, or one of an earlier fork of its log. It
// looks at no seals.
func (t *txn) knows(p *fork.Proof) (bool, error) {
	genesis, err := entry.Parse(p.Genesis)
	if err != nil {
		return false, invalid("a fork proof: %w", err)
	}
	number, known, err := t.logNumber(genesis.Hash(&entry.Place{Space: t.space.id}))
	if err != nil || !known {
		return false, err
	}
	h, err := t.head(number)
	if err != nil {
		return false, err
	}
	return t.hasProof(h, p.First)
}

// part decides about a run with another entry than the stored one. It returns the log's head if the
// stored entry gave way; otherwise the reason why the run waits, or nothing if it is void.
func (a *incoming) part(t *txn, h *head, v *verified) (_ *head, reason, err error) {
	seq := v.seq()
	if h.voids(seq) {
		reason, err := a.takeVoid(t, h, v)
		return nil, reason, err
	}
	own, err := t.ownNumber()
	if err != nil {
		return nil, nil, err
	}
	if h.number != own || seq < h.sealed {
		return nil, errBranch, nil
	}
	if t.space.device == nil {
		return nil, errNoDevice, nil
	}
	if err := a.keepLatest(t); err != nil {
		return nil, nil, err
	}
	if err := t.leaveLog(seq, seq); err != nil {
		return nil, nil, err
	}
	number, known, err := t.logNumber(v.log)
	if err != nil || !known {
		return &head{id: v.log, device: v.device}, nil, err
	}
	h, err = t.head(number)
	return h, nil, err
}

// takeVoid decides about a run that is void from its next entry on. If it is of this device, a copy
// of the database has written it, and it is issued again here, except acts, which are kept.
func (a *incoming) takeVoid(t *txn, h *head, v *verified) (reason, err error) {
	own, err := t.ownHead()
	if err != nil || t.space.device == nil || h.device != own.device {
		return nil, err
	}
	if own.cut > 0 {
		return errBranch, nil // the new log begins at the end of the transaction
	}
	if err := a.keepLatest(t); err != nil {
		return nil, err
	}
	for ; v.done < len(v.parsed); v.done++ {
		e := v.parsed[v.done]
		o := &orphan{entry.Last{Head: entry.Head{Log: v.log, Seq: v.seq()}, Hash: v.hashes[v.done]}, e}
		if e.Origin != nil {
			o.origin = *e.Origin
		}
		switch e.Kind {
		case entry.KindControl:
			err = t.keepBranchAct(h, v.seq(), v.hashes[v.done], e)
		case entry.KindData:
			err = t.reissueOnce(o)
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// appendVoid stores an entry behind the cut of its log: the seal of entries before the cut may
// depend on its hash. Nothing else of it counts, so nothing is checked.
func (t *txn) appendVoid(h *head, e *entry.Entry, stored []byte, hash entry.Hash) error {
	void := voided{alone: 1<<len(e.Parts) - 1, reason: errForkedAway.Error()}
	if err := t.putVoided(h.number, h.next, voided{}, void); err != nil {
		return err
	}
	value := append(append([]byte{keptHash}, hash[:]...), stored...)
	t.key = entryKey(t.key[:0], "", h.number, h.next)
	if err := t.entries.Put(t.key, value); err != nil {
		return err
	}
	if err := t.indexVoid(h, e); err != nil {
		return err
	}
	h.next, h.hash = h.next+1, hash
	return t.putHead(h)
}

// indexVoid adds an entry behind the cut of its log to the touch index, for [Space.History], if its
// changes can be read.
func (t *txn) indexVoid(h *head, e *entry.Entry) error {
	if err := t.indexTail(h); err != nil {
		return err
	}
	changes, err := parseParts(e)
	if err != nil {
		changes = nil // nobody has checked them
	}
	return t.indexEntry(h, e.Parts, changes)
}

// settleForks cuts the logs that are forked. Then it does what follows for own logs.
func (a *incoming) settleForks(t *txn) error {
	if err := a.findForks(t); err != nil {
		return err
	}
	slices.SortStableFunc(a.claims, func(x, y claim) int { // the least of a log cuts it once
		return cmp.Compare(x.proof.First, y.proof.First)
	})
	for _, c := range a.claims {
		number, known, err := t.logNumber(c.log)
		if err != nil {
			return err
		}
		if !known {
			a.early = append(a.early, c)
			continue
		}
		cut, err := t.applyProof(number, c.proof)
		if err != nil {
			return err
		}
		a.cut = a.cut || cut
	}
	if err := t.settle(); err != nil || !a.cut {
		return err
	}
	return t.leaveLate(nil)
}

// findForks looks for forks of logs with runs that wait: among them, and between them and what is
// stored.
func (a *incoming) findForks(t *txn) error {
	waits := map[*run]bool{}
	logs := map[entry.Hash]bool{}
	for _, w := range a.waiting {
		waits[w.run], logs[w.run.log] = true, true
	}
	var seen map[uint64]branchEntry
	var of entry.Hash
	for _, v := range a.ready { // by log, then by first
		if !logs[v.log] {
			continue
		}
		if seen == nil || of != v.log {
			seen, of = map[uint64]branchEntry{}, v.log
		}
		if waits[v.run] {
			c, err := t.forkOfStored(v)
			if err != nil {
				return err
			}
			if c != nil {
				a.claims = append(a.claims, *c)
			}
		}
		c, err := t.forkAmong(seen, v)
		if err != nil {
			return err
		}
		if c != nil {
			a.claims = append(a.claims, *c)
		}
	}
	return nil
}

// branchEntry is an entry of a verified run.
type branchEntry struct {
	v *verified
	i int
}

// prev returns the hash of the entry before.
func (b branchEntry) prev() entry.Hash {
	if b.i == 0 {
		return b.v.prev
	}
	return b.v.hashes[b.i-1]
}

// side returns the branch from the entry on.
func (b branchEntry) side() fork.Side {
	return fork.Side{Entries: b.v.entries[b.i:], Seal: b.v.seal}
}

// forkAmong returns a claim if a run parts from one of those seen before, and adds it to them.
func (t *txn) forkAmong(seen map[uint64]branchEntry, v *verified) (*claim, error) {
	for i, hash := range v.hashes {
		seq, at := v.first+uint64(i), branchEntry{v, i}
		other, ok := seen[seq]
		switch {
		case !ok:
			seen[seq] = at
		case other.v.hashes[other.i] == hash:
		case other.prev() != at.prev(): // they part before
			return nil, nil
		default:
			return t.claim(v.log, seq, at.prev(), other.side(), at.side())
		}
	}
	return nil, nil
}

// forkOfStored returns a claim if a run parts from what is stored and sealed of its log.
func (t *txn) forkOfStored(v *verified) (*claim, error) {
	number, known, err := t.logNumber(v.log)
	if err != nil || !known {
		return nil, err
	}
	h, err := t.head(number)
	if err != nil {
		return nil, err
	}
	for i := range v.hashes {
		seq := v.first + uint64(i)
		if seq == 0 || seq >= h.sealed || h.voids(seq) {
			continue
		}
		stored, err := t.hashOf(number, seq)
		if err != nil {
			return nil, unlessPruned(err)
		}
		if stored == v.hashes[i] {
			continue
		}
		prev, err := t.hashOf(number, seq-1)
		if err != nil || prev != (branchEntry{v, i}).prev() {
			return nil, unlessPruned(err)
		}
		r, err := t.runFrom(h, seq)
		if err != nil { // what a checkpoint covers counts, whatever forks from it
			return nil, unlessPruned(err)
		}
		return t.claim(v.log, seq, prev, fork.Side{Entries: r.entries, Seal: r.seal},
			branchEntry{v, i}.side())
	}
	return nil, nil
}

// claim makes the proof of a fork. It returns nil if nothing is stored of the log.
func (t *txn) claim(log entry.Hash, first uint64, prev entry.Hash, a, b fork.Side) (*claim, error) {
	number, known, err := t.logNumber(log)
	if err != nil || !known {
		return nil, err
	}
	genesis, err := t.sent(number, 0)
	if err != nil {
		return nil, err
	}
	p, err := fork.New(t.space.id, log, bytes.Clone(genesis), first, prev, [2]fork.Side{a, b})
	if err != nil {
		return nil, fmt.Errorf("the fork of log %s at entry %d: %w", log, first, err)
	}
	return &claim{log, p}, nil
}

// applyProof cuts a log where a checked proof says, unless it is cut there or earlier already. What
// a checkpoint covers counts all the same, and so does the checkpoint. The least proof is kept,
// also if it does not change the cut, so that all replicas pass on the same.
func (t *txn) applyProof(number uint32, p *fork.Proof) (cut bool, err error) {
	h, first, err := t.beyond(number, p.First)
	if err != nil {
		return false, err
	}
	hz, err := t.horizonOf()
	if err != nil {
		return false, err
	}
	if hz != nil && hz.at.log == number && (hz.at.seq <= h.last() || hz.at.seq == first) {
		first = max(first, hz.at.seq+1) // the next checkpoint must follow it
	}
	if cut, err = t.cutAt(h, first, p); err != nil || !cut {
		return cut, err
	}
	if h, err = t.head(number); err != nil || h.sealed == 0 {
		return err == nil, err
	}
	return true, t.grew(h, h.sealed, 0) // so that sessions announce it
}

// cutAt stores a proof, unless it is known, and makes the entries of its log from one on void,
// unless they are.
func (t *txn) cutAt(h *head, first uint64, p *fork.Proof) (cut bool, err error) {
	if known, err := t.hasProof(h, p.First); err != nil || known {
		return false, err
	}
	if err := t.meta.Put(keyed(nil, prefixProof, h.number), p.Append(nil)); err != nil {
		return false, err
	}
	if h.voids(first) {
		return false, nil
	}
	return true, t.cutLog(h, first)
}
