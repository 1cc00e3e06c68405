package session

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/fork"
)

// ErrWithheld reports a peer that offered a checkpoint and does not give all of its state. What it
// gave is kept: another peer may give the rest.
var ErrWithheld = errors.New("the peer withholds a part of the state at its checkpoint: " +
	"bring the replica together with another one")

// ErrNeedless is why a replica does not start with a checkpoint: another session was faster.
var ErrNeedless = errors.New("this replica has all that the checkpoint covers")

// starting is a start from a checkpoint, as a sink. It is of the goroutine that merges.
type starting struct {
	asked  bool   // this side asked for the offer, and can do without
	ended  bool   // the peer is to tell that it knows what is missing
	offer  *Offer // nil: it has not come yet
	lacks  map[ChunkID]bool
	order  []ChunkID // the same, in the order in which they are fetched
	wanted int       // chunks that the last fetch has asked for
	chunks [][]byte  // that are not stored yet
	size   int       // of these
	held   *mark     // the last one, which is answered later
}

// starts reports whether this replica is to start from a checkpoint, and may.
func (s *Session) starts() (bool, error) {
	if !s.config.FromCheckpoint {
		return false, nil
	}
	return s.space.Starts()
}

// askForCheckpoint asks for an offer.
func (s *Session) askForCheckpoint() {
	s.sink.start = &starting{asked: true}
	s.send(frameFetch, (&fetch{}).append(nil))
}

// wholeMax returns the most bytes of what arrives in parts.
func (s *Session) wholeMax() int {
	return max(s.space.EntryMax()+runOverhead, fork.SizeMax, OfferMax, chunkFrame)
}

// mergeOffer begins a start from a checkpoint.
func (s *Session) mergeOffer(p []byte) error {
	k := &s.sink
	s.grant(len(p))
	if k.start == nil {
		k.start = &starting{}
	}
	st := k.start
	if st.ended {
		st.ended = false // it has another one by now
	}
	if len(p) == 0 {
		if !st.asked {
			return broken("an offer of nothing")
		}
		if err := s.stage(); err != nil {
			return err
		}
		return s.endStart()
	}
	offer, err := ParseOffer(p)
	if err != nil {
		return broken("an offer: %w", err)
	}
	if st.offer != nil && st.offer.Checkpoint == offer.Checkpoint {
		return broken("it offers a checkpoint twice")
	}
	lacks, reason, err := s.space.Begin(offer, s.peer.key)
	if err != nil {
		return err
	}
	if reason != nil {
		return s.declineOffer(reason)
	}
	if err := s.stage(); err != nil {
		return err
	}
	st.offer, st.order, st.lacks = offer, lacks, map[ChunkID]bool{}
	for _, id := range lacks {
		st.lacks[id] = true
	}
	return s.fetch()
}

// declineOffer ends a start with an offer that does not help, which is an error if this side wants
// entries.
func (s *Session) declineOffer(reason error) error {
	st := s.sink.start
	needless := errors.Is(reason, ErrNeedless) && !s.sink.declined
	s.sink.declined = s.sink.declined || needless
	if st.asked && st.offer == nil || needless {
		return s.endStart()
	}
	dropped, _, err := s.stillMissing()
	if err == nil && (len(dropped) > 0 || s.sink.gap == 0) {
		err = fmt.Errorf("%w: %w", ErrPruned, reason)
	}
	if err != nil {
		return err
	}
	s.sink.gap = 0 // once
	return s.endStart()
}

// askToBeFilled asks for an offer if the state of collections is missing at the checkpoint by which
// this replica goes. A mark is answered when that has ended.
func (s *Session) askToBeFilled(m *mark) (asked bool, err error) {
	k := &s.sink
	unfilled, err := s.space.Unfilled()
	if err != nil || unfilled == k.unfilled {
		return false, err
	}
	if k.unfilled = unfilled; unfilled == "" {
		return false, nil
	}
	k.start = &starting{asked: true, held: m}
	s.send(frameFetch, (&fetch{}).append(nil))
	return true, nil
}

// fetch asks for chunks that are lacking, or installs the state if none is.
func (s *Session) fetch() error {
	st := s.sink.start
	s.report(func(now *Status) {
		now.ChunksLacking = uint64(len(st.lacks))
	})
	if len(st.lacks) == 0 {
		if err := s.space.Install(s.config.Number, st.offer); err != nil {
			return err
		}
		return s.endStart()
	}
	f := fetch{checkpoint: st.offer.Checkpoint}
	st.wanted = 0
	for _, id := range st.order {
		if !st.lacks[id] {
			continue
		}
		if n := len(f.ranges); n > 0 && f.ranges[n-1].Tree == id.Tree &&
			f.ranges[n-1].N+f.ranges[n-1].count == id.N {
			f.ranges[n-1].count++
		} else if n == fetchMax {
			break
		} else {
			f.ranges = append(f.ranges, chunkRange{id, 1})
		}
		st.wanted++
	}
	s.send(frameFetch, f.append(nil))
	return nil
}

// mergeChunk takes a chunk, or the end of what was fetched.
func (s *Session) mergeChunk(p []byte) error {
	st := s.sink.start
	if st != nil && st.ended && len(p) == 0 {
		if s.sink.start = nil; st.held == nil {
			return nil
		}
		return s.mergeMark(st.held)
	}
	if st == nil || st.offer == nil {
		return broken("a chunk that nobody fetched")
	}
	if len(p) == 0 {
		if err := s.stage(); err != nil {
			return err
		}
		if st.wanted > 0 {
			return fmt.Errorf("%w: %d chunks are missing", ErrWithheld, len(st.lacks))
		}
		return s.fetch()
	}
	g, err := ParseGiven(p)
	if err != nil {
		return broken("a chunk: %w", err)
	}
	if !st.lacks[g.ChunkID] || chunk.Leaf(g.Content) != st.offer.Trees[g.Tree][g.N] {
		return broken("a chunk that is not of its checkpoint")
	}
	delete(st.lacks, g.ChunkID)
	st.wanted--
	st.chunks, st.size = append(st.chunks, g.Content), st.size+len(p)
	if st.size < stageMin {
		return nil
	}
	return s.stage()
}

// stage stores the chunks that have arrived.
func (s *Session) stage() error {
	st := s.sink.start
	if len(st.chunks) == 0 {
		return nil
	}
	if err := s.space.Stage(st.chunks); err != nil {
		return err
	}
	s.grant(st.size)
	st.chunks, st.size = nil, 0
	s.report(func(now *Status) { now.ChunksLacking = uint64(len(st.lacks)) })
	return nil
}

// endStart asks for what was announced meanwhile. Marks that the peer has sent before it knows that
// say nothing, so it is asked to tell, by a fetch of nothing.
func (s *Session) endStart() error {
	k := &s.sink
	k.gaps = true
	if err := s.note(nil); err != nil {
		return err
	}
	dropped, _, err := s.stillMissing()
	if err != nil {
		return err
	}
	if len(dropped) == 0 {
		held := k.start.held
		if k.start = nil; held == nil {
			return nil
		}
		return s.mergeMark(held)
	}
	k.start = &starting{ended: true}
	for part := range slices.Chunk(dropped, wantsMax) {
		w := wants{wants: part}
		s.send(frameWant, w.append(nil))
	}
	s.send(frameFetch, (&fetch{checkpoint: s.space.ID()}).append(nil))
	return nil
}
