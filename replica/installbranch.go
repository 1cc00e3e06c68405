package replica

import (
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/fork"
)

// takeBranch makes the log with the checkpoint's entry one that can go on to it: what is here of
// another branch gives way, and a fork proof does not cut the log before the entry, which counts
// like what the checkpoint covers. The entry itself comes later, as others do.
func (in *installation) takeBranch() error {
	t := in.t
	number, known, err := t.logNumber(in.at.Log)
	if err != nil || !known {
		return err
	}
	h, err := t.head(number)
	if err != nil {
		return err
	}
	if in.at.Seq < h.next && !h.voids(in.at.Seq) {
		hash, err := t.hashOf(number, in.at.Seq)
		if err != nil || hash == in.hash {
			return err
		}
		if h, err = in.proveBranch(h); err != nil {
			return err
		}
	}
	if !h.voids(in.at.Seq) {
		return nil
	}
	from := h.cut
	if log := in.logs[in.at.Log]; log != nil {
		from = max(from, log.next)
	}
	if from < h.next {
		if err := t.dropBranch(h, from); err != nil {
			return err
		}
	}
	if h, err = t.head(number); err != nil {
		return err
	}
	end := *h
	end.cut, in.recut = in.at.Seq+1, true
	return t.putHead(&end)
}

// proveBranch cuts a log that has another entry in the place of the checkpoint. The error is
// errOtherBranch if the branches do not part there.
func (in *installation) proveBranch(h *head) (*head, error) {
	t, run := in.t, in.evidence[0]
	prev, err := t.hashOf(h.number, in.at.Seq-1)
	if err != nil {
		return nil, err
	}
	if prev != run.Prev || in.at.Seq >= h.sealed {
		return nil, errOtherBranch
	}
	stored, err := t.runFrom(h, in.at.Seq)
	if err != nil {
		return nil, err
	}
	c, err := t.claim(entry.Hash(h.id), in.at.Seq, prev,
		fork.Side{Entries: stored.entries, Seal: stored.seal},
		fork.Side{Entries: run.Entries, Seal: run.Seal})
	if err != nil {
		return nil, err
	}
	cut, err := t.cutAt(h, in.at.Seq, c.proof)
	if err == nil && !cut { // the fork is known, and a checkpoint of this replica is in that place
		if h, err = t.head(h.number); err == nil {
			err = t.cutLog(h, in.at.Seq)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := t.settle(); err != nil { // what is own there is issued again
		return nil, err
	}
	if err := t.replayMarked(); err != nil {
		return nil, err
	}
	return t.head(h.number)
}

// judgeBehind decides again what counts behind the checkpoint, when its entry has arrived in a log
// that has forked: entries that are here may have named another one in its place, which counts as
// this one.
func (t *txn) judgeBehind(hz *horizon) error {
	if err := t.mergeDeferred(); err != nil {
		return err
	}
	from, err := t.timeOf(hz.at)
	if err == nil {
		clear(t.unseen)
		err = t.renewVectors(from)
	}
	if err == nil {
		err = t.recutRights(from, nil)
	}
	if err != nil {
		return err
	}
	for h, err := range t.eachHead() {
		if err != nil {
			return err
		}
		if h, err = t.head(h.number); err != nil {
			return err
		}
		again := *h
		if again.abreast = 0; h.late >= hz.covers[h.number] {
			again.late = 0
		}
		if err := t.putHead(&again); err != nil {
			return err
		}
	}
	if err := t.judgeLateAll(hz); err != nil {
		return err
	}
	if err := t.judgeAllRepeats(); err != nil {
		return err
	}
	if err := t.voteAgain(); err != nil {
		return err
	}
	return t.replayBeyond(hz)
}
