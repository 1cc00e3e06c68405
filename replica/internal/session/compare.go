package session

// comparison is how a sink finds out in which ranges a source has other ends of logs. Of the
// goroutine that merges.
type comparison struct {
	ends   *Ends // of this side
	over   bool  // the sink has answered that it needs no more ranges
	rounds int
	round  []span                    // what arrived of the round
	parts  []part                    // ranges that the round is about: those that were opened
	listed map[[prefixSize]byte]bool // logs at the end, in no range; true: the source has less
	oldest int                       // of the logs that were listed first of the last ones, so many
	news   int                       // of which so many were news
	lacks  lacks
}

// part is a range that was opened and is not listed.
type part struct {
	begin, end bound
	count      uint64
}

// listedMax is the most logs that are listed at the end, before ranges are opened.
const listedMax = 1 << 13

// framesMax is the most frames of a round of ranges.
const framesMax = splits*opensMax/rangesMax + 1

func (s *Session) receiveRanges(p []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sink.ranges++; s.sink.ranges > framesMax {
		return broken("ranges before the others were answered")
	}
	return s.queueLocked(item{kind: frameRanges, payload: p})
}

// noteListed notes logs on a page of heads, and how many of the oldest are news. Less says of which
// logs the source has less than this side.
func (c *comparison) noteListed(heads []Head, choices []choice, less []bool) {
	if c.parts != nil {
		c.lacks.note(heads, less)
		return
	}
	if c.over || len(c.listed) > listedMax {
		return
	}
	if c.listed == nil {
		c.listed = map[[prefixSize]byte]bool{}
	}
	if c.oldest == 0 {
		c.oldest = (len(heads) + 1) / 2
		for _, chosen := range choices {
			if chosen.index < c.oldest {
				c.news++
			}
		}
	}
	for i := range heads {
		c.listed[heads[i].Log] = less[i]
	}
}

// mergeRanges compares a round of ranges, once all of it is here, and says how to go on.
func (s *Session) mergeRanges(p []byte) error {
	c := &s.sink.compared
	got, err := parseSpans(p)
	if err != nil {
		return s.misread(frameRanges, err)
	}
	s.mu.Lock()
	s.sink.ranges--
	s.mu.Unlock()
	if c.round = append(c.round, got.all...); c.over || len(c.round) > splits*opensMax {
		return broken("ranges without end")
	} else if !got.last {
		return nil
	}
	if c.rounds++; c.rounds > roundsMax {
		return broken("ranges without end")
	}
	if !s.reads() { // what is here is nobody's business
		return s.answerRanges(open{how: openAll})
	}
	if c.ends == nil {
		ends, err := s.space.Ends()
		if err != nil {
			return err
		}
		c.ends = ends
	}
	opened, parts, counted, err := s.differing()
	if err != nil {
		return err
	}
	var all uint64
	for _, p := range parts {
		all += p.count
	}
	if c.parts == nil {
		c.lacks.tail = bound{}
		if n := len(c.round); n > 0 {
			c.lacks.tail = c.round[n-1].end
		}
	}
	more := c.parts == nil && c.news*4 > c.oldest && len(c.listed) < listedMax
	switch {
	case len(opened) == 0:
		c.parts = []part{}
		return s.answerRanges(open{how: openRanges})
	case c.parts == nil && uint64(len(c.ends.All)) < counted/8 || len(opened) > opensMax:
		return s.answerRanges(open{how: openAll})
	case more:
		c.oldest, c.news = 0, 0
		return s.answerRanges(open{how: openMore})
	}
	c.parts = []part{}
	for _, p := range parts {
		if p.count > listMax {
			c.parts = append(c.parts, p)
		} else {
			c.lacks.expect(p)
		}
	}
	return s.answerRanges(open{how: openRanges, ranges: opened})
}

// answerRanges answers a round of ranges.
func (s *Session) answerRanges(o open) error {
	c := &s.sink.compared
	c.round = nil
	if o.how == openAll {
		*c = comparison{over: true}
	}
	c.over = c.over || o.how == openRanges && len(c.parts) == 0
	s.send(frameOpen, o.append(nil))
	s.conclude()
	return nil
}

// differing returns the ranges of the round in which this side has other ends than the source, and
// how many ends all of them have. Each part of a range must be much smaller, and all of them as
// large as the range; so the comparison comes to an end.
func (s *Session) differing() (opened []int, parts []part, counted uint64, err error) {
	c := &s.sink.compared
	parents, i := c.parts, 0
	if first := parents == nil; first {
		parents = []part{{}}
	}
	for _, parent := range parents {
		begin, left := parent.begin, parent.count
		for ; i < len(c.round) && (left > 0 || c.parts == nil); i++ {
			got := &c.round[i]
			if c.parts == nil {
				left, parent.count = got.count, got.count*splits
			}
			within := c.parts == nil || !parent.end.less(got.end)
			if got.count > left || got.count > (parent.count+splits-1)/splits || !within ||
				!begin.less(got.end) {
				return nil, nil, 0, broken("a range that is not a part of the one before")
			}
			left -= got.count
			counted += got.count
			mine := c.ends.All[c.ends.index(begin):c.ends.index(got.end)]
			if s.fingerprintOf(mine, c.listed) != got.print {
				opened = append(opened, i)
				parts = append(parts, part{begin, got.end, got.count})
			}
			begin = got.end
		}
		if left > 0 && c.parts != nil {
			return nil, nil, 0, broken("a range of which a part is missing")
		}
	}
	if i < len(c.round) {
		return nil, nil, 0, broken("ranges that were not opened")
	}
	return opened, parts, counted, nil
}
