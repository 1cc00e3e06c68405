package replica

import (
	"errors"
	"slices"
	"time"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/replica/internal/seal"
)

// Limits of what waits: bytes of a log and in all, of parked entries and, again, in the room; and
// runs in the room.
const (
	roomLog   = 4 << 20
	roomSpace = 64 << 20
	roomRuns  = 1024
	roomShare = 8 // of the room that the runs of one source take, one in so many
)

// room keeps, in memory, the runs that wait and cannot be parked: runs that cannot be verified yet,
// because earlier entries of their log are missing or they need a newer version, and runs of logs
// without a merged entry. Runs that do not fit are dropped: they arrive again later.
type room struct {
	now  func() time.Time
	runs []waitingRun
	has  map[runKey]bool
	size int
	logs map[entry.Hash]int // bytes

	bytes, counts map[source]int // of the runs of a source

	claims []claim // about logs that are not known yet
}

// runKey tells runs apart.
type runKey struct {
	log   entry.Hash
	first uint64
	seal  [seal.Size]byte
}

// waitingRun is a run with the reason why it waits.
type waitingRun struct {
	run    *run
	from   source
	reason error
	until  hlc.Time // that its entry waits for, if it waits for the clock
}

func (w *waitingRun) key() runKey { return runKey{w.run.log, w.run.first, w.run.seal} }

// add adds runs that it does not have, as long as there is room.
func (r *room) add(runs ...waitingRun) {
	for _, w := range runs {
		n := w.run.size()
		ofLog := r.logs[w.run.log]
		full := len(r.runs) == roomRuns || r.size+n > roomSpace || ofLog > 0 && ofLog+n > roomLog
		if full || r.has[w.key()] || r.tooMany(w.from, n) {
			continue
		}
		if r.logs == nil {
			r.logs, r.has = map[entry.Hash]int{}, map[runKey]bool{}
			r.bytes, r.counts = map[source]int{}, map[source]int{}
		}
		r.bytes[w.from] += n
		r.counts[w.from]++
		if w.run.since.IsZero() {
			w.run.since = r.now()
		}
		r.runs = append(r.runs, w)
		r.has[w.key()] = true
		r.size += n
		r.logs[w.run.log] += n
	}
}

// keepWaiting adds runs to the room, as of who has brought them. The caller must hold mu.
func (s *Space) keepWaiting(runs []waitingRun) {
	for i := range runs {
		runs[i].from = s.sourceOf(runs[i].run.from)
	}
	s.room.add(runs...)
}

// tooMany reports whether a run of a source is more than its share, so that no device can keep the
// runs of others out, nor can strangers together. What did not come from a device has no share.
func (r *room) tooMany(from source, size int) bool {
	return from != (source{}) &&
		(r.counts[from] >= roomRuns/roomShare || r.bytes[from]+size > roomSpace/roomShare)
}

// addClaims adds fork proofs, unless there is no room for them.
func (r *room) addClaims(claims []claim) {
	for _, c := range claims {
		if n := c.size(); len(r.claims) < roomRuns && r.size+n <= roomSpace {
			r.claims, r.size = append(r.claims, c), r.size+n
		}
	}
}

// take takes runs out of the room.
func (r *room) take(wanted func(*waitingRun) bool) (taken []waitingRun) {
	kept := r.runs[:0]
	for _, w := range r.runs {
		if !wanted(&w) {
			kept = append(kept, w)
			continue
		}
		taken = append(taken, w)
		delete(r.has, w.key())
		r.size -= w.run.size()
		r.bytes[w.from] -= w.run.size()
		if r.counts[w.from]--; r.counts[w.from] == 0 {
			delete(r.bytes, w.from)
			delete(r.counts, w.from)
		}
		if r.logs[w.run.log] -= w.run.size(); r.logs[w.run.log] == 0 {
			delete(r.logs, w.run.log)
		}
	}
	clear(r.runs[len(kept):])
	r.runs = kept
	return taken
}

// awake takes runs and claims that may be ready out of the room: of logs with runs that have
// arrived, and of logs with a run whose wait the clock, the description of the space or a cut has
// ended. The own log, which is never parked, may always be ready.
func (s *Space) awake(arrived []*run) (runs []waitingRun, claims []claim) {
	logs := map[entry.Hash]bool{}
	for _, r := range arrived {
		logs[r.log] = true
	}
	now := s.time()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.room.runs {
		if w := &s.room.runs[i]; !s.retried || w.over(now, s.about != nil) {
			logs[w.run.log] = true
		}
	}
	runs = s.room.take(func(w *waitingRun) bool { return logs[w.run.log] })
	s.room.claims = slices.DeleteFunc(s.room.claims, func(c claim) bool {
		if !logs[c.log] && s.retried {
			return false
		}
		claims = append(claims, c)
		s.room.size -= c.size()
		return true
	})
	return runs, claims
}

// retryLater makes the next call of apply look at all that waits.
func (s *Space) retryLater() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retried = false
}

// over reports whether what a run waits for may have come, other than with runs of its log.
func (w *waitingRun) over(now time.Time, described bool) bool {
	switch {
	case errors.Is(w.reason, errAhead):
		return !w.until.Ahead(now)
	case errors.Is(w.reason, errUndescribed):
		return described
	}
	return !errors.Is(w.reason, errGap) && !errors.Is(w.reason, ErrNewer) &&
		!errors.Is(w.reason, errBranch)
}

// runsIn returns the runs that wait.
func runsIn(waiting []waitingRun) []*run {
	runs := make([]*run, len(waiting))
	for i := range waiting {
		runs[i] = waiting[i].run
	}
	return runs
}
