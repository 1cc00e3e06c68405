package replica

import (
	"errors"
	"fmt"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// Waiting is entries from others that this replica has, and has not merged.
type Waiting struct {
	Log    LogID     `json:"log"`
	First  uint64    `json:"first"` // the numbers of the entries
	Last   uint64    `json:"last"`
	Since  time.Time `json:"since"`         // by the clock of this replica
	Reason Reason    `json:"reason"`        // why First is not merged
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

// lacking is the reason why entries wait for another one, which they follow.
type lacking struct{ entry.Head }

// Error implements error.
func (l *lacking) Error() string {
	return fmt.Sprintf("entry %d of log %s, which it follows, is missing", l.Seq, l.Log)
}

// lackedBy returns the entry that a reason to wait is about, or nil.
func lackedBy(reason error) *lacking {
	var l *lacking
	if !errors.As(reason, &l) {
		return nil
	}
	return l
}

// Waiting returns what waits, since when, and for what.
func (s *Space) Waiting(tx *stoat.Tx) ([]Waiting, error) {
	all, err := s.allWaiting(tx)
	return all, wrap(s.name, err)
}

// allWaiting is Waiting, with errors that do not name the space.
func (s *Space) allWaiting(tx *stoat.Tx) ([]Waiting, error) {
	all, err := s.unmerged(tx, func(w *wait) bool { return !w.ends() })
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.room.runs {
		v := Waiting{Log: LogID(w.run.log), First: w.run.first, Last: w.run.end() - 1,
			Since: w.run.since, Reason: Reason{w.reason}}
		if l := lackedBy(w.reason); l != nil {
			v.For = &EntryID{LogID(l.Log), l.Seq}
		} else if errors.Is(w.reason, errGap) {
			v.For = &EntryID{v.Log, v.First - 1}
		}
		all = append(all, v)
	}
	return all, err
}

// Ended returns the entries that are not valid, and why. Their logs end before them; what precedes
// them counts.
func (s *Space) Ended(tx *stoat.Tx) ([]Waiting, error) {
	all, err := s.unmerged(tx, (*wait).ends)
	return all, wrap(s.name, err)
}

// unmerged returns the parked entries with some waits.
func (s *Space) unmerged(tx *stoat.Tx, some func(*wait) bool) (all []Waiting, err error) {
	t, err := s.in(tx)
	if err != nil {
		return nil, err
	}
	err = t.eachWait(func(log uint32, w *wait) error {
		h, err := t.head(log)
		if err != nil || !some(w) {
			return err
		}
		v := Waiting{Log: LogID(h.id), First: h.next, Last: h.sealed - 1, Reason: Reason{w.reason()},
			Since: time.UnixMilli(int64(w.since)).UTC()}
		if w.cause == causeContext {
			v.For = &EntryID{LogID(w.needs.Log), w.needs.Seq}
		}
		all = append(all, v)
		return nil
	})
	return all, err
}
