package session

import "time"

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
	s.report(func(now *Status) { now.Refused = printable(f.reason) })
	return nil
}

// skewOf returns how far a clock, in milliseconds since 1970, is ahead of another one.
func skewOf(clock uint64, now time.Time) time.Duration {
	ahead := int64(min(clock, 1<<50)) - now.UnixMilli()
	return time.Duration(min(max(ahead, -1<<40), 1<<40)) * time.Millisecond
}
