package session

import (
	"container/heap"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/replica/internal/entry"
)

// offering is what a source gives to a sink that starts from a checkpoint.
type offering struct {
	fetches []fetch // that the peer has sent; guarded by Session.mu

	// Of the writer alone.
	offer bool       // an offer is to be sent
	asked bool       // because the peer has asked for one, which can do without
	state pruning    // whether the peer knows that something was pruned
	given entry.Hash // the checkpoint that was offered last
	from  entry.Hash // the checkpoint of the chunks
	left  []chunkRange
	ends  bool // the end of the chunks is to be sent
}

// pruning says what a peer knows that wants what was pruned.
type pruning int

const (
	pruningUnknown pruning = iota
	pruningOffered         // it was offered a checkpoint, and may have wanted things before
	pruningTold            // it knows the offer, so it must not want such things any more
)

func (s *Session) receiveFetch(p []byte) error {
	f, err := parseFetch(p)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.source.reach == nil || len(s.source.offering.fetches) > 1 {
		return broken("it fetches before it was answered")
	}
	s.source.offering.fetches = append(s.source.offering.fetches, f)
	s.wakeLocked()
	return nil
}

// insteadOf offers a checkpoint, each once, to a peer that wants what was pruned. It returns the
// error if that is about something else, or did not help. A peer that wants content of what it has
// can do without.
func (s *Session) insteadOf(err error, content bool) error {
	o := &s.source.offering
	switch {
	case !errors.Is(err, ErrPruned):
		return err
	case o.state == pruningOffered, o.state == pruningTold && content:
		return nil
	}
	offer, reason, failed := s.space.Offer(&s.source.reader)
	switch {
	case failed != nil:
		return failed
	case offer != nil && (o.state == pruningUnknown || offer.Checkpoint != o.given):
	case content:
		return nil
	case reason != nil:
		return fmt.Errorf("%w: %w", err, reason)
	default:
		return err
	}
	o.offer, o.asked, o.state = true, false, pruningOffered
	return nil
}

// dropCursor ends the log that is first on its way to the peer, because of an error.
func (s *Session) dropCursor(err error) error {
	if err = s.insteadOf(err, s.source.cursors[0].content); err == nil {
		heap.Pop(&s.source.cursors)
	}
	return err
}

// takeFetches takes over what the peer has fetched. It waits until the peer may read.
func (s *Session) takeFetches() error {
	o := &s.source.offering
	s.mu.Lock()
	fetches := o.fetches
	o.fetches = nil
	s.mu.Unlock()
	for _, f := range fetches {
		if f.checkpoint == (entry.Hash{}) {
			o.offer, o.asked = true, true
			continue
		}
		if len(o.left) > 0 || o.ends {
			return broken("it fetches before it was answered")
		}
		o.from, o.left, o.ends = f.checkpoint, f.ranges, true
	}
	return nil
}

// giveStart appends what a peer needs that starts from a checkpoint, as far as its credit goes.
// Done says that nothing of it is left.
func (s *Session) giveStart(dst []byte) (_ []byte, done bool, err error) {
	o := &s.source.offering
	for len(dst) < burst && s.spend(0) {
		switch {
		case o.offer:
			o.offer = false
			dst, err = s.giveCheckpoint(dst)
		case len(o.left) > 0:
			dst, err = s.giveChunk(dst)
		case o.ends:
			o.ends = false
			dst = s.giveWhole(dst, frameChunk, nil)
		default:
			return dst, true, nil
		}
		if err != nil {
			return dst, false, err
		}
	}
	return dst, !o.offer && !o.ends, nil
}

// errOfferSize is why a checkpoint is not offered.
var errOfferSize = fmt.Errorf("the offer of the checkpoint has more than %d bytes", OfferMax)

// giveCheckpoint appends an offer. It answers what the peer has fetched of another checkpoint.
func (s *Session) giveCheckpoint(dst []byte) ([]byte, error) {
	offer, reason, err := s.space.Offer(&s.source.reader)
	if err == nil {
		err = s.space.Sync()
	}
	if err != nil {
		return dst, err
	}
	var p []byte
	if offer != nil {
		p = offer.Append(nil)
	}
	if len(p) > OfferMax {
		p, reason = nil, errOfferSize
	}
	if p == nil && !s.source.offering.asked {
		return dst, errors.Join(ErrPruned, reason)
	}
	if o := &s.source.offering; len(p) > 0 {
		o.given, o.left, o.ends = offer.Checkpoint, nil, false
	}
	return s.giveWhole(dst, frameCheckpoint, p), nil
}

// giveChunk appends the next chunk. If there is another checkpoint by now, it is offered instead.
func (s *Session) giveChunk(dst []byte) ([]byte, error) {
	o := &s.source.offering
	next := &o.left[0]
	content, err := s.space.Chunk(&s.source.reader, o.from, next.ChunkID)
	if err != nil {
		return dst, err
	}
	if content == nil {
		o.left, o.ends, o.offer = nil, false, true
		return dst, nil
	}
	g := Given{next.ChunkID, content}
	next.N++
	if next.count--; next.count == 0 {
		o.left = o.left[1:]
	}
	return s.giveWhole(dst, frameChunk, g.Append(nil)), nil
}
