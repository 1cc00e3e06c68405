package session

import (
	"cmp"
	"container/heap"
)

// window is how many bytes of runs a source may send before the sink has given more credit.
const window = 4 << 20

// creditMax is the most credit that a sink may give.
const creditMax = 1 << 40

// Limits of a source.
const (
	cursorsMax = 1 << 16   // logs that a sink asks for at a time; twice that in all
	burst      = 256 << 10 // bytes that are written at once, about
)

// source is what this side gives to the peer.
type source struct {
	// Guarded by Session.mu: what the peer has said, until the writer looks at it.
	token        *Token // what the peer has
	wants        []want
	answered     bool  // the page of heads
	credit       int64 // bytes of runs that the peer still takes
	acknowledged bool  // the peer has durably what the final mark was about

	// Of the writer alone.
	hears   bool // what changes here, since the peer has sent its token
	started bool // the peer may read
	// described says that the peer was sent the description that it had asked for.
	described bool
	paged     bool     // a page of heads was sent and not answered
	listing   bool     // other pages of heads follow before the writer follows the news
	at        Position // up to which the peer was told
	cursors   cursors
	marked    bool // the peer knows that it was sent everything up to at
	final     bool // the mark was one behind which nothing was held back
}

// cursor is a log on its way to the peer.
type cursor struct {
	log      uint32
	seq, end uint64 // the next entry to send, and the first not to
	time     uint64 // of the next entry
	proof    bool   // the fork proof of the log, instead of entries
}

// cursors is a heap of cursors by the times of their next entries, so that entries mostly arrive
// after what they follow.
type cursors []cursor

func (q cursors) Len() int           { return len(q) }
func (q cursors) Less(i, j int) bool { return cmp.Less(q[i].time, q[j].time) }
func (q cursors) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *cursors) Push(v any)        { *q = append(*q, v.(cursor)) }

func (q *cursors) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

func (s *Session) receiveToken(p []byte) error {
	t, err := parseToken(p)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.source.token != nil {
		return broken("a second token")
	}
	s.source.token, s.source.credit = &t, window
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
	if s.source.token == nil || len(s.source.wants)+len(w.wants) > cursorsMax {
		return broken("it wants more than it was offered")
	}
	s.source.wants = append(s.source.wants, w.wants...)
	s.source.answered = s.source.answered || w.answer
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

// write writes frames until the session ends.
func (s *Session) write() error {
	var buf, packed []byte
	var pack packer
	for {
		changed := s.changed()
		s.mu.Lock()
		buf, s.out = append(buf[:0], s.out...), s.out[:0]
		if len(buf) == 0 || cap(s.out) > burst {
			s.out = nil
		}
		ending := s.ending
		s.mu.Unlock()
		if !ending {
			var err error
			if buf, err = s.give(buf); err != nil {
				s.fail(err)
				continue
			}
		}
		if len(buf) > 0 {
			var err error
			if packed, err = pack.pack(packed[:0], buf); err != nil {
				s.fail(err)
				continue
			}
			if err := s.writePatiently(packed); err != nil {
				return err
			}
		}
		switch {
		case ending:
			return nil
		case len(buf) > 0:
			continue
		}
		buf, packed = nil, nil // nothing is kept while nothing happens
		select {
		case <-s.wake:
		case <-changed:
		}
	}
}

// changed returns the channel of Space.Changed once this side looks at the news.
func (s *Session) changed() <-chan struct{} {
	if !s.source.hears {
		return nil
	}
	return s.space.Changed()
}

// give appends the next frames that this side gives, if there are any.
func (s *Session) give(dst []byte) ([]byte, error) {
	g := &s.source
	dst, err := s.take(dst)
	if err != nil || !g.started {
		return dst, err
	}
	if few := len(g.cursors) < cursorsMax/2; few && g.paged {
		return dst, nil // until the peer has answered
	} else if few && g.listing {
		return s.giveHeads(dst)
	}
	before := len(dst)
	for len(g.cursors) > 0 && len(dst) < burst && s.spend(0) {
		if dst, err = s.giveRun(dst); err != nil {
			return dst, err
		}
	}
	if len(dst) > before { // other sessions may have merged it just now
		err = s.space.Sync()
	}
	if len(g.cursors) > 0 || len(dst) > 0 {
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
	token, wants := g.token, g.wants
	g.wants = nil
	if g.answered {
		g.answered, g.paged = false, false
	}
	s.mu.Unlock()
	if token == nil {
		return dst, nil
	}
	g.hears = true
	may, err := s.mayRead()
	if err != nil {
		return dst, err
	}
	if !may {
		s.stop()
		return dst, nil
	}
	if !g.started {
		return s.start(dst, *token)
	}
	return dst, s.queue(wants)
}

// queue puts what the peer wants on its way.
func (s *Session) queue(wants []want) error {
	g := &s.source
	if len(wants) == 0 {
		return nil
	}
	if len(g.cursors)+len(wants) > 2*cursorsMax {
		return broken("it wants more than it was offered")
	}
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
			if err := s.addCursor(l.Number, wants[i].from, to); err != nil {
				return err
			}
		}
	}
	g.marked = false
	return nil
}

// addCursor puts a log on its way to the peer.
func (s *Session) addCursor(log uint32, from, to uint64) error {
	at, err := s.space.Time(log, from)
	if err == nil {
		heap.Push(&s.source.cursors, cursor{log: log, seq: from, end: to, time: at})
	}
	return err
}

// giveHeads appends a page of heads.
func (s *Session) giveHeads(dst []byte) ([]byte, error) {
	g := &s.source
	heads, at, more, err := s.space.Announce(g.at.Arrival, headsMax)
	if err != nil {
		return dst, err
	}
	for i := range heads {
		heads[i].Check = s.checkOf(heads[i].Hash)
		if heads[i].Cut {
			heap.Push(&g.cursors, cursor{log: heads[i].Number, proof: true})
		}
	}
	page := headsPage{last: !more, heads: heads}
	g.at, g.marked, g.listing, g.paged = at, false, more, len(heads) > 0
	return appendFrame(dst, frameHeads, page.append(nil)), nil
}

// giveRun appends the next run of the log whose next entry is the oldest.
func (s *Session) giveRun(dst []byte) ([]byte, error) {
	g := &s.source
	c := &g.cursors[0]
	if c.proof {
		return s.giveProof(dst, c.log)
	}
	run, err := s.space.Run(c.log, c.seq)
	if err != nil {
		return dst, err
	}
	dst = s.giveWhole(dst, frameRun, run.Append(nil))
	s.report(func(now *Status) { now.Sent += uint64(len(run.Entries)) })
	if c.seq = run.End(); c.seq >= c.end {
		heap.Pop(&g.cursors)
		return dst, nil
	}
	if c.time, err = s.space.Time(c.log, c.seq); err == nil {
		heap.Fix(&g.cursors, 0)
	}
	return dst, err
}

// giveProof appends the fork proof of a log, whose cursor is the first. A peer that is the device
// of the log gets what is behind the cut, too: it issues that again, if it is of another branch
// than its own.
func (s *Session) giveProof(dst []byte, log uint32) ([]byte, error) {
	heap.Pop(&s.source.cursors)
	p, err := s.space.Proof(log)
	if err != nil {
		return dst, err
	}
	dst = s.giveWhole(dst, frameProof, p.Encoded)
	if p.Device == s.peer.key && p.From < p.To {
		err = s.addCursor(log, p.From, p.To)
	}
	return dst, err
}

// giveWhole appends a run or a fork proof, in as many frames as it takes.
func (s *Session) giveWhole(dst []byte, k kind, p []byte) []byte {
	s.spend(len(p))
	for len(p) > FrameMax {
		dst, p = appendFrame(dst, framePart, p[:FrameMax]), p[FrameMax:]
	}
	return appendFrame(dst, k, p)
}

// spend takes bytes from the peer's credit, and reports whether there was any.
func (s *Session) spend(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	had := s.source.credit > 0
	s.source.credit -= int64(n)
	return had
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
	if final := resolved && len(news) == 0 && ok; !g.marked || final && !g.final {
		g.marked = true
		s.mu.Lock()
		g.final = g.final || final
		s.mu.Unlock()
		m := mark{final: final, token: g.at.Token}
		return appendFrame(dst, frameMark, m.append(nil)), nil
	}
	if !ok {
		return s.giveHeads(dst)
	}
	for _, n := range news {
		if n.Cut {
			heap.Push(&g.cursors, cursor{log: n.Log, proof: true})
		}
		if n.Session == s.config.Number || n.From == n.To {
			continue
		}
		if err := s.addCursor(n.Log, n.From, n.To); err != nil {
			return dst, err
		}
	}
	if len(news) > 0 {
		g.at, g.marked = at, false
		return s.give(dst)
	}
	return dst, nil
}
