package session

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/fork"
)

// partMax is how many bytes of a run may be incomplete before the sink gives credit for them.
const partMax = 1 << 20

// Limits of what a source may announce before it sends anything. An honest one sends runs as soon
// as it has been asked for half of cursorsMax logs, and does not announce a log again that has not
// grown.
const (
	idleMax  = 1 << 13 // pages of heads
	knownMax = 1 << 24 // heads of logs of which the sink has everything
)

// forkedMax is how many logs of which the peer has another branch are reported.
const forkedMax = 16

// sink is what this side takes from the peer.
type sink struct {
	// Of the reader alone.
	part []byte // of a run that continues

	// Guarded by Session.mu.
	queue    []item // what arrived, in order, until it is merged
	busy     bool   // a goroutine is merging
	granted  int64  // bytes of runs that the peer may send
	pages    int    // of heads in the queue
	ownKnown bool   // the peer has nothing of the own log that is not here
	ownStuck bool   // it has, and that cannot be merged
	caughtUp bool   // everything up to the peer's final mark is durable

	// Of the goroutine that merges.
	missing map[[prefixSize]byte]uint64 // what was asked for: up to which number
	listed  bool                        // the peer has announced everything that it had
	idle    int                         // pages of heads since the last run
	known   int                         // heads on them of logs of which nothing is missing
	lossy   bool                        // there was no room to note all of it
	lack    uint64                      // what was missing when it asked again; 0: it did not
	token   Token                       // what is to be kept: see keep
	kept    Token                       // what was kept last
	forked  map[entry.Hash]error        // logs of which the peer has another branch
}

// item is something that arrived: one of its fields is set.
type item struct {
	run   *Run
	proof []byte
	size  int // of the run or the proof, as it was sent
	heads *headsPage
	mark  *mark
}

func (s *Session) receiveHeads(p []byte) error {
	h, err := parseHeads(p)
	if err != nil {
		return err
	}
	s.permitted()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sink.pages++; s.sink.pages > 1 {
		return broken("heads before the others were answered")
	}
	s.queueLocked(item{heads: h})
	return nil
}

// receiveWhole receives a run or a fork proof, or a part of one.
func (s *Session) receiveWhole(frame kind, p []byte) error {
	k := &s.sink
	s.mu.Lock()
	k.granted -= int64(len(p))
	over := k.granted < -FrameMax
	s.mu.Unlock()
	if over {
		return broken("it sends more than it has credit for")
	}
	last := frame != framePart
	if !last || k.part != nil {
		if len(k.part)+len(p) > max(s.space.EntryMax()+runOverhead, fork.SizeMax) {
			return broken("a run of more than %d bytes", len(k.part))
		}
		k.part = append(k.part, p...)
		if p = k.part; len(k.part) > partMax {
			s.grant(FrameMax) // this is more than the credit may be
		}
	}
	if !last {
		return nil
	}
	k.part = nil
	i := item{size: len(p)}
	if frame == frameProof {
		i.proof = p
	} else {
		run, err := ParseRun(p)
		if err != nil {
			return err
		}
		i.run = run
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queueLocked(i)
	return nil
}

// runOverhead is what a run may have besides its last entry.
const runOverhead = 128 << 10

func (s *Session) receiveMark(p []byte) error {
	m, err := parseMark(p)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.sink.queue); n > 0 && s.sink.queue[n-1].mark != nil {
		s.sink.queue[n-1].mark = &m // it says all that the one before it said
		return nil
	}
	s.queueLocked(item{mark: &m})
	return nil
}

func (s *Session) receiveRefused(p []byte) error {
	f, err := parseRefused(p)
	if err != nil {
		return err
	}
	s.report(func(now *Status) { now.Refused = printable(f.reason) })
	return nil
}

// grant lets the peer send more runs.
func (s *Session) grant(n int) {
	if n <= 0 {
		return
	}
	s.mu.Lock()
	s.sink.granted += int64(n)
	s.sendLocked(frameCredit, binary.AppendUvarint(nil, uint64(n)))
	s.mu.Unlock()
}

// queueLocked queues an item, and starts to merge if nobody does.
func (s *Session) queueLocked(i item) {
	k := &s.sink
	k.queue = append(k.queue, i)
	if k.busy || s.ending && s.err != nil {
		return
	}
	k.busy = true
	s.work.Go(s.merge) // ends when the queue is empty
}

// merge handles the queue until it is empty.
func (s *Session) merge() {
	k := &s.sink
	for {
		s.mu.Lock()
		queue := k.queue
		k.queue = nil
		if k.busy = len(queue) > 0 && s.err == nil; !k.busy {
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
		s.grant(i.size)
		return s.space.Prove(i.proof)
	case i.heads != nil:
		return s.mergeHeads(i.heads)
	}
	return s.mergeMark(i.mark)
}

// errInvalid reports a peer that sent what is not valid. An honest one would not have stored it.
var errInvalid = errors.New("the peer sent entries that are not valid")

// mergeRuns has runs merged.
func (s *Session) mergeRuns(items []item) error {
	if len(items) == 0 {
		return nil
	}
	k := &s.sink
	runs := make([]*Run, len(items))
	size := 0
	for i := range items {
		runs[i] = items[i].run
		size += items[i].size
	}
	refusals, err := s.space.Apply(s.config.Number, runs)
	if err != nil {
		return err
	}
	s.report(func(now *Status) {
		for _, r := range runs {
			now.Received += uint64(len(r.Entries))
		}
	})
	s.grant(size)
	if k.idle > 0 {
		k.idle, k.known = 0, 0
	}
	for _, r := range refusals {
		if k.forked == nil {
			k.forked = map[entry.Hash]error{}
		}
		f := refused{log: r.Log, seq: r.Seq, forked: r.Forked, reason: r.Reason.Error()}
		if !r.Forked || s.reads() {
			s.send(frameRefused, f.append(nil))
		}
		if !r.Forked && !r.Later {
			return fmt.Errorf("%w: %w", errInvalid, r.Reason)
		}
		if k.forked[r.Log] == nil && len(k.forked) < forkedMax {
			k.forked[r.Log] = r.Reason
		}
	}
	// What came without having been asked for is missing if it could not be merged.
	heads := make([]Head, len(runs))
	for i, r := range runs {
		copy(heads[i].Log[:], r.Log[:])
		heads[i].Next = r.End()
	}
	return s.note(heads)
}

// mergeHeads asks for what is missing of the logs on a page of heads.
func (s *Session) mergeHeads(page *headsPage) error {
	k := &s.sink
	logs, err := s.space.Find(page.heads)
	if err != nil {
		return err
	}
	answer := wants{answer: true}
	reads := s.reads()
	for i, l := range logs {
		h, have := &page.heads[i], l.has()
		same := s.checkOf(l.Hash) == h.Check
		switch {
		case !reads:
			// What is here is nobody's business, except what the peer proves to have itself.
			if !same || min(have, l.Next) < h.Next {
				answer.wants = append(answer.wants, want{h.Log, 0, h.Next})
			}
		case have < h.Next:
			answer.wants = append(answer.wants, want{h.Log, have, h.Next})
		case !l.Over && !same: // where do the branches part?
			answer.wants = append(answer.wants, want{h.Log, 0, h.Next})
		}
	}
	k.idle++
	if k.known += len(page.heads) - len(answer.wants); k.idle > idleMax || k.known > knownMax {
		return broken("it announces logs without end")
	}
	k.listed = k.listed || page.last
	if err := s.note(page.heads); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if k.pages--; len(page.heads) == 0 {
		return nil // it needs no answer
	}
	s.sendLocked(frameWant, answer.append(nil))
	return nil
}

// mergeMark acknowledges what is durable, or asks again for what was dropped.
func (s *Session) mergeMark(m *mark) error {
	k := &s.sink
	dropped, lack, err := s.stillMissing()
	if err != nil {
		return err
	}
	may, err := s.mayRead()
	if err != nil {
		return err
	}
	if may && len(dropped) > 0 && (k.lack == 0 || lack < k.lack) {
		k.lack = lack
		for part := range slices.Chunk(dropped, wantsMax) {
			w := wants{wants: part}
			s.send(frameWant, w.append(nil))
		}
		return nil // the peer marks the end of these, too
	}
	k.lack = 0
	if err := s.space.Sync(); err != nil {
		return err
	}
	complete := lack == 0 && len(k.forked) == 0 && !k.lossy
	if complete {
		k.token = m.token
		if k.kept.Batch+keepEach < m.token.Batch {
			if err := s.keep(); err != nil {
				return err
			}
		}
	}
	s.report(func(now *Status) { now.CaughtUp = now.CaughtUp || m.final })
	a := ack{final: m.final, complete: complete && may, denied: !may, batch: m.token.Batch}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.access.offered = true
	if !k.ownKnown {
		k.ownStuck = true
		s.wakeLocked()
	}
	s.sendLocked(frameAck, a.append(nil))
	k.caughtUp = k.caughtUp || m.final
	s.maybeEndLocked()
	return nil
}
