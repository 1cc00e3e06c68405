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
	end.cut = in.at.Seq + 1
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
	if _, err := t.cutAt(h, in.at.Seq, c.proof); err != nil {
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
