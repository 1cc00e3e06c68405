package session

// queueMax is the most items that wait to be merged. An honest source has no credit for as many: a
// run takes wholeCost, and a mark may follow each.
const queueMax = 4 * window / wholeCost

// item is something that arrived. It is kept as it was sent until its turn comes, which takes the
// least memory.
type item struct {
	kind    kind
	payload []byte
	size    int   // of a whole: its credit
	mark    *mark // of a mark
}

// received is a run whose turn has come.
type received struct {
	run   *Run
	brief *brief // how the run was sent, if its log and Prev are to be found
	size  int
}

// mergeEntries is the most entries of runs that are merged together, about. A run counts as some.
const (
	mergeEntries = 1 << 14
	runEntries   = 8
)

// takeRuns takes the runs at the beginning of a queue, as many as are merged together.
func (s *Session) takeRuns(queue []item) (got []received, err error) {
	for n := 0; len(queue) > len(got) && queue[len(got)].kind == frameRun && n < mergeEntries; {
		i := &queue[len(got)]
		r := received{size: i.size}
		if r.run, r.brief, err = parseRun(i.payload); err != nil {
			return nil, s.misread(frameRun, err)
		}
		n += len(r.run.Entries) + runEntries
		got = append(got, r)
	}
	return got, nil
}

// misread returns the error about a frame that the peer should not have sent.
func (s *Session) misread(k kind, err error) error {
	return broken("a frame of type %d: %w", k, err)
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
		for len(queue) > 0 && s.failure() == nil {
			n, err := s.mergeNext(queue)
			clear(queue[:n])
			if queue = queue[n:]; err == nil && len(queue) == 0 {
				err = s.rest()
			}
			if err != nil {
				s.fail(err)
				break
			}
		}
	}
}

// mergeNext handles the first item of a queue, or as many runs as there are, and returns how many
// items these were.
func (s *Session) mergeNext(queue []item) (n int, err error) {
	i := &queue[0]
	switch i.kind {
	case frameRun:
		got, err := s.takeRuns(queue)
		if err == nil {
			err = s.mergeRuns(got)
		}
		return len(got), err
	case frameProof:
		if err = s.space.Prove(i.payload); err == nil {
			s.regain(i.size)
		}
	case frameRanges:
		err = s.mergeRanges(i.payload)
	case frameCheckpoint:
		err = s.mergeOffer(i)
	case frameChunk:
		err = s.mergeChunk(i)
	case frameHeads:
		err = s.mergeHeads(i.payload)
	default:
		err = s.mergeMark(i.mark)
	}
	return 1, err
}

// rest stores the chunks that have arrived if nothing else has.
func (s *Session) rest() error {
	s.mu.Lock()
	n := len(s.sink.queue)
	s.mu.Unlock()
	if n > 0 {
		return nil
	}
	return s.stage()
}
