package replica

import (
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/replica/internal/entry"
)

// partSet is a set of parts of an entry, by index. An entry has at most 64 parts.
type partSet uint64

// has reports whether the set has a part.
func (p partSet) has(i int) bool { return p>>i&1 != 0 }

// errForkedAway is why entries behind the cut of a log are void.
var errForkedAway = errors.New("its device has sealed two branches of the log")

// verdict returns the parts of an entry that do not count, and the reason why. Merging and replay
// ask nothing else.
func (t *txn) verdict(h *head, seq uint64, e *entry.Entry) (void partSet, reason, err error) {
	if e.Kind != entry.KindData && e.Kind != entry.KindControl {
		return 0, nil, nil
	}
	if h.voids(seq) {
		return 1<<len(e.Parts) - 1, errForkedAway, nil
	}
	if e.Kind == entry.KindData && h.late > 0 && seq >= h.late {
		return 1<<len(e.Parts) - 1, errUnseen, nil
	}
	r, err := t.rights()
	if err != nil {
		return 0, nil, err
	}
	at := entry.Head{Log: h.id, Seq: seq}
	if e.Kind == entry.KindControl {
		if reason, err = r.whyVoid(h, seq, e); reason != nil {
			void = 1
		}
		return void, reason, err
	}
	for i := range e.Parts {
		if why := e.Parts[i].Broken; why != nil {
			void |= 1 << i
			reason = invalid("the part about collection %q: %w", e.Parts[i].Group, why)
		} else if why = r.tree.Allows(h.device, at, &e.Parts[i], r); why != nil {
			void |= 1 << i
			reason = fmt.Errorf("the device %s may not write to collection %q: %w: %w", h.device,
				e.Parts[i].Group, why, ErrNotAllowed)
		}
	}
	return void, reason, r.err
}

// mayWrite returns why this replica may not make an entry, which is ErrNotAllowed, or nil.
func (t *txn) mayWrite(next *nextEntry, e *entry.Entry) error {
	v, err := t.rights()
	if err == nil {
		err = t.wholeParts(e.Parts)
	}
	if err != nil || v.tree.IsRoot(next.log.device) {
		return err
	}
	at := entry.Head{Log: next.log.id, Seq: next.at.Seq}
	for i := range e.Parts {
		why := v.tree.Allows(next.log.device, at, &e.Parts[i], seesAll{v})
		if v.err != nil {
			return v.err
		}
		if why != nil {
			return fmt.Errorf("the device %s needs a grant to write to collection %q, from a root or "+
				"an admin of the space: %w: %w", next.log.device, e.Parts[i].Group, why, ErrNotAllowed)
		}
	}
	return nil
}

// seesAll is the past of an entry that is being made: it has seen everything.
type seesAll struct{ *rightsView }

func (seesAll) First(entry.Hash, entry.Head) (seq uint64, ok bool) { return 0, true }
