package session

import (
	"container/heap"
	"errors"
	"slices"
)

// window is the credit of a source before the sink has given more.
const window = 3 << 19

// wholeCost is the credit that a run or another whole takes besides its bytes. So small ones do not
// take more memory than there is credit for.
const wholeCost = 256

// creditMax is the most credit that a sink may give.
const creditMax = 1 << 40

// Limits of a source.
const (
	cursorsMax = 9 << 10   // logs that a sink asks for at a time
	cursorsFew = 2 << 10   // on their way, below which others are announced
	burst      = 256 << 10 // bytes that are written at once, about
	pushMax    = 1 << 10   // entries that a peer is sent without being asked what it has of them
)

// source is what this side gives to the peer.
type source struct {
	reader Reader // fixed when reach is known

	// Guarded by Session.mu: what the peer has said, until the writer looks at it.
	reach        *reach // what the peer has
	wants        []want
	answers      [][]choice // to pages of heads
	opens        *open      // what the peer answered to ranges
	found        *found     // what it lacks, as its ranges have shown
	credit       int64      // bytes of runs that the peer still takes
	acknowledged bool       // the peer has durably what the final mark was about

	// Of the writer alone.
	hears   bool // what changes here, since the peer has sent its token
	started bool // the peer may read
	// described says that the peer was sent the description that it had asked for.
	described bool
	stopped   bool     // there was a time when it might not
	pages     [][]page // of heads that were sent and not answered
	stale     int      // pages before these, from before the peer might not read for a while
	offer     *offer   // while the peer compares ranges
	listing   bool     // other pages of heads follow before the writer follows the news
	fresh     bool     // nothing was sent since the token
	from      Position // after which came what was pushed last
	at        Position // up to which the peer was told
	cursors   cursors
	offering  offering
	marked    bool  // the peer knows that it was sent everything up to at
	final     bool  // the mark was one behind which nothing was held back
	said      Token // of the last mark
}

// page is a log on a page of heads.
type page struct {
	log  uint32
	next uint64
}

func (s *Session) receiveToken(p []byte) error {
	k, err := parseReach(p)
	if err != nil {
		return err
	}
	confirms := k.all && s.whole && s.reads() // so there is nothing to be marked
	if confirms {
		s.report(func(now *Status) { now.Acknowledged = true })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.source.reach != nil {
		return broken("a second token")
	}
	s.source.reach, s.source.credit = &k, window
	if confirms {
		s.source.final, s.source.acknowledged = true, true
		s.maybeEndLocked()
	}
	s.wakeLocked()
	return nil
}

func (s *Session) receiveWants(p []byte) error {
	w, err := parseWants(p)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	g := &s.source
	if g.reach == nil || len(g.wants)+len(w.wants) > cursorsMax || len(g.answers) == pagesMax {
		return broken("it wants more than it was offered")
	}
	g.wants = append(g.wants, w.wants...)
	if w.answer {
		g.answers = append(g.answers, w.choices)
	}
	s.wakeLocked()
	return nil
}

func (s *Session) receiveCredit(p []byte) error {
	n, err := parseCredit(p)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.source.credit += int64(n); s.source.credit > creditMax {
		return broken("it gives endless credit")
	}
	s.wakeLocked()
	return nil
}

func (s *Session) receiveAck(p []byte) error {
	a, err := parseAck(p)
	if err != nil {
		return err
	}
	s.report(func(now *Status) { now.Acknowledged = now.Acknowledged || a.final })
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.access.final = a.denied; a.denied {
		s.maybeEndLocked()
	}
	if a.final && s.source.final {
		s.source.acknowledged = true
		s.maybeEndLocked()
	}
	return nil
}

// give appends the next frames that this side gives, if there are any.
func (s *Session) give(dst []byte) ([]byte, error) {
	g := &s.source
	dst, err := s.take(dst)
	if err != nil || !g.started {
		return dst, err
	}
	few := len(g.cursors) < cursorsFew
	if few && g.offer != nil {
		if dst, err = s.giveOffer(dst); err != nil {
			return dst, err
		}
	}
	switch {
	case !few || g.offer != nil:
	case g.listing && g.stale+len(g.pages) < pagesMax:
		return s.giveHeads(dst)
	case g.listing, len(g.pages) > 0:
		return dst, nil // until the peer has answered
	}
	before := len(dst)
	dst, done, err := s.giveStart(dst)
	if err != nil || !done {
		return dst, err
	}
	for len(g.cursors) > 0 && len(dst) < burst && s.spend(0) {
		if dst, err = s.giveRun(dst); err != nil {
			return dst, err
		}
	}
	if g.offering.offer && err == nil { // before the mark
		dst, _, err = s.giveStart(dst)
	}
	if err == nil && len(dst) > before { // other sessions may have merged it just now
		err = s.space.Sync()
	}
	if len(g.cursors) > 0 || len(dst) > 0 || g.offer != nil {
		return dst, err
	}
	if err := s.seal(); err != nil {
		return dst, err
	}
	return s.follow(dst)
}

// take takes over what the peer has said, and begins or ends to give by whether it may read.
func (s *Session) take(dst []byte) ([]byte, error) {
	g := &s.source
	s.mu.Lock()
	reach, wants, answers := g.reach, g.wants, g.answers
	g.wants, g.answers = nil, nil
	s.mu.Unlock()
	if reach == nil {
		return dst, nil
	}
	g.hears = true
	may, err := s.mayRead()
	if err != nil {
		return dst, err
	}
	if !may {
		s.stop()
	}
	if answers = s.dropAnswers(answers); !may {
		return dst, nil
	}
	if err := s.takeFetches(); err != nil {
		return dst, err
	}
	if !g.started {
		return s.start(dst, reach)
	}
	for _, choices := range answers {
		if err := s.queueAnswer(choices); err != nil {
			return dst, err
		}
	}
	return dst, s.queue(wants)
}

// queueAnswer puts what the peer wants of a page of heads on its way.
func (s *Session) queueAnswer(choices []choice) error {
	g := &s.source
	if len(g.pages) == 0 {
		return broken("it answers what it was not sent")
	}
	heads := g.pages[0]
	g.pages = g.pages[1:]
	for _, c := range choices {
		if c.index >= len(heads) || c.from >= heads[c.index].next {
			return broken("it wants more than it was offered")
		}
		h := heads[c.index]
		if err := s.addCursor(cursor{log: h.log, seq: c.from, end: h.next, brief: true}); err != nil {
			return err
		}
	}
	if len(choices) > 0 {
		g.marked = false
	}
	return nil
}

// queue puts what the peer wants on its way.
func (s *Session) queue(wants []want) error {
	g := &s.source
	if len(wants) == 0 {
		return nil
	}
	if len(g.cursors)+len(wants) > cursorsMax+pagesMax*headsMax {
		return broken("it wants more than it was offered")
	}
	for part := range slices.Chunk(wants, wantsMax) {
		if err := s.queuePart(part); err != nil {
			return err
		}
	}
	g.marked = false
	return nil
}

// queuePart does so for some of the wants.
func (s *Session) queuePart(wants []want) error {
	heads := make([]Head, len(wants))
	for i := range wants {
		heads[i] = Head{Log: wants[i].log, Next: wants[i].to}
	}
	logs, err := s.space.Find(heads)
	if err != nil {
		return err
	}
	for i, l := range logs {
		if to := min(wants[i].to, l.Sealed); wants[i].from < to {
			c := cursor{log: l.Number, seq: wants[i].from, end: to, brief: true,
				content: wants[i].content}
			if err := s.addCursor(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// giveHeads appends a page of heads.
func (s *Session) giveHeads(dst []byte) ([]byte, error) {
	g := &s.source
	heads, at, more, err := s.space.Announce(g.at.Arrival, headsMax)
	if err != nil {
		return dst, err
	}
	g.at, g.listing = at, more
	return s.givePage(dst, heads, !more), nil
}

// seal seals what this replica has written, unless the peer may have more of the own log: that has
// to be taken back first, or the log would fork. From a peer that gives nothing, it cannot be.
func (s *Session) seal() error {
	s.mu.Lock()
	may := s.sink.ownKnown || s.access.denied != ""
	s.mu.Unlock()
	if !may {
		return nil
	}
	return s.space.Seal()
}

// follow appends the mark that the peer was told everything, or else what has arrived since.
func (s *Session) follow(dst []byte) ([]byte, error) {
	g := &s.source
	s.mu.Lock()
	resolved := s.sink.ownKnown || s.sink.ownStuck
	s.mu.Unlock()
	news, at, ok := s.space.News(g.at.Arrival)
	first := g.fresh && len(news) > 0 && ok
	if final := resolved && len(news) == 0 && ok; !first && (!g.marked || final && !g.final) {
		g.marked, g.fresh = true, false
		if g.offering.state == pruningOffered {
			g.offering.state = pruningTold
		}
		s.mu.Lock()
		g.final = g.final || final
		s.mu.Unlock()
		m := mark{final: final, again: g.said == g.at.Token, token: g.at.Token}
		g.said = g.at.Token
		return appendFrame(dst, frameMark, m.append(nil)), nil
	}
	if !ok {
		return s.giveHeads(dst)
	}
	g.fresh, g.from = false, g.at
	err := s.push(news, first)
	if errors.Is(err, ErrPruned) {
		return s.giveHeads(dst) // the peer may have it
	} else if err != nil {
		return dst, err
	}
	if len(news) > 0 {
		g.at, g.marked = at, false
		return s.give(dst)
	}
	return dst, nil
}

// push puts what arrived on its way, unless the peer has given it. First says that the peer has
// everything before that.
func (s *Session) push(news []News, first bool) error {
	g := &s.source
	grown := map[uint32]int{} // the cursors of logs, if first
	var all []cursor
	for _, n := range news {
		if n.Cut {
			heap.Push(&g.cursors, cursor{log: n.Log, proof: true})
		}
		if n.Session == s.config.Number || n.From == n.To {
			continue
		}
		if i, ok := grown[n.Log]; ok {
			all[i].end = n.To
			continue
		}
		if first {
			grown[n.Log] = len(all)
		}
		all = append(all, cursor{log: n.Log, seq: n.From, end: n.To, brief: first, pushed: true})
	}
	for _, c := range all {
		if err := s.addCursor(c); err != nil {
			return err
		}
	}
	return nil
}
