package replica

import (
	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// replaceLogs makes each log begin where the checkpoint ends.
func (in *installation) replaceLogs() error {
	t := in.t
	for _, log := range in.logs {
		h := log.head
		gone := stoat.Range{Start: entryKey(nil, "", h.number, 0),
			End: entryKey(nil, "", h.number, log.next)}
		if err := t.entries.DeleteRange(gone); err != nil {
			return err
		}
		for _, prefix := range []string{prefixContext, prefixVector, prefixSeal, prefixEvidence} {
			gone := stoat.Range{Start: entryKey(nil, prefix, h.number, 0),
				End: entryKey(nil, prefix, h.number, log.next)}
			if err := t.meta.DeleteRange(gone); err != nil {
				return err
			}
		}
		if err := t.pruneVoid(h.number, log.next); err != nil {
			return err
		}
		if err := in.storeKept(log); err != nil {
			return err
		}
		in.recut = in.recut || h.cut > 0 && h.cut < log.next
		if err := in.putEnd(log); err != nil {
			return err
		}
	}
	clear(t.frontiers)
	clear(t.unseen)
	t.hashed = hashed{}
	if err := in.storeEvidence(); err != nil {
		return err
	}
	if err := t.dropSettled(in.next.covers); err != nil {
		return err
	}
	if err := t.putHorizon(in.next); err != nil || !in.recut {
		return err
	}
	return t.renewVectors(0)
}

// dropBranch removes the entries of a forked log from one on, which are void and do not follow what
// the checkpoint covers of the log.
func (t *txn) dropBranch(h *head, next uint64) error {
	for seq := next; seq < h.next; seq++ {
		if err := t.unnote(h, seq); err != nil {
			return err
		}
	}
	if err := t.setWait(h.number, nil, 0); err != nil {
		return err
	}
	if err := t.meta.DeleteRange(entriesFrom(prefixSeal, h.number, next)); err != nil {
		return err
	}
	end, last := *h, spot{h.number, next - 1}
	end.next, end.sealed, end.touched = next, min(h.sealed, next), min(h.touched, next)
	var err error
	if end.hash, err = t.hashOf(h.number, last.seq); err != nil {
		return err
	}
	if end.time, err = t.timeOf(last); err != nil {
		return err
	}
	if end.contexts, err = t.lastContext(h.number, last.seq); err != nil {
		return err
	}
	t.hashed = hashed{}
	if err := t.putHead(&end); err != nil {
		return err
	}
	if err := t.truncateRights(h.number, next); err != nil {
		return err
	}
	return t.removeEntries(h, next)
}

// storeKept stores the entries of a log that a checkpoint keeps.
func (in *installation) storeKept(log *coveredLog) error {
	t, number := in.t, log.head.number
	put := func(seq uint64, hash *entry.Hash, stored []byte) error {
		p := append(append([]byte{keptHash}, hash[:]...), stored...)
		return t.entries.Put(entryKey(nil, "", number, seq), p)
	}
	if err := put(0, &log.head.id, log.genesis); err != nil {
		return err
	}
	for seq, f := range log.acts {
		if err := put(seq, &f.Hash, log.stored[seq]); err != nil {
			return err
		}
	}
	if last := log.next - 1; last > 0 && log.acts[last] == nil {
		return t.putStub(spot{number, last}, log.time, log.hash)
	}
	return nil
}

// putEnd stores the head of a covered log.
func (in *installation) putEnd(log *coveredLog) error {
	t, h := in.t, log.head
	end := *h
	end.late, end.abreast = log.late, 0
	if end.late == 0 && h.late >= log.next {
		end.late = h.late
	}
	if h.cut > 0 {
		end.cut = max(h.cut, log.next)
	}
	if h.next <= log.next {
		end.next, end.hash, end.time, end.contexts = log.next, log.hash, log.time, 0
	}
	end.touched = max(h.touched, log.next)
	end.sealed = max(h.sealed, log.next)
	if end.touched >= end.next {
		if err := t.meta.Delete(keyed(nil, prefixTail, h.number)); err != nil {
			return err
		}
	}
	if err := t.putHead(&end); err != nil {
		return err
	}
	if end.sealed == end.next {
		if err := t.setWait(h.number, nil, 0); err != nil {
			return err
		}
	}
	own, err := t.ownNumber()
	if err != nil {
		return err
	}
	if h.number != own {
		if err := t.putUnseen(h.number); err != nil {
			return err
		}
	} else if h.next < log.next { // a copy of this database continues the log
		if err := t.putSettle(&end); err != nil {
			return err
		}
	}
	if h.next >= log.next && h.sealed >= log.next {
		return nil
	}
	return t.grew(&end, min(h.sealed, log.next), in.session)
}

// storeEvidence stores the proof runs of covered acts.
func (in *installation) storeEvidence() error {
	for i, run := range in.evidence[1:] {
		log := in.logs[in.proven[i+1].Log]
		if log == nil || log.acts[run.First] == nil {
			continue
		}
		key := entryKey(nil, prefixEvidence, log.head.number, run.First)
		if err := in.t.meta.Put(key, run.Append(nil)); err != nil {
			return err
		}
	}
	return nil
}
