package replica

import (
	"errors"
	"fmt"
	"time"

	"github.com/stoatdb/stoat"
)

// ErrAhead reports a device whose newest entries are more than five minutes ahead of the clock of
// the peer: they wait there until their time has come.
var ErrAhead = errors.New("what this device wrote is ahead of the clock of the peer, and waits " +
	"there until that time: set the clock that is wrong")

// ahead returns how far the newest own entry is ahead of a clock, or 0 if others take it already.
func (t *txn) ahead(clock time.Time) (time.Duration, error) {
	h, err := t.ownHead()
	if err != nil || h.last() == 0 || !h.time.Ahead(clock) { // it has written nothing, or in time
		return 0, err
	}
	return h.time.Time().Sub(clock), nil
}

// aheadStatus returns how far the newest own entry is ahead of the clock here, or of that of the
// last peer if that shows less.
func (t *txn) aheadStatus() (time.Duration, error) {
	s := t.space
	s.mu.Lock()
	behind := min(s.skew, 0)
	s.mu.Unlock()
	return t.ahead(s.time().Add(behind))
}

// takenBy returns an error that is ErrAhead if the newest own entry waits at a peer whose clock is
// so far ahead of the one here.
func (s *Space) takenBy(skew time.Duration) error {
	var ahead time.Duration
	err := s.db.View(func(tx *stoat.Tx) error {
		t, err := s.in(tx)
		if err == nil {
			ahead, err = t.ahead(s.time().Add(skew))
		}
		return err
	})
	if err == nil && ahead > 0 {
		err = fmt.Errorf("%w: by %s", ErrAhead, ahead.Round(time.Second))
	}
	return err
}

// noteClock takes what the clock of a device says that has come to a session, unless the device may
// not read: then anybody may say that. It merges what has waited for a time that has come.
func (s *Space) noteClock(device DeviceID, skew time.Duration) error {
	var due []uint32
	err := s.db.View(func(tx *stoat.Tx) error {
		t, err := s.in(tx)
		if err != nil {
			return err
		}
		if reason, err := t.mayRead(device); err != nil || reason != nil {
			return err
		}
		s.mu.Lock()
		s.skew = skew
		s.mu.Unlock()
		due, err = t.due(false)
		return err
	})
	if err == nil && len(due) > 0 {
		err = s.apply(nil)
	}
	if errors.Is(err, stoat.ErrNoSpace) || errors.Is(err, stoat.ErrReadOnly) {
		err = nil // it goes on waiting, and the peer can be given what is here
	}
	return err
}
