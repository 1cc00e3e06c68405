package session

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stoatdb/stoat/replica/internal/entry"
)

// Status is how far a session is.
type Status struct {
	Peer     [32]byte
	Skew     time.Duration // how far the peer's clock is ahead of this replica's
	Sent     uint64        // entries
	Received uint64        // entries that were merged, wait or were refused
	// CaughtUp says that everything the peer had when the session began is durable here, and
	// Acknowledged that the peer says so, too.
	CaughtUp, Acknowledged bool
	// ChunksLacking is how many chunks of a checkpoint are still to come with which the replica
	// starts.
	ChunksLacking uint64
	// Refused is why the peer did not take an entry, and stays what it was last.
	Refused string
	// Denied is why the peer gives nothing to this side; empty if it does.
	Denied string
}

// report tells how far the session is. No locks may be held.
func (s *Session) report(change func(*Status)) {
	if s.config.Report == nil {
		return
	}
	s.reporting.Lock()
	defer s.reporting.Unlock()
	s.status.Peer, s.status.Skew = s.peer.key, s.skew
	change(&s.status)
	s.config.Report(s.status)
}

func (s *Session) receiveRefused(p []byte) error {
	f, err := parseRefused(p)
	if err != nil {
		return err
	}
	reason := printable(f.reason)
	s.report(func(now *Status) { now.Refused = reason })
	if s.config.Once && !f.forked && len(s.refused) < refusedMax {
		if s.refused == nil {
			s.refused = map[entry.Hash]error{}
		}
		s.refused[f.log] = fmt.Errorf("%w: entry %d of log %x: %s", ErrNotTaken, f.seq, f.log, reason)
	}
	return nil
}

// refusedMax is of how many logs refusals of the peer are reported.
const refusedMax = 16

// ErrNotTaken reports a peer that did not take entries which it was given.
var ErrNotTaken = errors.New("the peer did not take entries of this replica")

// refusals returns what was not taken on either side, though the session ended well. Not so what
// the peer marks as forked: it reports that itself.
func (s *Session) refusals() error {
	return errors.Join(slices.AppendSeq(slices.Collect(maps.Values(s.sink.left)),
		maps.Values(s.refused))...)
}

// skewOf returns how far a clock, in milliseconds since 1970, is ahead of another one.
func skewOf(clock uint64, now time.Time) time.Duration {
	ahead := int64(min(clock, 1<<50)) - now.UnixMilli()
	return time.Duration(min(max(ahead, -1<<40), 1<<40)) * time.Millisecond
}
