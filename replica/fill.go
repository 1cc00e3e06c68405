package replica

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/replica/internal/entry"
)

// trim drops the content of a verified run that this replica does not hold, except that of its own
// device. The error is errNoContent if content is withheld without which the run must not be
// merged: its author's entries could not be told from those of who had seen it.
func (t *txn) trim(v *verified) error {
	held, err := t.held()
	if err != nil {
		return err
	}
	own, err := t.ownHead()
	if err != nil {
		return err
	}
	drops := held.names != nil && v.device != own.device
	cloned := false
	for i, e := range v.parsed {
		changed := false
		for j := range e.Parts {
			part := &e.Parts[j]
			switch {
			case part.Group == "":
			case drops && part.Withheld == nil && !held.has(part.Group):
				part.Withhold()
				changed = true
			case part.Withheld != nil && held.has(part.Group):
				needs, err := t.needs(part.Group, v.run)
				if err != nil {
					return err
				}
				if needs {
					return withheldIn(part.Group)
				}
			}
		}
		if !changed {
			continue
		}
		if !cloned {
			again := *v.run
			again.entries = append([][]byte{}, v.entries...)
			v.run, cloned = &again, true
		}
		v.entries[i] = e.Append(nil)
	}
	return nil
}

// withheldIn returns an error that is errNoContent.
func withheldIn(collection string) error {
	return fmt.Errorf("collection %q: %w", collection, errNoContent)
}

// needs reports whether the content of a collection that this replica holds must come with a run.
// It need not if this device may not read the collection; a peer that may read the space is
// believed about that, except by a root: the revocation may come later, and depend on the run.
func (t *txn) needs(collection string, r *run) (bool, error) {
	v, err := t.rights()
	if errors.Is(err, errUndescribed) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	own, err := t.ownHead()
	if err != nil {
		return false, err
	}
	if v.tree.IsRoot(own.device) || !v.tree.Now(own.device, entry.RightRead, collection) {
		return v.tree.IsRoot(own.device), nil
	}
	if r.from == (DeviceID{}) {
		return true, nil
	}
	reason, err := t.mayRead(r.from)
	return reason != nil, err
}

// mayFill reports whether an entry has content that may be missing here.
func (t *txn) mayFill(e *entry.Entry) (bool, error) {
	lacks, err := t.lacks()
	return len(lacks) > 0 && slices.ContainsFunc(e.Parts, func(p entry.Part) bool {
		return p.Withheld == nil
	}), err
}

// fill takes the content of an entry that is stored without it. The entry is the next one of a run,
// and has the hash of the stored one.
func (a *incoming) fill(t *txn, h *head, v *verified) error {
	seq, given := v.seq(), v.parsed[v.done]
	if may, err := t.mayFill(given); err != nil || !may {
		return err
	}
	if gone, err := t.isGone(spot{h.number, seq}); err != nil || gone {
		return err
	}
	stored, err := t.entry(h.number, seq)
	if err != nil {
		return unlessPruned(err)
	}
	whole := *given
	whole.Parts = slices.Clone(stored.Parts)
	filled := partSet(0)
	for i := range stored.Parts {
		if given.Parts[i].Withheld != nil {
			continue
		}
		a.noteFilled(h, given.Parts[i].Group) // it may be here, and the gap still before it
		if stored.Parts[i].Withheld != nil {
			whole.Parts[i] = given.Parts[i]
			filled |= 1 << i
		}
	}
	if filled == 0 {
		return nil
	}
	changes, reason := parseParts(&whole)
	if reason != nil {
		return nil // a newer version of the package fills it
	}
	sent := whole.Append(nil)
	a.merged.take(v.device, 0, int64(len(sent)))
	h.size += uint64(len(sent))
	v.filled = true
	if seq >= h.next || h.voids(seq) {
		kept := append(append([]byte{keptHash}, v.hashes[v.done][:]...), sent...)
		return t.entries.Put(entryKey(nil, "", h.number, seq), kept)
	}
	if err := t.rewrite(h, seq, &whole, sent, v.hashes[v.done]); err != nil {
		return err
	}
	if err := a.coversFilled(t, h, seq); err != nil {
		return err
	}
	return t.takeFilled(h, seq, &whole, changes, filled)
}

// coversFilled notes that the states at the checkpoint have to be computed again.
func (a *incoming) coversFilled(t *txn, h *head, seq uint64) error {
	hz, err := t.horizonOf()
	if err == nil && hz != nil && seq < hz.covers[h.number] {
		a.rebase = true
	}
	return err
}

// rewrite stores an entry of a log again, with content that was missing.
func (t *txn) rewrite(
	h *head, seq uint64, e *entry.Entry, sent []byte, hash entry.Hash,
) error {
	at := *h
	at.next = seq
	kept, err := t.appendKept(nil, &at, e, sent, &hash)
	if err != nil {
		return err
	}
	return t.entries.Put(entryKey(nil, "", h.number, seq), kept)
}

// takeFilled lets the content of parts that has arrived late take effect.
func (t *txn) takeFilled(
	h *head, seq uint64, e *entry.Entry, changes []*entry.Changes, filled partSet,
) error {
	if seq < h.touched {
		if err := t.indexParts(h.number, seq, e.Parts, changes); err != nil {
			return err
		}
	}
	if _, err := t.note(h, seq, e); err != nil {
		return err
	}
	for i, c := range changes {
		if !filled.has(i) {
			continue
		}
		if err := t.mark(e.Parts[i].Group, c); err != nil {
			return err
		}
	}
	return nil
}

// noteFilled notes that content of a collection has arrived that a log may have lacked.
func (a *incoming) noteFilled(h *head, collection string) {
	if a.filled == nil {
		a.filled = map[uint32]map[string]bool{}
	}
	if a.filled[h.number] == nil {
		a.filled[h.number] = map[string]bool{}
	}
	a.filled[h.number][collection] = true
}

// closeGaps moves the gaps that were filled, once the runs that fill them are merged: to find the
// next entry that lacks something, one has to walk along the log.
func (a *incoming) closeGaps(t *txn) error {
	lacks, err := t.lacks()
	if err != nil {
		return err
	}
	for log, names := range a.filled {
		h, err := t.head(log)
		if err != nil {
			return err
		}
		collections := map[string]uint32{}
		for name := range names {
			if number, lacking := lacks[name]; lacking {
				collections[name] = number
			}
		}
		if err := t.narrow(h, collections, 0); err != nil {
			return err
		}
	}
	return nil
}
