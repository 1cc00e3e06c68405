package session

import (
	"bytes"
	"cmp"
	"container/heap"
)

const (
	compareMin = 256 // logs of a source that are listed without being compared
	tail       = 64  // logs that are listed with the first ranges
	tailGrowth = 6   // how many times as many are listed with the next ones
	splitsMost = 64  // parts of a range that is opened, if that makes at most spread in all
	spread     = 512
	roundsMax  = 32
)

// offer is how a source tells what it has to a sink that compares it by ranges. Of the writer
// alone, except where it says otherwise.
type offer struct {
	ends   *Ends
	from   int      // the ends from here on were listed
	ranges [][2]int // of the round, as indexes in ends
	opened bool     // some range was opened
	rounds int
	queue  []Head // to be listed
	tells  bool   // a round of ranges follows what is to be listed
	last   bool   // nothing does
	found  bool   // the ranges of the peer have shown what is to be listed
}

func (s *Session) receiveOpen(p []byte) error {
	o, err := parseOpen(p)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.source.opens != nil {
		return broken("it compares without end")
	}
	s.source.opens = &o
	s.wakeLocked()
	return nil
}

// beginOffer begins to compare, if there are enough logs for that.
func (s *Session) beginOffer() error {
	g := &s.source
	if g.reach.few || s.offered.Arrival <= compareMin {
		return nil
	}
	g.offer = &offer{}
	return nil
}

// mayOffer reports whether this side compares now. The one with the later news does first: when the
// other one has these, they differ no more.
func (s *Session) mayOffer() bool {
	later := cmp.Or(cmp.Compare(s.latest, s.source.reach.time),
		bytes.Compare(s.own.nonce[:], s.theirs.nonce[:]))
	if later > 0 {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.source.found != nil || s.sink.told || s.access.denied != ""
}

// takeFound makes the offer what the ranges of the peer have shown, if they have.
func (s *Session) takeFound(o *offer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.source.found
	if f == nil {
		return false
	}
	s.source.found = nil
	o.ends, o.queue, o.last, o.found = &Ends{Position: f.position}, f.heads, true, true
	return true
}

// more lists more of the ends, of so many in all.
func (o *offer) more(listed int) {
	from := max(0, len(o.ends.All)-listed)
	for i := from; i < o.from; i++ {
		o.queue = append(o.queue, o.ends.All[i].Head)
	}
	o.from = from
	o.ranges, o.tells = split(nil, 0, from, splits), true
}

// split appends the parts of a range, so many at most.
func split(dst [][2]int, from, to, parts int) [][2]int {
	each := (to - from + parts - 1) / parts
	for ; from < to; from += each {
		dst = append(dst, [2]int{from, min(from+each, to)})
	}
	return dst
}

// giveOffer appends what comes next of an offer, if that is to be sent now.
func (s *Session) giveOffer(dst []byte) ([]byte, error) {
	g := &s.source
	o := g.offer
	if o.ends == nil {
		if !s.mayOffer() {
			return dst, nil
		}
	}
	if o.ends == nil && !s.takeFound(o) {
		var err error
		if o.ends, err = s.space.Ends(); err != nil || len(o.ends.All) <= compareMin {
			g.offer = nil
			return dst, err
		}
		o.from = len(o.ends.All)
		o.more(tail)
	}
	s.mu.Lock()
	answer := g.opens
	g.opens = nil
	s.mu.Unlock()
	if answer != nil {
		if err := s.openRanges(answer); err != nil || g.offer == nil {
			return dst, err
		}
	}
	for len(o.queue) > 0 && g.stale+len(g.pages) < pagesMax {
		n := min(len(o.queue), headsMax)
		dst = s.givePage(dst, o.queue[:n], false)
		o.queue = o.queue[n:]
	}
	switch {
	case len(o.queue) > 0:
		return dst, nil
	case o.last:
		g.offer, g.at = nil, o.ends.Position
		g.listing = g.listing && !o.found // what the peer has given since is not news to it
		return dst, nil
	case !o.tells:
		return dst, nil
	}
	o.tells = false
	for i := 0; i == 0 || i < len(o.ranges); i += rangesMax {
		part := o.ranges[i:min(i+rangesMax, len(o.ranges))]
		sent := spans{last: i+rangesMax >= len(o.ranges)}
		for _, r := range part {
			all := o.ends.All
			sent.all = append(sent.all, span{between(&all[r[1]-1], &all[r[1]]), uint64(r[1] - r[0]),
				s.fingerprintOf(all[r[0]:r[1]], nil)})
		}
		dst = appendFrame(dst, frameRanges, sent.append(nil))
	}
	return dst, nil
}

// openRanges does what the sink asks for. Each range that it opens is listed, or parted.
func (s *Session) openRanges(answer *open) error {
	g := &s.source
	o := g.offer
	if o.rounds++; o.rounds > roundsMax || o.tells || len(o.queue) > 0 ||
		answer.how == openMore && (o.opened || o.from == 0) {
		return broken("it compares without end")
	}
	switch answer.how {
	case openAll:
		g.offer, g.at = nil, Position{}
		return nil
	case openMore:
		o.more(tailGrowth * (len(o.ends.All) - o.from))
		return nil
	}
	ranges := o.ranges
	o.ranges, o.opened = nil, true
	parts := max(splits, min(splitsMost, spread/max(1, len(answer.ranges)))) // fewer rounds
	for _, i := range answer.ranges {
		if i >= len(ranges) {
			return broken("it opens a range that there is not")
		}
		r := ranges[i]
		if r[1]-r[0] > listMax {
			o.ranges = split(o.ranges, r[0], r[1], parts)
			continue
		}
		for j := r[0]; j < r[1]; j++ {
			o.queue = append(o.queue, o.ends.All[j].Head)
		}
	}
	o.tells = len(o.ranges) > 0
	o.last = !o.tells
	return nil
}

// givePage appends a page of heads.
func (s *Session) givePage(dst []byte, heads []Head, last bool) []byte {
	g := &s.source
	pages := make([]page, len(heads))
	for i := range heads {
		h := &heads[i]
		pages[i] = page{h.Number, h.Next}
		h.Check = s.checkOf(h.Hash)
		if h.Cut {
			heap.Push(&g.cursors, cursor{log: h.Number, proof: true})
		}
	}
	if len(pages) > 0 {
		g.pages = append(g.pages, pages)
	}
	g.marked, g.fresh = false, false
	sent := headsPage{last: last, heads: heads}
	return appendFrame(dst, frameHeads, sent.append(nil))
}
