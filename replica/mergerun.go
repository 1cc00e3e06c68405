package replica

import (
	"errors"

	"github.com/stoatdb/stoat/replica/internal/entry"
)

// mergeRun merges the entries of a run up to the first that cannot be merged, parks the others, and
// returns why, unless they just wait.
func (a *incoming) mergeRun(t *txn, v *verified) (reason, err error) {
	number, known, err := t.logNumber(v.log)
	if err != nil {
		return nil, err
	}
	h := &head{id: v.log, device: v.device}
	if known {
		if h, err = t.head(number); err != nil {
			return nil, err
		}
	}
	switch {
	case h.voids(v.first) && !v.parked:
		if err := t.mergeDeferred(); err != nil {
			return nil, err
		}
		return a.takeVoid(t, h, v)
	case v.first > max(h.next, h.sealed):
		return errGap, nil
	case v.branch:
		return errBranch, nil
	}
	for v.done < len(v.parsed) {
		if v.seq() < h.next || v.seq() < h.sealed && !v.parked {
			stored, err := t.hashOf(h.number, v.seq())
			if err != nil && !errors.Is(err, ErrPruned) {
				return nil, err
			}
			if err == nil && stored == v.hashes[v.done] {
				if err := a.fill(t, h, v); err != nil {
					return nil, err
				}
			}
			if err != nil || stored == v.hashes[v.done] {
				v.done++
				continue
			}
			if v.seq() >= h.next {
				return errBranch, nil
			}
			if err := t.mergeDeferred(); err != nil {
				return nil, err
			}
			if h, reason, err = a.part(t, h, v); reason != nil || err != nil || h == nil {
				return reason, err
			}
		}
		if v.seq() > h.next {
			return a.parkBehind(t, h, v)
		}
		next, reason, err := a.mergeNext(t, h, v)
		if err != nil {
			return nil, err
		}
		if reason != nil {
			return a.block(t, h, v, annotate(reason, v.log, v.seq()))
		}
		h = next
		v.done++
	}
	if v.filled {
		if err := errors.Join(t.putHead(h), t.grew(h, h.sealed, v.session)); err != nil {
			return nil, err // sessions look again at a log that grows
		}
	}
	return nil, a.keepSeal(t, h, v)
}

// mergeNext merges the next entry of a run, which is the next one of its log.
func (a *incoming) mergeNext(t *txn, h *head, v *verified) (_ *head, reason, err error) {
	e := v.parsed[v.done]
	if h.voids(h.next) {
		if v.parked {
			err = t.settleLater(h)
		}
		if err == nil {
			err = t.appendVoid(h, e, v.entries[v.done], v.hashes[v.done])
		}
		return h, nil, err
	}
	if h.next > 0 && v.done == 0 && v.prev != h.hash {
		return nil, errBranch, nil
	}
	hz, err := t.horizonOf()
	if err != nil || hz.rivals(spot{h.number, h.next}, v.hashes[v.done]) {
		return nil, errBranch, err
	}
	reason, changes, err := a.accept(t, h, e, e.WholeSize(len(v.entries[v.done])))
	if reason != nil || err != nil {
		return nil, reason, err
	}
	h, err = a.mergeEntry(t, h, v, changes)
	a.latest = max(a.latest, e.Time)
	if err == nil && h.cut > 0 && hz != nil && hz.at == (spot{h.number, h.last()}) {
		if err = t.judgeBehind(hz); err == nil {
			h, err = t.head(h.number)
		}
	}
	return h, nil, err
}

// accept returns the changes of the next entry of a log, or why it cannot be merged now, or ever.
func (a *incoming) accept(t *txn, h *head, e *entry.Entry, size int) (
	reason error, changes []*entry.Changes, err error,
) {
	if reason, err = a.check(t, h, e, size); reason == nil && err == nil {
		changes, reason = parsePartsBy(a.parser.Parse, e)
	}
	return reason, changes, err
}

// keepSeal stores the seal of a run whose entries are stored.
func (a *incoming) keepSeal(t *txn, h *head, v *verified) error {
	if v.end() <= h.sealed {
		return nil
	}
	from := h.sealed
	h.sealed = v.end()
	own, err := t.ownNumber()
	if err == nil && h.number == own {
		err = t.putSettle(h) // a copy of this database continues the log
	}
	if err == nil {
		err = t.grew(h, from, v.session)
	}
	if err == nil {
		err = t.putHead(h)
	}
	if err != nil {
		return err
	}
	return t.meta.Put(entryKey(nil, prefixSeal, h.number, v.end()-1), v.seal[:])
}
