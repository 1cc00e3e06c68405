package session

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/replica/internal/chunk"
)

// mergeChunk takes a piece of a chunk or of a slice, or the end of what was fetched.
func (s *Session) mergeChunk(i *item) error {
	st := s.sink.start
	if st != nil && st.ended && len(i.payload) == 0 {
		s.grant(i.size)
		if s.sink.start = nil; st.held == nil {
			return nil
		}
		return s.mergeMark(st.held)
	}
	if st == nil || st.fetched == nil {
		return broken("a chunk that nobody fetched")
	}
	if st.credit += i.size; len(i.payload) == 0 {
		if err := s.stage(); err != nil {
			return err
		}
		if st.wanted > 0 {
			return fmt.Errorf("%w: %d chunks are missing", ErrWithheld, st.wanted)
		}
		st.fetched = nil
		return s.fetch()
	}
	g, err := parsePiece(i.payload)
	if err != nil {
		return broken("a chunk: %w", err)
	}
	if !st.next(g.ChunkID) || g.offset != st.offset ||
		g.offset+uint64(len(g.content)) > chunk.FormMax {
		return broken("a chunk that is not of its checkpoint")
	}
	st.resumed = false
	st.content, st.offset = append(st.content, g.content...), st.offset+uint64(len(g.content))
	if g.last {
		err = s.takeChunk(g.ChunkID)
	} else if len(st.content) >= stageMin {
		err = s.storePart()
	}
	if err == nil && st.size >= stageMin {
		err = s.stage()
	}
	return err
}

// next reports whether a chunk is among those that were fetched, and not given yet. Those before it
// are not expected any more.
func (st *starting) next(id ChunkID) bool {
	for len(st.fetched) > 0 {
		r := &st.fetched[0]
		if r.Tree == id.Tree && r.N <= id.N && id.N < r.N+r.Count {
			if r.N < id.N {
				st.offset, st.stored, st.content = 0, 0, nil
			}
			r.N, r.Count = id.N, r.N+r.Count-id.N
			return true
		}
		st.fetched, st.offset, st.stored, st.content = st.fetched[1:], 0, 0, nil
	}
	return false
}

// takeChunk takes a chunk, or a slice, of which all bytes have come.
func (s *Session) takeChunk(id ChunkID) error {
	st := s.sink.start
	leaf, err := s.leafOf(id)
	switch content := st.content; {
	case err != nil:
		return err
	case st.stored > 0:
		if err := s.joinParts(leaf); err != nil {
			return err
		}
	case id.Tree == ofOffer && SliceHash(content) == leaf:
		st.slices, st.size = append(st.slices, bytes.Clone(content)), st.size+len(content)
	case id.Tree != ofOffer && isForm(content, leaf):
		p := chunk.Packed{Leaf: leaf, Form: bytes.Clone(content)}
		st.chunks, st.size = append(st.chunks, p), st.size+len(content)
	default:
		st.content = nil // it is not kept
		return broken("a chunk that is not of its checkpoint")
	}
	r := &st.fetched[0]
	if r.N, r.Count = r.N+1, r.Count-1; r.Count == 0 {
		st.fetched = st.fetched[1:]
	}
	st.offset, st.stored, st.content = 0, 0, st.content[:0]
	if st.wanted--; st.begun {
		st.lacking--
	}
	return nil
}

// joinParts makes a chunk of what was stored of it, and of what has come since.
func (s *Session) joinParts(leaf chunk.Hash) error {
	if err := s.storePart(); err != nil {
		return err
	}
	good, err := s.space.Join(leaf, s.peer.key)
	if err == nil && !good {
		err = broken("a chunk that is not of its checkpoint")
	}
	return err
}

// isForm reports whether a form is that of the chunk of a leaf.
func isForm(form []byte, leaf chunk.Hash) bool {
	u := unpackers.Get().(*chunk.Unpacker)
	defer unpackers.Put(u)
	return u.Is(form, leaf)
}

// leafOf returns the hash that a chunk, or a slice, must have.
func (s *Session) leafOf(id ChunkID) (leaf chunk.Hash, err error) {
	st := s.sink.start
	if id.Tree == ofOffer {
		return st.notice.Slices[id.N], nil
	}
	leaf, ok := s.space.Leaf(st.notice.Checkpoint, id)
	if !ok {
		err = errAnother
	}
	return leaf, err
}

// errAnother reports a start that another session has replaced, or ended.
var errAnother = errors.New("another session has started from a checkpoint meanwhile")

// storePart stores what has come of a chunk.
func (s *Session) storePart() error {
	st := s.sink.start
	if len(st.content) == 0 {
		return nil
	}
	leaf, err := s.leafOf(st.fetched[0].ChunkID)
	if err == nil {
		err = s.space.StagePart(leaf, s.peer.key, st.stored, st.content)
	}
	st.stored, st.content = st.offset, nil
	s.regainStart()
	return err
}
