package replica

import (
	"errors"
	"fmt"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/replica/internal/chunk"
)

// Failure is why a session or a request could not go on: one of the two cannot store or give what
// it has to. The reason says what to do, and where.
type Failure struct {
	Device DeviceID  `json:"device"` // the other one; zero if nobody knows it
	Time   time.Time `json:"time"`
	Here   bool      `json:"here"` // the reason is about this replica, and not the other one
	Reason Reason    `json:"reason"`
}

// noteEnd notes why a session with a device ended, zero if nobody knows which. One that broke, or
// that the program did not want, says nothing.
func (s *Space) noteEnd(device DeviceID, err error) {
	here := reasonOf(err) != ""
	failed := here || errors.Is(err, ErrEnded)
	if err != nil && !failed || errors.Is(err, errUnwelcome) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetFailure(device)
	if !failed {
		return
	}
	s.failures.add(s.sourceOf(device), Failure{device, s.now(), here, Reason{err}})
}

// forgetFailure forgets what was noted of a device, and of one that nobody knew, which may be the
// same. The caller must hold mu.
func (s *Space) forgetFailure(device DeviceID) {
	s.failures.drop(func(f *Failure) bool { return f.Device == device || f.Device == DeviceID{} })
}

// errUnwelcome reports a device that a program has refused a session.
var errUnwelcome = errors.New("SyncOptions.Admit refuses the device")

// reasonOf returns what the peer is told of an error of this replica, for which a session ends, and
// what is to be done about it; or "". It has nothing of the error, but what a program gave as its
// reason.
func reasonOf(err error) string {
	if o := (*objection)(nil); errors.As(err, &o) && o.what == errUnwelcome {
		return "its program does not admit this device: " + o.told()
	}
	for _, known := range []struct {
		err  error
		told string
	}{
		{remote.ErrFenced, "another process has taken over its database, and writes it now: have " +
			"sessions with that one"},
		{stoat.ErrReadOnly, "its database is read-only: it takes nothing until it is opened for writing"},
		{stoat.ErrNoSpace, "its disk is full: it takes nothing until there is space"},
		{stoat.ErrPoisoned, "its database takes nothing after a write that failed: it must be closed " +
			"and opened again"},
		{stoat.ErrClosed, "its database was closed: it must be opened again"},
		{stoat.ErrCorrupt, "its database is damaged: it must be checked, and restored from a backup"},
		{ErrMismatch, "its state is not that of the checkpoint: both replicas must be verified"},
		{chunk.ErrTooLarge, "a record there has more than 32 MiB: some of it must be removed"},
		{errForgotten, "another session has begun with another checkpoint: begin again"},
		{ErrInvalid, "it was given something that is not valid: both replicas must be verified"},
	} {
		if errors.Is(err, known.err) {
			return known.told
		}
	}
	return ""
}

// toWrite returns an error, and says what to do if this replica cannot write to its database.
func toWrite(err error) error {
	switch {
	case errors.Is(err, remote.ErrFenced):
		err = fmt.Errorf("this replica cannot store what others have (%w): close its database and use "+
			"that of the other process; what only the folder here has, bring to others after opening it "+
			"with stoat.Open", err)
	case errors.Is(err, stoat.ErrReadOnly):
		err = fmt.Errorf("this replica cannot store what others have (%w): open its database for "+
			"writing, or bring what it has to others by Export, which only reads", err)
	}
	return err
}
