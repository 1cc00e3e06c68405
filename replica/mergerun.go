package replica

// mergeRun merges the entries of a run up to the first that cannot be merged, and returns why.
func (a *arrival) mergeRun(t *txn, v *verified) (reason, err error) {
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
	case h.voids(v.first):
		return a.takeVoid(t, h, v)
	case v.first > h.next:
		return errGap, nil
	case v.branch:
		return errBranch, nil
	}
	for v.done < len(v.parsed) {
		if v.seq() < h.next {
			stored, err := t.hashOf(h.number, v.seq())
			if err != nil {
				return nil, err
			}
			if stored == v.hashes[v.done] {
				v.done++
				continue
			}
			if h, reason, err = a.part(t, h, v); reason != nil || err != nil || h == nil {
				return reason, err
			}
		}
		if h, reason, err = a.mergeNext(t, h, v); reason != nil || err != nil {
			return annotate(reason, v.log, v.seq()), err
		}
		v.done++
	}
	return nil, a.keepSeal(t, h, v)
}

// mergeNext merges the next entry of a run, which is the next one of its log.
func (a *arrival) mergeNext(t *txn, h *head, v *verified) (_ *head, reason, err error) {
	e := v.parsed[v.done]
	if h.voids(h.next) {
		return h, nil, t.appendVoid(h, e, v.entries[v.done], v.hashes[v.done])
	}
	if h.next > 0 && v.done == 0 && v.prev != h.hash {
		return nil, errBranch, nil
	}
	if reason, err := a.check(t, h, e, len(v.entries[v.done])); reason != nil || err != nil {
		return nil, reason, err
	}
	changes, reason := parseParts(e)
	if reason != nil {
		return nil, reason, nil
	}
	h, err = a.mergeEntry(t, h, v, changes)
	a.latest = max(a.latest, e.Time)
	return h, nil, err
}

// keepSeal stores the seal of a run whose entries are stored.
func (a *arrival) keepSeal(t *txn, h *head, v *verified) error {
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
