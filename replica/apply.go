package replica

import (
	"bytes"
	"cmp"
	"container/heap"
	"errors"
	"fmt"
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
	return cmp.Or(err, wrap(s.name, errors.Join(all...)))
}

// applyFrom is apply for runs that came with a session, which it is told what was refused of them.
func (s *Space) applyFrom(number uint64, runs []*run) ([]session.Refusal, error) {
	for _, r := range runs {
		r.session = number
	}
	s.applying.Lock()
	defer s.applying.Unlock()
	s.mu.Lock()
	waiting := s.room.take()
	s.mu.Unlock()
	if len(waiting)+len(runs) == 0 {
		return nil, nil
	}
	var a *arrival
	var grown *growth
	err := s.db.View(func(tx *stoat.Tx) error {
		a = &arrival{space: s, session: number}
		a.verify(tx, append(waiting, runs...))
		return a.failed
	})
	if err == nil && len(a.ready) > 0 {
		err = s.db.Update(func(tx *stoat.Tx) error {
			t, err := s.in(tx)
			if err == nil {
				t.growth = &growth{session: number}
				grown = t.growth
				err = a.merge(t)
			}
			return err
		})
	}
	if err == nil {
		s.chronicle.add(grown)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		for _, r := range append(waiting, runs...) {
			s.room.add(r, err)
		}
		return nil, wrap(s.name, err)
	}
	for _, w := range a.waiting {
		s.room.add(w.run, w.reason)
	}
	return a.refused, nil
}

// arrival is entries from others on their way into a replica.
type arrival struct {
	space   *Space
	ready   []*verified
	waiting []waiting
	refused []session.Refusal // of what the session sent
	failed  error             // of the database
	session uint64
}

// refuse notes that a run is not taken from an entry on. What came with another session and waited
// until now is just dropped.
func (a *arrival) refuse(r *run, seq uint64, reason error) {
	a.space.noteRefusal(EntryID{LogID(r.log), seq}, reason)
	if r.session == a.session {
		a.refused = append(a.refused, session.Refusal{Log: r.log, Seq: seq,
			Forked: errors.Is(reason, ErrForked), Reason: reason})
	}
}

// verify sorts out the runs that can be merged.
func (a *arrival) verify(tx *stoat.Tx, runs []*run) {
	slices.SortStableFunc(runs, func(x, y *run) int {
		if c := bytes.Compare(x.log[:], y.log[:]); c != 0 {
			return c
		}
		return cmp.Compare(x.first, y.first)
	})
	var before *verified // of its log, the one that reaches the furthest
	for _, r := range runs {
		v, err := a.space.verify(tx, r, before)
		switch {
		case err == nil:
			a.ready = append(a.ready, v)
			if before == nil || before.log != v.log || before.end() < v.end() {
				before = v
			}
		case errors.Is(err, errGap), errors.Is(err, ErrNewer), errors.Is(err, errUndescribed):
			a.waiting = append(a.waiting, waiting{r, err})
		case errors.Is(err, ErrInvalid), errors.Is(err, ErrForked):
			a.refuse(r, r.first, err)
		default:
			a.failed = errors.Join(a.failed, err)
		}
	}
}

// byTime is a heap of runs by the times of their next entries.
type byTime []*verified

func (q byTime) Len() int           { return len(q) }
func (q byTime) Less(i, j int) bool { return q[i].time() < q[j].time() }
func (q byTime) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *byTime) Push(v any)        { *q = append(*q, v.(*verified)) }

func (q *byTime) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// time returns the time of the next entry to be merged.
func (v *verified) time() hlc.Time { return v.parsed[v.done].Time }

// merge merges all entries that can be merged. An entry has a greater time than those that it
// follows, so one that cannot be merged when it has the least time of all has to wait.
func (a *arrival) merge(t *txn) error {
	latest := t.latest()
	before := latest
	queue := byTime(slices.Clone(a.ready))
	heap.Init(&queue)
	for len(queue) > 0 {
		v := heap.Pop(&queue).(*verified)
		done := v.done
		reason, err := a.mergeRun(t, v, &latest)
		if err != nil {
			return err
		}
		if v.done > done && v.done < len(v.parsed) {
			heap.Push(&queue, v)
			continue
		}
		switch {
		case reason == nil:
		case errors.Is(reason, ErrInvalid), errors.Is(reason, ErrForked):
			a.refuse(v.run, v.first+uint64(v.done), reason)
		default:
			a.waiting = append(a.waiting, waiting{v.run, reason})
		}
	}
	if latest == before {
		return nil
	}
	return t.putLatest(latest)
}

// errAhead is the reason why entries wait for the clock.
var errAhead = errors.New("its time is ahead of this replica's clock")

// mergeRun merges the entries of a run up to the first that cannot be merged, and returns why.
func (a *arrival) mergeRun(t *txn, v *verified, latest *hlc.Time) (reason, err error) {
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
	if v.first > h.next {
		return errGap, nil
	}
	for ; v.done < len(v.parsed); v.done++ {
		seq := v.first + uint64(v.done)
		if seq < h.next {
			own, err := t.hashOf(h.number, seq)
			if err == nil && own != v.hashes[v.done] {
				return fmt.Errorf("log %s, entry %d: %w", v.log, seq, ErrForked), nil
			}
			if err != nil {
				return nil, err
			}
			continue
		}
		e := v.parsed[v.done]
		if seq == h.next && seq > 0 && v.done == 0 && v.prev != h.hash {
			return fmt.Errorf("log %s, entry %d: %w", v.log, seq-1, ErrForked), nil
		}
		if reason, err = a.check(t, h, e, len(v.entries[v.done])); reason != nil || err != nil {
			return annotate(reason, v.log, seq), err
		}
		changes, reason := parseParts(e)
		if reason != nil {
			return annotate(reason, v.log, seq), nil
		}
		if h, err = a.mergeEntry(t, h, v, changes); err != nil {
			return nil, err
		}
		*latest = max(*latest, h.time)
	}
	last := v.first + uint64(len(v.parsed))
	if last <= h.sealed {
		return nil, nil
	}
	from := h.sealed
	h.sealed = last
	if err := t.grew(h, from); err != nil {
		return nil, err
	}
	if err := t.putHead(h); err != nil {
		return nil, err
	}
	return nil, t.meta.Put(entryKey(nil, prefixSeal, h.number, last-1), v.seal[:])
}

// annotate says which entry a reason is about.
func annotate(reason error, log entry.Hash, seq uint64) error {
	if reason == nil {
		return nil
	}
	return fmt.Errorf("log %s, entry %d: %w", log, seq, reason)
}

// check returns why an entry cannot be merged now, or ever.
func (a *arrival) check(t *txn, h *head, e *entry.Entry, size int) (reason, err error) {
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
	for _, c := range e.Context {
		if c.Log == h.id {
			return invalid("its context names its own log"), nil
		}
		number, known, err := t.logNumber(c.Log)
		if err != nil || !known {
			return &lacking{c}, err
		}
		other, err := t.head(number)
		if err != nil || c.Seq >= other.next {
			return &lacking{c}, err
		}
		seen, err := t.timeOf(spot{number, c.Seq})
		if err != nil {
			return nil, err
		}
		if seen >= e.Time {
			return invalid("its time is not after those of its context"), nil
		}
	}
	digest, err := t.digest(e.Context)
	if err == nil && digest != e.Digest {
		reason = invalid("the digest of its context")
	}
	return reason, err
}

// errWithheld is why entries wait that this replica has no use for yet.
var errWithheld = errors.New("the content of a part is withheld")

// parseParts returns the changes of a data entry, by part.
func parseParts(e *entry.Entry) ([]*entry.Changes, error) {
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
	var all []*entry.Changes
	for _, part := range e.Parts {
		if part.Withheld != nil {
			return nil, errWithheld
		}
		c, err := entry.ParseChanges(part.Data)
		if err == nil && part.Group == "" {
			err = errors.New("it has no collection")
		}
		if errors.Is(err, ErrNewer) {
			return nil, err
		}
		if err != nil {
			return nil, invalid("part %q: %w", part.Group, err)
		}
		all = append(all, c)
	}
	return all, nil
}

// mergeEntry stores the next entry of a run and merges its changes. It returns the head of the log.
func (a *arrival) mergeEntry(
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
		if err := t.meta.Put(keyed(nil, prefixUnseen, h.number), nil); err != nil {
			return nil, err
		}
	}
	void, err := t.note(h, at.Seq, v.parsed[i])
	if err != nil {
		return nil, err
	}
	o := &order{t: t, at: spot{at.Log, at.Seq}}
	for j, part := range v.parsed[i].Parts {
		if changes == nil || void.has(j) {
			continue
		}
		if err := t.mergePart(part.Group, changes[j], at, o); err != nil {
			return nil, fmt.Errorf("collection %q: %w", part.Group, err)
		}
	}
	return h, o.err
}

// mergePart merges the changes of a collection.
func (t *txn) mergePart(name string, changes *entry.Changes, at merge.Stamp, o *order) error {
	c, err := t.collection(name)
	if err != nil {
		return err
	}
	for i := range changes.Records {
		change := &changes.Records[i]
		s, err := t.loadStored(c, change.Key)
		if err != nil {
			return err
		}
		s.record.Apply(change, changes.Fields, at, o)
		if o.err != nil {
			return o.err
		}
		if err := s.show(); err != nil {
			return err
		}
	}
	return nil
}
