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
	asked   bool    // this side asked for the offer, and can do without
	ended   bool    // the peer is to tell that it knows what is missing
	notice  *Notice // nil: it has not come yet
	begun   bool    // the offer is here, and good
	again   bool    // another one was before
	lacking uint64  // chunks of the state
	held    *mark   // the last one, which is answered later

	fetched []ChunkRange // what the peer has still to give, in order
	wanted  int          // how many chunks and slices these were, less those that came
	resumed bool         // the first piece is to continue what an earlier session has stored
	offset  uint64       // where the next piece of the form of the first chunk begins
	stored  uint64       // bytes of these that are stored
	content []byte       // the others
	credit  int          // for which the peer was not granted others yet

	// Whole, and not stored yet, with the bytes of all of them.
	chunks []chunk.Packed
	slices [][]byte
	size   int
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
func (s *Session) wholeMax() int { return max(s.space.EntryMax()+runOverhead, fork.SizeMax) }

// mergeOffer begins a start from a checkpoint.
func (s *Session) mergeOffer(i *item) error {
	k, p := &s.sink, i.payload
	s.grant(i.size)
	if k.start == nil {
		k.start = &starting{}
	}
	st := k.start
	if st.ended {
		st.ended = false // it has another one by now
	}
	if err := s.stage(); err != nil {
		return err
	}
	if len(p) == 0 {
		if !st.asked {
			return broken("an offer of nothing")
		}
		return s.endStart()
	}
	notice, err := parseNotice(p)
	if err != nil {
		return broken("an offer: %w", err)
	}
	if st.notice != nil && st.notice.Checkpoint == notice.Checkpoint &&
		slices.Equal(st.notice.Slices, notice.Slices) {
		return s.fetchWhole()
	}
	k.start = &starting{asked: st.asked, held: st.held, notice: notice,
		again: st.again || st.begun}
	return s.fetch()
}

// fetchWhole asks again, of a peer that offers its checkpoint again instead of what was fetched: it
// has no byte behind those that are stored of a chunk, which are all, or wrong.
func (s *Session) fetchWhole() error {
	st := s.sink.start
	if !st.resumed {
		return broken("it offers a checkpoint twice")
	}
	leaf, err := s.leafOf(st.fetched[0].ChunkID)
	if err == nil {
		_, err = s.space.Join(leaf, s.peer.key)
	}
	if err != nil {
		return err
	}
	return s.fetch()
}

// declineOffer ends a start with an offer that does not help, which is an error if this side wants
// entries.
func (s *Session) declineOffer(reason error) error {
	st := s.sink.start
	needless := errors.Is(reason, ErrNeedless) && !s.sink.declined
	s.sink.declined = s.sink.declined || needless
	if st.asked && !st.again || needless {
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

// fetch asks for what is lacking: slices of the offer, and then chunks of the state. It installs
// the state if nothing is.
func (s *Session) fetch() error {
	st := s.sink.start
	f := fetch{checkpoint: st.notice.Checkpoint}
	if !st.begun {
		lacks, err := s.space.Lacking(st.notice.Slices)
		if err != nil {
			return err
		}
		var l Lack
		for _, n := range lacks {
			l.Add(ChunkID{ofOffer, n})
		}
		if f.ranges = l.First; len(lacks) > 0 {
			s.sendFetch(&f)
			return nil
		}
	}
	lack, reason, err := s.space.BeginSliced(st.notice, s.peer.key, st.begun)
	if err != nil {
		return err
	}
	if reason != nil {
		return s.declineOffer(reason)
	}
	st.begun, st.lacking = true, lack.Chunks
	s.report(func(now *Status) { now.ChunksLacking = lack.Chunks })
	if lack.Chunks == 0 {
		if err := s.space.Install(s.config.Number, st.notice); err != nil {
			return err
		}
		// It may have taken the place of what was here when the peer announced its log.
		delete(s.sink.parted, lack.Of.Log)
		if err := s.note([]Head{lack.Of}); err != nil {
			return err
		}
		return s.endStart()
	}
	f.offset, f.ranges = lack.Offset, lack.First
	s.sendFetch(&f)
	return nil
}

// sendFetch asks for chunks, or for slices.
func (s *Session) sendFetch(f *fetch) {
	st := s.sink.start
	st.fetched, st.wanted = slices.Clone(f.ranges), 0
	for _, r := range f.ranges {
		st.wanted += r.Count
	}
	st.offset, st.stored, st.resumed = f.offset, f.offset, f.offset > 0
	s.send(frameFetch, f.append(nil))
}

// stage stores the chunks that have arrived.
func (s *Session) stage() error {
	st := s.sink.start
	if st == nil {
		return nil
	}
	if st.size > 0 {
		store := func() error { return s.space.Stage(st.chunks) }
		if !st.begun {
			store = func() error { return s.space.KeepSlices(st.slices) }
		}
		if err := store(); err != nil {
			return err
		}
		st.slices, st.chunks, st.size = nil, nil, 0
		s.report(func(now *Status) { now.ChunksLacking = st.lacking })
	}
	s.regainStart()
	return nil
}

// regainStart lets the peer send as much as was stored.
func (s *Session) regainStart() {
	st := s.sink.start
	s.grant(st.credit)
	st.credit = 0
}

// leave stores what has come of a start, when the session ends.
func (s *Session) leave() error {
	st := s.sink.start
	err := s.stage()
	if st != nil && st.begun && len(st.fetched) > 0 {
		err = errors.Join(err, s.storePart())
	}
	return err
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
