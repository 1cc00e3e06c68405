package replica

// cutLog makes the entries of a log from one on void. What happened before others changes with
// that, so what they had seen is replayed, too.
func (t *txn) cutLog(h *head, cut uint64) error {
	if err := t.readRights(); err != nil {
		return err
	}
	counted := h.last() + 1
	own, err := t.ownHead()
	if err != nil {
		return err
	}
	if h.device == own.device {
		if err := t.putSettle(h); err != nil {
			return err
		}
	}
	end := *h
	end.cut = cut
	if counted <= cut { // nothing that is void has counted here
		return t.putHead(&end)
	}
	gone, err := t.lostAt(h, cut)
	if err == nil {
		err = t.moveCut(&end, cut, counted, gone)
	}
	if err == nil {
		err = gone.replay(t)
	}
	if err == nil {
		err = t.voteAgain()
	}
	if err == nil {
		err = t.judgeLateAgain(spot{h.number, cut - 1})
	}
	if err != nil || own.number == h.number {
		return err
	}
	return t.forget(own)
}

// judgeLateAgain decides again which logs are late, after one was cut behind an entry: others may
// have seen what the checkpoint covers through what is void now.
func (t *txn) judgeLateAgain(last spot) error {
	hz, err := t.horizonOf()
	if err != nil || hz == nil {
		return err
	}
	if seen, err := t.hasSeen(last, hz); err != nil || seen {
		return err // nothing of that is lost
	}
	for h, err := range t.eachHead() {
		if err == nil && h.abreast == hz.number {
			undecided := *h
			undecided.abreast = 0
			err = t.putHead(&undecided)
		}
		if err != nil {
			return err
		}
	}
	return t.judgeLateAll(hz)
}

// moveCut stores the head of a log whose entries in [first, end) count now, or are void now. It
// computes again what depends on them, except what other logs did meanwhile. Gone is what others
// may have seen through them and have not any more, or nil if that is not known.
func (t *txn) moveCut(h *head, first, end uint64, gone *lost) error {
	if _, err := t.rights(); err != nil { // by the cut that was there before
		return err
	}
	from, err := t.timeOf(spot{h.number, first})
	if err != nil {
		return err
	}
	if err = t.putHead(h); err == nil {
		clear(t.unseen)
		err = t.renewVectors(from)
	}
	if err == nil {
		err = t.recutRights(from, gone)
	}
	if err == nil {
		err = t.replayEntries(h.number, first, end)
	}
	return err
}

// forget notes what the own log has seen only through entries that are void now, so that its next
// context names it.
func (t *txn) forget(own *head) error {
	v, err := t.vectorOf(spot{own.number, own.last()})
	if err != nil {
		return err
	}
	for h, err := range t.eachHead() {
		if err == nil && h.number != own.number && v[h.number] <= h.last() {
			err = t.putUnseen(h.number)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
