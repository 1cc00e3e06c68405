package session

import "slices"

// queueMax is the most items that wait to be merged. An honest source has no credit for as many: a
// run takes more than a hundred bytes, and a mark may follow each.
const queueMax = 1 << 16

// item is something that arrived: one of its fields is set.
type item struct {
	run    *Run
	brief  *brief // how the run was sent, if its log and Prev are to be found
	proof  []byte
	offer  []byte // not nil if it is one
	chunk  []byte // the same
	size   int    // of the run or the proof, as it was sent
	heads  *headsPage
	ranges *spans
	mark   *mark
}

// queueLocked queues an item, and starts to merge if nobody does.
func (s *Session) queueLocked(i item) error {
	k := &s.sink
	if s.err != nil {
		return nil // nothing is merged any more
	}
	if len(k.queue) == queueMax {
		return broken("it sends more small things than there is credit for")
	}
	if k.queue = append(k.queue, i); !k.busy {
		k.busy = true
		s.work.Go(s.merge) // ends when the queue is empty
	}
	return nil
}

// merge handles the queue until it is empty.
func (s *Session) merge() {
	k := &s.sink
	for {
		s.mu.Lock()
		queue := k.queue
		k.queue = nil
		if k.busy = len(queue) > 0 && s.err == nil; !k.busy {
			s.maybeEndLocked()
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		for len(queue) > 0 {
			n := slices.IndexFunc(queue, func(i item) bool { return i.run == nil })
			if n < 0 {
				n = len(queue)
			}
			err := s.mergeRuns(queue[:n])
			queue = queue[n:]
			if err == nil && len(queue) > 0 {
				err = s.mergeItem(queue[0])
				queue = queue[1:]
			}
			if err != nil {
				s.fail(err)
				break
			}
		}
	}
}

func (s *Session) mergeItem(i item) error {
	switch {
	case i.proof != nil:
		if err := s.space.Prove(i.proof); err != nil {
			return err
		}
		s.regain(i.size)
		return nil
	case i.ranges != nil:
		return s.mergeRanges(i.ranges)
	case i.offer != nil:
		return s.mergeOffer(i.offer)
	case i.chunk != nil:
		return s.mergeChunk(i.chunk)
	case i.heads != nil:
		return s.mergeHeads(i.heads)
	}
	return s.mergeMark(i.mark)
}
