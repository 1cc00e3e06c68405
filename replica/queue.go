package replica

import (
	"bytes"
	"container/heap"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
)

// merge merges all entries that can be merged: of runs that have arrived, and of the parked runs of
// logs that are due. An entry has a greater time than the entries that it follows, so it has to
// wait if it cannot be merged when it has the least time of all.
func (a *incoming) merge(t *txn) error {
	defer t.release()
	latest, err := t.latest()
	if err != nil {
		return err
	}
	before, err := t.horizonOf()
	if err != nil {
		return err
	}
	a.latest = latest
	a.queue = append(a.queue, a.ready...)
	heap.Init(&a.queue)
	for _, log := range a.due {
		if err := a.resume(t, log); err != nil {
			return err
		}
	}
	for len(a.queue) > 0 {
		v := heap.Pop(&a.queue).(*verified)
		done := v.done
		reason, err := a.mergeRun(t, v)
		if err == nil && v.done > done {
			err = a.wake(t, v)
		}
		switch {
		case err != nil:
			return err
		case reason == nil:
		case errors.Is(reason, ErrInvalid):
			a.refuse(v.run, v.seq(), reason)
		case v.done > done && v.done < len(v.parsed): // others may let it go on
			heap.Push(&a.queue, v)
		default:
			a.waiting = append(a.waiting, waitingRun{run: v.run, reason: reason, until: v.time()})
		}
	}
	if err := errors.Join(t.mergeDeferred(), a.keepLatest(t), t.owe(a.owed)); err != nil {
		return err
	}
	if err := a.closeGaps(t); err != nil {
		return err
	}
	if err := a.settleForks(t); err != nil {
		return err
	}
	if a.rebase {
		if err := t.rebase(); err != nil {
			return err
		}
	}
	if err := t.completeCollections(); err != nil {
		return err
	}
	if err := t.decide(); err != nil {
		return err
	}
	hz, err := t.horizonOf()
	a.cut = a.cut || hz != before // contexts are checked by the horizon
	return err
}

// keepLatest stores the greatest time of what was merged.
func (a *incoming) keepLatest(t *txn) error {
	if latest, err := t.latest(); err != nil || a.latest <= latest {
		return err
	}
	return t.putLatest(a.latest)
}

// Reasons why entries wait, besides what is missing.
var (
	errAhead  = errors.New("its time is ahead of this replica's clock")
	errDigest = errors.New("it follows another branch of a log: a fork proof is missing")
	errBranch = errors.New("it is of another branch of its log: a fork proof is missing")
)

// annotate says which entry a reason is about.
func annotate(reason error, log entry.Hash, seq uint64) error {
	if reason == nil {
		return nil
	}
	return fmt.Errorf("log %s, entry %d: %w", log, seq, reason)
}

// wake resumes the logs that wait for what was merged of a run, and the log itself if there is more
// of it.
func (a *incoming) wake(t *txn, v *verified) error {
	number, _, err := t.logNumber(v.log)
	if err != nil {
		return err
	}
	h, err := t.head(number)
	if err != nil {
		return err
	}
	logs, err := t.neededBy(h)
	if err != nil {
		return err
	}
	if v.parked && v.done == len(v.parsed) {
		if logs = append(logs, number); h.next == h.sealed {
			logs, err = logs[:len(logs)-1], t.setWait(number, nil, 0)
		}
	}
	for i := 0; i < len(logs) && err == nil; i++ {
		err = a.resume(t, logs[i])
	}
	return err
}

// parkedSession is the session of runs that are parked: nobody is told what is refused of them.
const parkedSession = ^uint64(0)

// resume queues the parked entries of a log, some of them, if the first can be merged.
func (a *incoming) resume(t *txn, log uint32) error {
	h, err := t.head(log)
	if err != nil || h.next >= h.sealed {
		return err
	}
	v := &verified{run: &run{log: h.id, first: h.next, session: parkedSession}, prev: h.hash,
		device: h.device, parked: true}
	prev := h.hash
	for seq := h.next; seq < min(h.sealed, h.next+runEntries); seq++ {
		sent, err := t.sent(log, seq)
		if err != nil {
			return err
		}
		e, err := entry.Parse(bytes.Clone(sent))
		if err != nil {
			return fmt.Errorf("entry %d of log %s waits: %w: %w", seq, h.id, err, stoat.ErrCorrupt)
		}
		if seq == h.next && !h.voids(seq) {
			reason, _, err := a.accept(t, h, e, e.WholeSize(len(sent)))
			if err != nil {
				return err
			}
			if reason != nil {
				return t.setWait(log, newWait(annotate(reason, h.id, seq), e.Time), 0)
			}
		}
		prev = e.Hash(&entry.Place{Space: t.space.id, Log: h.id, Seq: seq, Prev: prev})
		v.entries, v.parsed = append(v.entries, sent), append(v.parsed, e)
		v.hashes = append(v.hashes, prev)
	}
	heap.Push(&a.queue, v)
	return nil
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
