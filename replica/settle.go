package replica

import (
	"bytes"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// settledRepeats decides which repeats count of those that a new horizon covers and the present one
// does not. Nothing else has a say: what is outside may be late, and cannot have been seen.
type settledRepeats struct {
	t      *txn
	covers vector
	first  map[string]spot // the repeat that counts, by repeatsOf; zero: none
}

// settledMax is how many decisions settledRepeats remembers.
const settledMax = 1 << 16

// repeated returns the parts of an entry with an origin that do not count as repeats.
func (s *settledRepeats) repeated(at spot, e *entry.Entry) (parts partSet, err error) {
	for i := range e.Parts {
		first, err := s.firstOf(e.Origin, &e.Parts[i])
		if err != nil {
			return 0, err
		}
		if first != at {
			parts |= 1 << i
		}
	}
	return parts, nil
}

// firstOf returns the repeat of a part that counts.
func (s *settledRepeats) firstOf(origin *entry.Last, part *entry.Part) (spot, error) {
	repeats := repeatsOf(origin, part)
	if first, known := s.first[string(repeats)]; known {
		return first, nil
	}
	if len(s.first) >= settledMax {
		clear(s.first)
	}
	first := spot{}
	at, i, ok, err := s.t.inOrigin(origin, part)
	if err == nil && ok {
		ok, err = s.counts(at, i)
	}
	if err == nil && !ok {
		first, err = s.search(repeats)
	}
	s.first[string(repeats)] = first
	return first, err
}

// search returns the first repeat that counts, given the key under which the repeats begin. Which
// are void may differ from what is stored.
func (s *settledRepeats) search(repeats []byte) (first spot, err error) {
	var least []byte // time and log of the first one
	for key, p := range s.t.meta.Scan(stoat.Prefix(repeats)) {
		_, order, err := cutRepeat(key)
		if err != nil {
			return first, err
		}
		if least != nil && bytes.Compare(order, least) >= 0 {
			continue
		}
		at, i, err := parseRepeat(p)
		if err != nil {
			return first, err
		}
		counts, err := s.counts(at, i)
		if err != nil {
			return first, err
		}
		if counts {
			first, least = at, bytes.Clone(order)
		}
	}
	return first, s.t.tx.Err()
}

// counts reports whether a part of an entry counts by its verdict.
func (s *settledRepeats) counts(at spot, part int) (bool, error) {
	hz, err := s.t.horizonOf()
	if err != nil || at.seq >= s.covers[at.log] || hz.includes(at) {
		return false, err
	}
	h, err := s.t.head(at.log)
	if err != nil {
		return false, err
	}
	e, err := s.t.entry(at.log, at.seq)
	if err != nil {
		return false, err
	}
	void, _, err := s.t.verdict(h, at.seq, e)
	return !void.has(part), err
}

// settleVerdicts notes what counts of the entries that a new horizon covers and the present one
// does not. That is not decided again.
func (t *txn) settleVerdicts(covers vector) error {
	has, err := t.hasRepeats()
	if err == nil && !has {
		has, err = t.hasActsBeyond(covers)
	}
	if err != nil || !has {
		return err
	}
	err = t.within(covers, func() error {
		for log, n := range covers {
			if err := t.settleLog(log, n); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return t.dropSettled(covers)
}

// settleLog is settleVerdicts for the entries of a log up to one.
func (t *txn) settleLog(log uint32, end uint64) error {
	h, first, err := t.beyond(log, 1)
	if err != nil {
		return err
	}
	for seq := first; seq < end; seq++ {
		e, err := t.entry(log, seq)
		if err == nil && e.Kind == entry.KindData {
			err = t.settleEntry(h, seq, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *txn) settleEntry(h *head, seq uint64, e *entry.Entry) error {
	at := spot{h.number, seq}
	old, err := t.voided(h.number, seq)
	if err != nil {
		return err
	}
	alone, reason, err := t.verdict(h, seq, e)
	if err != nil {
		return err
	}
	v := voided{alone: alone, reason: old.reason}
	if e.Origin != nil {
		if v.repeated, err = t.settling.repeated(at, e); err != nil {
			return err
		}
		v.repeated &^= alone
		for i := range e.Parts {
			if v.parts().has(i) {
				continue
			}
			key := reissuedOf(repeatsOf(e.Origin, &e.Parts[i]))
			if err := t.meta.Put(key, nil); err != nil {
				return err
			}
		}
	}
	switch {
	case reason != nil:
		v.reason = reason.Error()
	case v.repeated != 0 && old.repeated == 0:
		v.reason = repeatedElsewhere
	case v.repeated == 0:
		v.reason = ""
	}
	return t.putVoided(h.number, seq, old, v)
}

// dropSettled removes what a new horizon covers from the index of repeats.
func (t *txn) dropSettled(covers vector) error {
	for key, p := range t.meta.Scan(stoat.Prefix([]byte(prefixRepeat))) {
		at, _, err := parseRepeat(p)
		if err == nil && at.seq < covers[at.log] {
			err = t.meta.Delete(key)
		}
		if err != nil {
			return err
		}
	}
	return t.tx.Err()
}

// judgeAllRepeats decides again which repeats count of those that the horizon does not cover.
func (t *txn) judgeAllRepeats() error {
	var before []byte // the key under which the repeats of the last part begin
	for key, p := range t.meta.Scan(stoat.Prefix([]byte(prefixRepeat))) {
		repeats, _, err := cutRepeat(key)
		if err != nil {
			return err
		}
		if bytes.Equal(repeats, before) {
			continue
		}
		before = bytes.Clone(repeats)
		at, i, err := parseRepeat(p)
		if err != nil {
			return err
		}
		e, err := t.entry(at.log, at.seq)
		if err == nil && (e.Origin == nil || i >= len(e.Parts)) {
			err = noSuchPart(at, i)
		}
		if err == nil {
			err = t.judgeRepeats(e.Origin, &e.Parts[i])
		}
		if err != nil {
			return err
		}
	}
	return t.tx.Err()
}

// settledElsewhere reports whether a part counts in an origin, or in a repeat of it, which the
// horizon covers.
func (t *txn) settledElsewhere(origin *entry.Last, part *entry.Part) (bool, error) {
	_, err := t.meta.Get(reissuedOf(repeatsOf(origin, part)))
	if !missing(err) {
		return err == nil, err
	}
	at, i, ok, err := t.inOrigin(origin, part)
	if err != nil || !ok {
		return false, err
	}
	if hz, err := t.horizonOf(); err != nil || !hz.includes(at) {
		return false, err
	}
	v, err := t.voided(at.log, at.seq)
	return !v.alone.has(i), err
}
