package session

import (
	"errors"
	"fmt"
)

// Why a side gives nothing to the other.
var (
	// ErrNotAllowed reports a device that may not do something.
	ErrNotAllowed = errors.New("not allowed")
	// ErrUnknown is the reason of a replica that has no description of the space yet. It gets one
	// from the peer, if it may have it.
	ErrUnknown = errors.New("this replica does not know yet who may read the space")
)

// access is who may read. Fields are guarded by Session.mu.
type access struct {
	asked   bool   // the space was asked at least once
	denies  error  // why this side gives nothing to the peer; nil: it may read
	told    bool   // the peer was told that
	denied  string // why the peer gives nothing to this side; "": it may read, as far as is known
	noted   [2]bool
	offered bool // the peer has given what it can without what this side denies
	final   bool // the peer has looked at everything from this side, and still denies
}

// mayRead asks the space whether the peer may read it now, and tells the peer if it may not.
func (s *Session) mayRead() (bool, error) {
	reason, err := s.space.MayRead(s.peer.key)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	a := &s.access
	if changed := !a.asked || (a.denies == nil) != (reason == nil); changed {
		a.told = false
		s.wakeLocked()
	}
	a.asked, a.denies = true, reason
	// A peer that has the description shows who it is by what it gives.
	tell := reason != nil && !a.told && (!errors.Is(reason, ErrUnknown) || s.peer.flags&flagAsks != 0)
	if tell {
		a.told = true
		s.sendLocked(frameDenied, []byte(cut(reason.Error())))
	}
	note := tell && !a.noted[0]
	a.noted[0] = a.noted[0] || note
	s.mu.Unlock()
	if note {
		s.space.Denied(s.peer.key, reason)
	}
	return reason == nil, nil
}

// reads reports whether the peer might read when that was last looked at.
func (s *Session) reads() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.access.denies == nil
}

// receiveDenied handles that the peer gives nothing to this side.
func (s *Session) receiveDenied(p []byte) error {
	if len(p) == 0 || len(p) > textMax {
		return broken("a reason of %d bytes", len(p))
	}
	reason := printable(string(p))
	s.mu.Lock()
	a := &s.access
	a.denied = reason
	note := !a.noted[1]
	a.noted[1] = true
	s.wakeLocked() // the writer need not wait for what the peer gives any more
	s.maybeEndLocked()
	s.mu.Unlock()
	if note {
		s.space.Denied(s.peer.key, deniedBy(reason))
	}
	s.report(func(now *Status) { now.Denied = reason })
	return nil
}

func deniedBy(reason string) error {
	return fmt.Errorf("%w: the peer gives nothing: %s", ErrNotAllowed, reason)
}

// permitted notes that the peer gives something to this side.
func (s *Session) permitted() {
	s.mu.Lock()
	was := s.access.denied != ""
	s.access.denied, s.access.final = "", false
	s.mu.Unlock()
	if was {
		s.report(func(now *Status) { now.Denied = "" })
	}
}

// denialLocked returns why a session that was for once cannot go on, or nil.
func (s *Session) denialLocked() error {
	switch a := &s.access; {
	case a.denied != "" && (a.denies != nil || a.final):
		return deniedBy(a.denied)
	case a.denies != nil && a.offered:
		return a.denies
	}
	return nil
}

// denial returns why one of the sides gives nothing, or nil.
func (s *Session) denial() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.access.denied != "" {
		return deniedBy(s.access.denied)
	}
	return s.access.denies
}

// start begins to give: the description, if the peer has asked for it, and then heads.
func (s *Session) start(dst []byte, reach *reach) ([]byte, error) {
	g := &s.source
	if s.peer.flags&flagAsks != 0 && !g.described {
		p, err := s.space.Description()
		if err != nil {
			return dst, err
		}
		if p != nil {
			dst = appendFrame(dst, frameDescription, p)
		}
		g.described = p != nil
	}
	if err := s.seal(); err != nil { // so that a peer that gives nothing is shown all at once
		return dst, err
	}
	token := reach.token
	if reach.all {
		token = s.offered.Token
	}
	arrival, ok, err := s.space.Resume(token)
	if err != nil {
		return dst, err
	}
	g.at, g.started, g.listing = Position{}, true, true
	if !ok && !g.stopped {
		return dst, s.beginOffer()
	} else if !ok {
		return dst, nil
	}
	g.at = Position{Arrival: arrival, Token: token}
	if !g.stopped && s.few() {
		g.listing, g.fresh, g.marked = false, true, reach.all
	}
	return dst, nil
}

// few reports whether the peer is sent what it lacks without being asked: it may have some of that
// from others.
func (s *Session) few() bool {
	news, _, ok := s.space.News(s.source.at.Arrival)
	n := uint64(0)
	for _, of := range news {
		n += of.To - of.From
	}
	return ok && n <= pushMax
}

// stop ends all giving, until the peer may read again. What it fetches of a checkpoint, it waits
// for: that is given then. Pages and ranges that it was sent before, it still answers.
func (s *Session) stop() {
	g := &s.source
	g.started, g.stopped, g.listing, g.marked = false, true, false, false
	g.cursors, g.offering.giving = nil, giving{}
	s.mu.Lock()
	g.final, g.acknowledged, g.opens = false, false, nil
	s.mu.Unlock()
	g.stale, g.pages, g.offer = g.stale+len(g.pages), nil, nil
}

// dropAnswers returns the answers that are not to pages from before this side stopped to give.
func (s *Session) dropAnswers(answers [][]choice) [][]choice {
	n := min(len(answers), s.source.stale)
	s.source.stale -= n
	return answers[n:]
}
