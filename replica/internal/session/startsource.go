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
	offer  bool       // an offer is to be sent
	asked  bool       // because the peer has asked for one, which can do without
	state  pruning    // whether the peer knows that something was pruned
	given  entry.Hash // the checkpoint that was offered last
	from   entry.Hash // the checkpoint of the chunks
	left   []ChunkRange
	at     uint64 // bytes of the form of the first of these that were sent
	ends   bool   // the end of the chunks is to be sent
	giving giving
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
	offer, reason, failed := s.space.Offered(&s.source.reader)
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
	c := &s.source.cursors[0]
	gone, failed := s.isGone(c, err)
	if failed != nil {
		return failed
	}
	if !gone {
		err = s.insteadOf(err, c.content)
	}
	if gone || err == nil {
		heap.Pop(&s.source.cursors)
		return nil
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
		o.from, o.left, o.at, o.ends = f.checkpoint, f.ranges, f.offset, true
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

// giveCheckpoint appends a notice. It answers what the peer has fetched of another checkpoint.
func (s *Session) giveCheckpoint(dst []byte) ([]byte, error) {
	offer, reason, err := s.space.Offered(&s.source.reader)
	if err == nil {
		err = s.space.Sync()
	}
	if err != nil {
		return dst, err
	}
	o := &s.source.offering
	if offer == nil && !o.asked {
		return dst, errors.Join(ErrPruned, reason)
	}
	var p []byte
	if offer != nil {
		p = offer.append(nil)
		o.given, o.left, o.ends, o.giving = offer.Checkpoint, nil, false, giving{}
	}
	return s.giveWhole(dst, frameCheckpoint, p), nil
}

// giveChunk appends the next pieces of a chunk, as far as the credit goes. If there is another
// checkpoint by now, it is offered instead.
func (s *Session) giveChunk(dst []byte) ([]byte, error) {
	o := &s.source.offering
	next := &o.left[0]
	content, err := s.contentOf(next.ChunkID)
	if err != nil {
		return dst, err
	}
	if uint64(len(content)) <= o.at {
		o.left, o.ends, o.offer, o.giving = nil, false, true, giving{}
		return dst, nil
	}
	for rest := content[o.at:]; len(dst) < burst && s.spend(0); {
		g := piece{ChunkID: next.ChunkID, offset: o.at, content: rest[:min(len(rest), pieceMax)]}
		rest = rest[len(g.content):]
		g.last = len(rest) == 0
		dst = s.giveWhole(dst, frameChunk, g.append(nil))
		if o.at += uint64(len(g.content)); !g.last {
			continue
		}
		next.N, o.at = next.N+1, 0
		if next.Count--; next.Count == 0 {
			o.left = o.left[1:]
		}
		if len(o.left) == 0 {
			o.giving = giving{}
		}
		break
	}
	return dst, nil
}

// contentOf returns the form of a chunk, or a slice of the offer; nil if the peer has asked for
// another one than this side has by now.
func (s *Session) contentOf(id ChunkID) ([]byte, error) {
	o := &s.source.offering
	if id.Tree != ofOffer {
		return s.formOf(chunkOf{o.from, id})
	}
	offer, _, err := s.space.Offered(&s.source.reader)
	if err != nil || offer == nil || offer.Checkpoint != o.from || id.N >= len(offer.Slices) {
		return nil, err
	}
	return offer.slice(id.N), nil
}
