package replica

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stoatdb/stoat/replica/internal/entry"
)

// Limits of a room: bytes of a log and in all, and runs, because each is verified again when others
// arrive.
const (
	roomLog   = 4 << 20
	roomSpace = 64 << 20
	roomRuns  = 1024
)

// room keeps the runs that wait for others. What does not fit is dropped: it arrives again with a
// later exchange.
type room struct {
	now    func() time.Time
	runs   []waiting
	size   int
	logs   map[entry.Hash]int
	claims []claim
}

// waiting is a run with the reason why it waits.
type waiting struct {
	run    *run
	reason error
}

// add adds a run, unless there is no room for it.
func (r *room) add(run *run, reason error) {
	n := run.size()
	ofLog := r.logs[run.log]
	if len(r.runs) == roomRuns || r.size+n > roomSpace || ofLog > 0 && ofLog+n > roomLog {
		return
	}
	if r.logs == nil {
		r.logs = map[entry.Hash]int{}
	}
	if run.since.IsZero() {
		run.since = r.now()
	}
	r.runs = append(r.runs, waiting{run, reason})
	r.size += n
	r.logs[run.log] += n
}

// addClaims adds fork proofs, unless there is no room for them.
func (r *room) addClaims(claims []claim) {
	for _, c := range claims {
		if n := c.size(); len(r.claims) < roomRuns && r.size+n <= roomSpace {
			r.claims, r.size = append(r.claims, c), r.size+n
		}
	}
}

// take returns everything and leaves nothing.
func (r *room) take() ([]*run, []claim) {
	all, claims := make([]*run, 0, len(r.runs)), r.claims
	for _, w := range r.runs {
		all = append(all, w.run)
	}
	*r = room{now: r.now}
	return all, claims
}

// lacking is the reason why entries wait for another one, which they follow.
type lacking struct{ entry.Head }

// Error implements error.
func (l *lacking) Error() string {
	return fmt.Sprintf("entry %d of log %s, which it follows, is missing", l.Seq, l.Log)
}

// Waiting is entries from others that this replica has, and cannot merge yet. They are in memory
// only: after a restart, they arrive again with the next session.
type Waiting struct {
	Log    LogID     `json:"log"`
	First  uint64    `json:"first"` // the numbers of the entries
	Last   uint64    `json:"last"`
	Since  time.Time `json:"since"`
	Reason Reason    `json:"reason"`
	For    *EntryID  `json:"for,omitempty"` // an entry that must arrive before; nil: none
}

// Reason is an error that is encoded as its message.
type Reason struct{ Err error }

// Error implements error.
func (r Reason) Error() string { return r.Err.Error() }

// Unwrap returns the error.
func (r Reason) Unwrap() error { return r.Err }

// MarshalText implements [encoding.TextMarshaler].
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.Err.Error()), nil }

// Waiting returns what waits, since when, and for what.
func (s *Space) Waiting() []Waiting {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Waiting
	for _, w := range s.room.runs {
		v := Waiting{Log: LogID(w.run.log), First: w.run.first, Last: w.run.end() - 1,
			Since: w.run.since, Reason: Reason{w.reason}}
		var l *lacking
		if errors.As(w.reason, &l) {
			v.For = &EntryID{LogID(l.Log), l.Seq}
		} else if errors.Is(w.reason, errGap) {
			v.For = &EntryID{v.Log, v.First - 1}
		}
		all = append(all, v)
	}
	return all
}

// refusalsMax is how many of the last refusals are remembered.
const refusalsMax = 64

// Refusal is an entry from others that was not taken, nor what follows it in its log.
type Refusal struct {
	EntryID
	Time   time.Time `json:"time"`
	Reason Reason    `json:"reason"`
}

// refusals are the last refusals since the space was opened.
type refusals struct {
	count uint64
	last  []Refusal
}

// add adds a refusal.
func (r *refusals) add(f Refusal) {
	r.count++
	if len(r.last) == refusalsMax {
		r.last = slices.Delete(r.last, 0, 1)
	}
	r.last = append(r.last, f)
}
