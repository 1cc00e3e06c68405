package session

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/replica/internal/entry"
)

// grantEach is how many bytes are merged before the sink gives credit for them.
const grantEach = window / 8

// pagesMax is the most pages of heads on their way before one is answered.
const pagesMax = 4

// Limits of what a source may announce before it sends anything. An honest one sends runs as soon
// as it has been asked for half of cursorsMax logs, or marks that nothing is left, and does not
// announce a log again that has not grown.
const (
	idleMax  = 1 << 13 // pages of heads
	knownMax = 1 << 24 // heads of logs of which the sink has everything
)

// leftMax is how many logs of which something was not taken are reported.
const leftMax = 16

// sink is what this side takes from the peer.
type sink struct {
	// Of the reader alone.
	part []byte // of a run that continues

	// Guarded by Session.mu.
	queue    []item // what arrived, in order, until it is merged
	busy     bool   // a goroutine is merging
	granted  int64  // bytes of runs that the peer may send
	merged   int    // bytes for which it was not granted others yet
	pages    int    // of heads in the queue
	ranges   int    // frames of them in the queue
	told     bool   // the peer has marked something, and all of that is here
	ownKnown bool   // the peer has nothing of the own log that is not here
	ownStuck bool   // it has, and that cannot be merged
	caughtUp bool   // everything up to the peer's final mark is durable

	// Of the goroutine that merges.
	start    *starting                   // from a checkpoint; nil: not now
	declined bool                        // the peer has offered one that is not needed
	gaps     bool                        // what precedes what waits was not asked for
	missing  map[[prefixSize]byte]uint64 // what was asked for: up to which number
	parted   map[[prefixSize]byte]bool   // those of which the peer seems to have another branch
	listed   bool                        // the peer has announced everything that it had
	idle     int                         // pages of heads since the last run, or mark
	known    int                         // heads on them of logs of which nothing is missing
	compared comparison
	lossy    bool                 // there was no room to note all of it
	lack     uint64               // what was missing when it asked again; 0: it did not
	marked   Token                // of the last mark
	gap      uint64               // the same of content that is missing in what is here
	unfilled string               // for which state it has asked: see Starter.Unfilled
	token    Token                // what is to be kept: see keep
	kept     Token                // what was kept last
	left     map[entry.Hash]error // why something of a log was not taken
}

func (s *Session) receiveHeads(p []byte) error {
	s.permitted()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sink.pages++; s.sink.pages > pagesMax {
		return broken("heads before the others were answered")
	}
	return s.queueLocked(item{kind: frameHeads, payload: p})
}

// receiveWhole receives a run, a fork proof, an offer or a chunk, or a part of one. What was begun
// with credit may be completed.
func (s *Session) receiveWhole(k kind, p []byte) error {
	last := k != framePart
	s.mu.Lock()
	over := s.sink.granted <= 0 && s.sink.part == nil
	if s.sink.granted -= int64(len(p)); last {
		s.sink.granted -= wholeCost
	}
	s.mu.Unlock()
	if over {
		return broken("it sends more than it has credit for")
	}
	if !last || s.sink.part != nil {
		if err := s.addPart(p); err != nil || !last {
			return err
		}
		p, s.sink.part = s.sink.part, nil
		if cap(p) > len(p)+len(p)/4 {
			p = bytes.Clone(p)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queueLocked(item{kind: k, payload: p, size: len(p) + wholeCost})
}

// addPart adds the next part of a whole.
func (s *Session) addPart(p []byte) error {
	part, limit := s.sink.part, s.wholeMax()
	if len(part)+len(p) > limit {
		return broken("a run of more than %d bytes", len(part))
	}
	if n := len(part) + len(p); n > cap(part) {
		part = append(make([]byte, 0, min(max(2*n, 2*FrameMax), limit)), part...)
	}
	s.sink.part = append(part, p...)
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
		before := s.sink.queue[n-1].mark // which says nothing that this one does not
		if before.final = m.final; !m.again {
			before.again, before.token = false, m.token
		}
		return nil
	}
	return s.queueLocked(item{kind: frameMark, mark: &m})
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

// regain lets the peer send as much as was merged, once that is worth a frame.
func (s *Session) regain(n int) {
	k := &s.sink
	if k.merged += n; k.merged >= grantEach {
		s.grant(k.merged)
		k.merged = 0
	}
}

// errInvalid reports a peer that sent what is not valid. An honest one would not have stored it.
var errInvalid = errors.New("the peer sent entries that are not valid")

// mergeRuns has runs merged.
func (s *Session) mergeRuns(got []received) error {
	k := &s.sink
	runs, err := s.complete(got)
	if err != nil {
		return err
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
	n := 0
	for i := range got {
		n += got[i].size
	}
	s.regain(n)
	if k.idle > 0 {
		k.idle, k.known = 0, 0
	}
	for _, r := range refusals {
		if k.left == nil {
			k.left = map[entry.Hash]error{}
		}
		s.send(frameRefused, (&refused{log: r.Log, seq: r.Seq, reason: r.Told}).append(nil))
		if !r.Later {
			return fmt.Errorf("%w: %w", errInvalid, r.Reason)
		}
		if k.left[r.Log] == nil && len(k.left) < leftMax {
			k.left[r.Log] = r.Reason
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
func (s *Session) mergeHeads(p []byte) error {
	k := &s.sink
	page, err := parseHeads(p)
	if err != nil {
		return s.misread(frameHeads, err)
	}
	logs, err := s.space.Find(page.heads)
	if err != nil {
		return err
	}
	answer := wants{answer: true}
	reads, less := s.reads(), make([]bool, len(logs))
	for i, l := range logs {
		h, have := &page.heads[i], l.has()
		same := l.Pruned || s.checkOf(l.Hash) == h.Check
		less[i] = l.Sealed > h.Next || l.Sealed == h.Next && !same
		switch {
		case k.start != nil: // what is missing is asked for when that has ended
		case !reads:
			// What is here is nobody's business, except what the peer proves to have itself.
			if !same || l.Pruned || min(have, l.Next) < h.Next {
				answer.choices = append(answer.choices, choice{i, 0})
			}
		case have < h.Next:
			answer.choices = append(answer.choices, choice{i, have})
		case !l.Over && !same: // where do the branches part?
			answer.choices = append(answer.choices, choice{i, 0})
		}
	}
	k.idle++
	if k.known += len(page.heads) - len(answer.choices); k.idle > idleMax || k.known > knownMax {
		return broken("it announces logs without end")
	}
	k.compared.noteListed(page.heads, answer.choices, less)
	s.conclude()
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
	if k.start != nil {
		k.start.held = m
		return nil
	}
	if k.listed = true; !m.again { // whatever there was, it was told
		k.marked = m.token
	}
	if err := s.noteOwn(); err != nil {
		return err
	}
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
	if may {
		asked, err := s.askForContent()
		if err == nil && !asked {
			asked, err = s.askToBeFilled(m)
		}
		if err != nil || asked {
			return err
		}
	}
	if err := s.space.Sync(); err != nil {
		return err
	}
	k.idle = 0
	complete := may && lack == 0 && len(k.left) == 0 && !k.lossy
	if complete {
		if k.token = k.marked; k.token != k.kept {
			s.space.Remember(s.peer.database, k.token)
		}
		if k.kept.Batch+keepEach < k.token.Batch {
			if err := s.keep(); err != nil {
				return err
			}
		}
	}
	s.report(func(now *Status) { now.CaughtUp = now.CaughtUp || m.final })
	s.mu.Lock()
	k.told = true
	s.wakeLocked()
	s.mu.Unlock()
	a := ack{final: m.final, complete: complete, denied: !may, batch: k.marked.Batch}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.access.offered = true
	if !k.ownKnown {
		k.ownStuck = true
		s.wakeLocked()
	}
	s.acknowledgeLocked(a)
	k.caughtUp = k.caughtUp || m.final
	return nil
}
