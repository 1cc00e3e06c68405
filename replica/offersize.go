package replica

import (
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/evidence"
	"github.com/stoatdb/stoat/replica/internal/session"
)

// errOfferSize is why a checkpoint is not offered. This package makes no such checkpoint.
var errOfferSize = fmt.Errorf("what proves the checkpoint takes more than %d bytes: take all "+
	"entries instead, from a replica that has not pruned them", session.OfferMax)

// startable returns an error that is stoat.ErrTooLarge if nobody could start from a checkpoint that
// is to be issued, behind its salts.
func (t *txn) startable(act *entry.Checkpoint, salts salts) error {
	chunks := uint64(0)
	size := len(entry.Hash{}) + 2*uvarintMax
	for i := range act.Chunks {
		chunks += act.Chunks[i].Leaves
		size += uvarintMax
	}
	proofs, err := t.proofSize(act, salts)
	if err != nil {
		return err
	}
	if uint64(size+proofs)+chunks*uint64(len(entry.Hash{})) <= uint64(t.space.offerMax) {
		return nil
	}
	return fmt.Errorf("no new replica could start from the checkpoint: the hashes of its %d chunks, "+
		"of some 64 KiB of state each, and %d bytes that prove who may make it are more than %d "+
		"bytes: delete records, or go on in another space (%w)", chunks, proofs, t.space.offerMax,
		stoat.ErrTooLarge)
}

// Bounds of what is not known before a checkpoint is issued.
const (
	uvarintMax = 10
	proofRoom  = 256 // bytes of a proof run besides its genesis entry and its acts
	saltRoom   = 64  // of a part with a salt whose content is withheld, besides its name
	headRoom   = 64  // of a log in a context
	runsMore   = 4   // runs of the own log that end before they are full
)

// proofSize returns how many bytes the proof runs take in an offer of a checkpoint that is to be
// issued, at most.
func (t *txn) proofSize(act *entry.Checkpoint, salts salts) (size int, err error) {
	sealed := vector{}
	for h, err := range t.eachHead() {
		if err != nil {
			return 0, err
		}
		sealed[h.number] = h.sealed
	}
	err = t.eachProof(sealed, func(p []byte) error {
		size += len(p) + uvarintMax
		return nil
	})
	if err != nil {
		return 0, err
	}
	own, err := t.ownHead()
	if err != nil {
		return 0, err
	}
	genesis, err := t.sent(own.number, 0)
	if err != nil {
		return 0, err
	}
	each := len(genesis) + proofRoom
	checkpoint := len((&entry.Act{Checkpoint: act}).Append(nil)) + checkpointRoom
	open, err := t.openProofs(own, each)
	if open > 0 { // these runs may have what is before the checkpoint, and a small checkpoint
		for name := range salts {
			open += len(name) + saltRoom
		}
		open += len(sealed)*headRoom + min(checkpoint, runBytes)
	}
	return size + each + checkpoint + open, err
}

// openProofs returns how many bytes the proof runs of acts that are not sealed yet take, at most,
// given those of a run without its entries.
func (t *txn) openProofs(own *head, each int) (size int, err error) {
	acts := 0
	err = t.eachAct(func(at spot) error {
		if at.log == own.number && at.seq >= own.sealed {
			acts++
		}
		return nil
	})
	if acts == 0 || err != nil {
		return 0, err
	}
	stored := 0
	for seq := own.sealed; seq < own.next; seq++ {
		sent, err := t.sent(own.number, seq)
		if err != nil {
			return 0, err
		}
		stored += len(sent)
		p, err := evidence.Withhold(sent)
		if err != nil {
			return 0, err
		}
		size += len(p) + uvarintMax
	}
	runs := int(own.next-own.sealed)/runEntries + stored/runBytes + runsMore
	return size + min(acts, runs)*each, nil
}
