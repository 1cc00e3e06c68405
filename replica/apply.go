package replica

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/replica/internal/merge"
	"github.com/stoatdb/stoat/replica/internal/session"
)

// apply verifies runs from others and merges what follows from the known entries, in as few
// transactions as there are calls. What cannot be merged yet waits in the room. A run that is not
// valid does not keep others from being merged; the error says so afterwards.
func (s *Space) apply(runs []*run) error {
	refusals, err := s.applyFrom(0, runs)
	var all []error
	for i := range refusals {
		all = append(all, refusals[i].Reason)
	}
	return cmp.Or(err, errors.Join(all...))
}

// applyFrom is apply for runs that came with a session, which it is told what was refused of them.
// Forks that the runs prove are found.
func (s *Space) applyFrom(number uint64, runs []*run) ([]session.Refusal, error) {
	for _, r := range runs {
		r.session = number
	}
	s.applying.Lock()
	defer s.applying.Unlock()
	refused, cut, err := s.applyOnce(number, runs, nil)
	for err == nil && cut { // what waits may be ready
		var more []session.Refusal
		more, cut, err = s.applyOnce(number, nil, nil)
		refused = append(refused, more...)
	}
	return refused, err
}

// prove applies fork proofs, which were checked.
func (s *Space) prove(claims []claim) error {
	s.applying.Lock()
	defer s.applying.Unlock()
	_, cut, err := s.applyOnce(0, nil, claims)
	for err == nil && cut {
		_, cut, err = s.applyOnce(0, nil, nil)
	}
	return err
}

// applyOnce takes runs, claims, and what waits and may be ready, and merges what it can in one
// transaction. It reports whether logs were cut, or the horizon has moved.
func (s *Space) applyOnce(
	number uint64, runs []*run, claims []claim,
) (refused []session.Refusal, cut bool, err error) {
	waiting, earlier := s.awake(runs)
	claims = append(earlier, claims...)
	a := &incoming{space: s, session: number, claims: claims}
	var grown *growth
	err = s.db.View(func(tx *stoat.Tx) error {
		a.verify(tx, append(slices.Clone(runs), runsIn(waiting)...))
		t, err := s.in(tx)
		if err == nil {
			a.due, err = t.due(!s.retried)
		}
		return errors.Join(err, a.failed)
	})
	if err == nil && len(a.ready)+len(a.due)+len(claims) > 0 {
		err = s.db.Update(func(tx *stoat.Tx) error {
			t, err := s.in(tx)
			if err == nil {
				t.growth = &growth{}
				grown = t.growth
				err = a.merge(t)
			}
			return err
		})
	}
	if err == nil {
		s.chronicle.add(grown)
		if s.taken != nil {
			s.taken.takeAll(&a.merged)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		for _, r := range runs {
			waiting = append(waiting, waitingRun{run: r, reason: err})
		}
		s.keepWaiting(waiting)
		s.room.addClaims(claims)
		return nil, false, err
	}
	s.retried = !a.cut
	s.keepWaiting(a.waiting)
	s.room.addClaims(a.early)
	return a.refused, a.cut, nil
}

// incoming is entries of others on their way into a replica: one call of apply.
type incoming struct {
	space   *Space
	ready   []*verified
	due     []uint32 // logs whose parked entries may be ready
	parser  entry.Parser
	queue   byTime
	waiting []waitingRun
	refused []session.Refusal // of what the session sent
	failed  error             // of the database
	session uint64
	latest  hlc.Time
	claims  []claim
	early   []claim // of logs that are not known yet
	cut     bool    // a log was cut, or the horizon has moved, so what waits may be ready
	rebase  bool    // content has arrived of entries that the checkpoint covers
	owed    uint64  // data and control entries that were merged
	taking  usages  // of what is ready
	merged  usages

	filled map[uint32]map[string]bool // the collections of which a log has got content
}

// refuse notes that a run is not taken from an entry on. What came with another session and waited
// until now is just dropped.
func (a *incoming) refuse(r *run, seq uint64, reason error) {
	a.space.noteRefusal(r.from, EntryID{LogID(r.log), seq}, reason)
	if r.session == a.session {
		later := notTaken(reason) || errors.Is(reason, errNoContent)
		a.refused = append(a.refused, session.Refusal{Log: r.log, Seq: seq, Later: later,
			Reason: reason, Told: toldOf(reason)})
	}
}

// verify sorts out the runs that can be merged.
func (a *incoming) verify(tx *stoat.Tx, runs []*run) {
	slices.SortStableFunc(runs, func(x, y *run) int {
		if c := bytes.Compare(x.log[:], y.log[:]); c != 0 {
			return c
		}
		return cmp.Compare(x.first, y.first)
	})
	var before *verified // of its log, the one that reaches the furthest
	for _, r := range runs {
		v, err := a.space.verify(tx, r, before)
		if err == nil {
			err = a.admit(tx, v)
		}
		switch {
		case err == nil:
			a.ready = append(a.ready, v)
			if before == nil || before.log != v.log || before.end() < v.end() {
				before = v
			}
		case errors.Is(err, errRate):
			a.refuse(r, r.first, err)
			a.waiting = append(a.waiting, waitingRun{run: r, reason: err})
		case errors.Is(err, errGap), errors.Is(err, ErrNewer), errors.Is(err, errUndescribed):
			a.waiting = append(a.waiting, waitingRun{run: r, reason: err})
		case errors.Is(err, errVoid), errors.Is(err, ErrPruned): // nothing is missing
		case errors.Is(err, errNoContent):
			a.refuse(r, r.first, err)
		case errors.Is(err, ErrInvalid), notTaken(err):
			a.refuse(r, r.first, err)
		default:
			a.failed = errors.Join(a.failed, err)
		}
	}
}

// check returns why an entry cannot be merged now, or ever.
func (a *incoming) check(t *txn, h *head, e *entry.Entry, size int) (reason, err error) {
	s := a.space
	s.mu.Lock()
	limit, about := s.entryMax, s.about
	s.mu.Unlock()
	switch {
	case about == nil:
		return errUndescribed, nil
	case h.next > 0 && e.Time <= h.time:
		return invalid("its time is not after that of the entry before it"), nil
	case size > limit:
		return invalid("it has %d bytes, and the space allows %d", size, limit), nil
	case e.Time.Ahead(s.time()):
		return errAhead, nil
	case len(e.Context) == 0:
		return nil, nil
	}
	return t.checkContext(h, e)
}

// parseParts returns the changes of a data entry, by part. Parts whose content is withheld have
// none, nor have those whose content is none, which it marks as broken.
func parseParts(e *entry.Entry) ([]*entry.Changes, error) {
	return parsePartsBy(entry.ParseChanges, e)
}

// parsePartsBy is parseParts with what parses changes.
func parsePartsBy(
	parse func([]byte) (*entry.Changes, error), e *entry.Entry,
) ([]*entry.Changes, error) {
	switch e.Kind {
	case entry.KindContext:
		if len(e.Parts) > 0 || len(e.Context) == 0 {
			return nil, invalid("an entry of context alone has parts, or no context")
		}
		return nil, nil
	case entry.KindGenesis:
		return nil, nil
	case entry.KindControl:
		_, err := entry.ParseAct(e)
		if err != nil && !errors.Is(err, ErrNewer) {
			err = invalid("an act: %w", err)
		}
		return nil, err
	}
	if len(e.Parts) == 0 {
		return nil, invalid("a data entry has no parts")
	}
	if e.Parts[0].Group == "" {
		return nil, invalid("a part has no collection")
	}
	all := make([]*entry.Changes, len(e.Parts))
	for i := range e.Parts {
		part := &e.Parts[i]
		if part.Withheld != nil {
			all[i] = &entry.Changes{}
			continue
		}
		c, err := parse(part.Data)
		if err != nil && errors.Is(err, ErrNewer) {
			return nil, err
		}
		if part.Broken = err; err != nil {
			c = &entry.Changes{}
		}
		all[i] = c
	}
	return all, nil
}

// mergeEntry stores the next entry of a run and defers its changes. It returns the head of the log.
func (a *incoming) mergeEntry(
	t *txn, h *head, v *verified, changes []*entry.Changes,
) (*head, error) {
	var err error
	i := v.done
	if h.number == 0 {
		if h, err = t.addLog(v.log, v.device); err != nil {
			return nil, err
		}
	}
	own, err := t.ownNumber()
	if err != nil {
		return nil, err
	}
	logs := int64(0)
	if h.next == 0 {
		logs = 1
	}
	a.merged.take(v.device, logs, int64(len(v.entries[i])))
	h.size += uint64(len(v.entries[i]))
	at := merge.Stamp{Time: v.parsed[i].Time, Log: h.number, Seq: h.next}
	if h.touched == h.next {
		if err := t.indexEntry(h, v.parsed[i].Parts, changes); err != nil {
			return nil, err
		}
	}
	if err := t.append(h, v.parsed[i], v.entries[i], v.hashes[i]); err != nil {
		return nil, err
	}
	if h.number != own {
		if err := t.putUnseen(h.number); err != nil {
			return nil, err
		}
		if kind := v.parsed[i].Kind; kind == entry.KindData || kind == entry.KindControl {
			a.owed++
		}
	}
	if err := t.noteWithheld(h, at.Seq, v.parsed[i]); err != nil {
		return nil, err
	}
	void, err := t.note(h, at.Seq, v.parsed[i])
	if err != nil {
		return nil, err
	}
	for j := range v.parsed[i].Parts {
		if changes == nil || void.has(j) || len(changes[j].Records) == 0 {
			continue
		}
		if err := t.deferPart(&v.parsed[i].Parts[j], changes[j], at); err != nil {
			return nil, err
		}
	}
	return h, nil
}
