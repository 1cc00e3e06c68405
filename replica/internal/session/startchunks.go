package session

import (
	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// chunkOf names a chunk of a checkpoint.
type chunkOf struct {
	checkpoint entry.Hash
	ChunkID
}

// packed is the form of a chunk.
type packed struct {
	of   chunkOf
	form []byte
	err  error
}

// keptMax is the most bytes of a form that a source keeps while its peer is slow. A chunk that
// makes a longer one is read again for each burst of it.
const keptMax = 1 << 20

// giving is what a source has of the chunks that it gives, while it gives any. It is of the writer
// alone.
type giving struct {
	now     packed      // the last one that was asked for, if it is kept
	next    chunkOf     // the one that is packed in the background
	packing chan packed // gets it; nil: none is packed
}

// formOf returns the form of a chunk, or nil if the space has none. The next one that the peer
// wants is packed meanwhile. What was read counts as given: a right to some collections that ends
// keeps the peer from the chunks behind these two.
func (s *Session) formOf(of chunkOf) ([]byte, error) {
	g := &s.source.offering.giving
	if g.now.of == of && g.now.form != nil {
		return g.now.form, nil
	}
	var p packed
	if g.packing != nil && g.next == of {
		p = <-g.packing
	} else {
		content, err := s.space.Chunk(&s.source.reader, of.checkpoint, of.ChunkID)
		if err != nil || content == nil {
			return nil, err
		}
		p = packChunk(of, content)
	}
	g.now, g.packing = packed{}, nil
	if p.err == nil && len(p.form) <= keptMax {
		g.now = p
		s.packNext(of.checkpoint)
	}
	return p.form, p.err
}

// packNext reads the chunk that is wanted after the first one, and packs it in the background. What
// fails is read again when its turn comes.
func (s *Session) packNext(checkpoint entry.Hash) {
	left := s.source.offering.left
	next := chunkOf{checkpoint, left[0].ChunkID}
	next.N++
	if left[0].Count == 1 {
		if len(left) == 1 || left[1].Tree == ofOffer {
			return
		}
		next.ChunkID = left[1].ChunkID
	}
	content, err := s.space.Chunk(&s.source.reader, checkpoint, next.ChunkID)
	if err != nil || content == nil || len(content) > keptMax {
		return
	}
	job := make(chan packed, 1)
	g := &s.source.offering.giving
	g.next, g.packing = next, job
	go func() { job <- packChunk(next, content) }()
}

func packChunk(of chunkOf, content []byte) packed {
	form, err := chunk.Pack(content)
	return packed{of, form, err}
}
