package session

import (
	"cmp"
	"container/heap"
	"errors"
)

// cursor is a log on its way to the peer.
type cursor struct {
	log      uint32
	seq, end uint64 // the next entry to send, and the first not to
	time     uint64 // of the next entry
	proof    bool   // the fork proof of the log, instead of entries
	brief    bool   // the peer has the entry before
	pushed   bool   // the peer was not asked what it has
	content  bool   // the peer has the entries, and wants their content
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

// addCursor puts a log on its way to the peer.
func (s *Session) addCursor(c cursor) (err error) {
	if c.time, err = s.space.Time(c.log, c.seq); err != nil {
		gone, failed := s.isGone(&c, err)
		switch {
		case gone:
			return nil
		case failed != nil || c.pushed:
			return errors.Join(err, failed)
		}
		return s.insteadOf(err, c.content)
	}
	heap.Push(&s.source.cursors, c)
	return nil
}

// isGone reports whether entries cannot be read because their log has given way to another branch
// since the cursor was made, so that it has fewer. The peer hears of those that follow.
func (s *Session) isGone(c *cursor, why error) (bool, error) {
	if errors.Is(why, ErrEnded) {
		return true, nil
	}
	if !errors.Is(why, ErrPruned) {
		return false, nil
	}
	end, err := s.space.End(c.log)
	return err == nil && end < c.end, err
}

// giveRun appends the next run of the log whose next entry is the oldest.
func (s *Session) giveRun(dst []byte) ([]byte, error) {
	g := &s.source
	c := &g.cursors[0]
	if c.proof {
		return s.giveProof(dst, c.log)
	}
	run, err := s.space.Run(c.log, c.seq, &g.reader)
	if lacks := errors.Is(err, ErrLacking); lacks || c.pushed && errors.Is(err, ErrPruned) {
		if c.pushed {
			g.at, g.listing = g.from, true // the peer may have it, or must know that it does not
		}
		heap.Pop(&g.cursors)
		return dst, nil
	} else if err != nil {
		return dst, s.dropCursor(err)
	}
	if c.brief && c.seq > 0 {
		dst = s.giveWhole(dst, frameRun, run.appendBrief(nil, s.checkOf(run.Prev)))
	} else {
		dst = s.giveWhole(dst, frameRun, run.append(nil))
	}
	c.brief = false // the peer may not have merged this when the next one arrives
	s.report(func(now *Status) { now.Sent += uint64(len(run.Entries)) })
	if c.seq = run.End(); c.seq >= c.end {
		heap.Pop(&g.cursors)
		return dst, nil
	}
	if c.time, err = s.space.Time(c.log, c.seq); err != nil {
		return dst, s.dropCursor(err)
	}
	heap.Fix(&g.cursors, 0)
	return dst, nil
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
		err = s.addCursor(cursor{log: log, seq: p.From, end: p.To})
	}
	return dst, err
}

// giveWhole appends a run or a fork proof, in as many frames as it takes.
func (s *Session) giveWhole(dst []byte, k kind, p []byte) []byte {
	s.spend(len(p) + wholeCost)
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
