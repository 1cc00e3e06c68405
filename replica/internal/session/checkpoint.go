package session

import (
	"encoding/binary"

	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// The frames with which a replica starts from a checkpoint.
const (
	frameCheckpoint kind = 0x20 // an offer; empty: there is none
	frameFetch      kind = 0x21 // chunks that the sink wants; without any, it wants an offer
	frameChunk      kind = 0x22 // a chunk; empty: nothing more of what was wanted is there
)

// Limits of these frames, and of the first parts of them.
const (
	OfferMax    = 32 << 20 // bytes
	evidenceMax = 1 << 16  // proof runs
	treesMax    = 1 << 16
	fetchMax    = 1 << 12 // ranges of chunks in a frame
	chunkFrame  = chunk.SizeMax + 16
	stageMin    = 1 << 20 // bytes of chunks that are stored together
)

// Starter is what sessions need of a replica to start from checkpoints.
type Starter interface {
	// Starts reports whether the replica may start from a checkpoint of a peer that has all entries:
	// it has nothing of others and nothing of its own, or others go by another checkpoint.
	Starts() (bool, error)
	// Unfilled names the checkpoint by which the replica goes, and the collections whose state there
	// it has to be given; it is "" if there are none.
	Unfilled() (string, error)
	// Offer returns the checkpoint that the replica can give to a reader, with the subtrees that the
	// reader asks for and may read; or why it cannot.
	Offer(to *Reader) (o *Offer, reason, err error)
	// Chunk returns a chunk of the checkpoint of an entry, or nil if the replica goes by another one
	// by now, or the reader may not read it any more.
	Chunk(to *Reader, checkpoint entry.Hash, id ChunkID) ([]byte, error)
	// Begin verifies an offer by a device. It returns the chunks that the replica lacks to install
	// it, or why it does not start with the checkpoint although that is valid: see ErrNeedless.
	Begin(o *Offer, from [32]byte) (lacks []ChunkID, reason, err error)
	// Stage stores chunks of an offer, which the caller has verified.
	Stage(chunks [][]byte) error
	// Install makes the state of an offer, of which no chunk is lacking, that of the replica.
	Install(session uint64, o *Offer) error
}

// Offer is a checkpoint with which a replica can start that lacks what its peers have pruned.
type Offer struct {
	Checkpoint entry.Hash // of the entry with the checkpoint
	Evidence   [][]byte   // proof runs: of the checkpoint, then of acts that it covers
	// Trees are the hashes of all chunks, by the subtrees of the checkpoint; empty for those that are
	// not given.
	Trees []chunk.Tree
}

// Append appends the offer as it is sent, and in files.
func (o *Offer) Append(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, o.Checkpoint[:]...), uint64(len(o.Evidence)))
	for _, p := range o.Evidence {
		dst = wire.AppendBytes(dst, p)
	}
	dst = binary.AppendUvarint(dst, uint64(len(o.Trees)))
	for _, tree := range o.Trees {
		dst = binary.AppendUvarint(dst, uint64(len(tree)))
		for i := range tree {
			dst = append(dst, tree[i][:]...)
		}
	}
	return dst
}

// ParseOffer decodes an offer, which refers to p.
func ParseOffer(p []byte) (*Offer, error) {
	r := wire.NewReader(p)
	o := &Offer{Checkpoint: r.Hash()}
	o.Evidence = make([][]byte, r.Count(evidenceMax, 1))
	for i := range o.Evidence {
		o.Evidence[i] = r.Bytes(1, OfferMax)
	}
	o.Trees = make([]chunk.Tree, r.Count(treesMax, 1))
	for i := range o.Trees {
		if n := r.Count(OfferMax, 32); n > 0 {
			o.Trees[i] = make(chunk.Tree, n)
		}
		for j := range o.Trees[i] {
			o.Trees[i][j] = r.Hash()
		}
	}
	return o, r.End()
}

// ChunkID names a chunk of an offer: a subtree, and the number of the chunk in it.
type ChunkID struct{ Tree, N int }

// fetch is the content of a frame that asks for chunks.
type fetch struct {
	checkpoint entry.Hash // zero: for an offer
	ranges     []chunkRange
}

// chunkRange is consecutive chunks of a subtree.
type chunkRange struct {
	ChunkID
	count int
}

func (f *fetch) append(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, f.checkpoint[:]...), uint64(len(f.ranges)))
	for _, x := range f.ranges {
		dst = binary.AppendUvarint(dst, uint64(x.Tree))
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(x.N)), uint64(x.count))
	}
	return dst
}

func parseFetch(p []byte) (f fetch, err error) {
	r := wire.NewReader(p)
	f.checkpoint = r.Hash()
	f.ranges = make([]chunkRange, r.Count(fetchMax, 3))
	for i := range f.ranges {
		tree, n, count := r.Uvarint(), r.Uvarint(), r.Uvarint()
		if tree >= treesMax || n >= OfferMax || count == 0 || count >= OfferMax {
			r.Fail("it wants chunks that cannot exist")
			break
		}
		f.ranges[i] = chunkRange{ChunkID{int(tree), int(n)}, int(count)}
	}
	return f, r.End()
}

// Given is a chunk as it is sent.
type Given struct {
	ChunkID
	Content []byte
}

// Append appends the chunk as it is sent, and in files.
func (g *Given) Append(dst []byte) []byte {
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(g.Tree)), uint64(g.N))
	return append(dst, g.Content...)
}

// ParseGiven decodes a chunk, which refers to p.
func ParseGiven(p []byte) (g Given, err error) {
	r := wire.NewReader(p)
	tree, n := r.Uvarint(), r.Uvarint()
	if tree >= treesMax || n >= OfferMax {
		r.Fail("a chunk that cannot exist")
	}
	g = Given{ChunkID{int(tree), int(n)}, r.Rest()}
	return g, r.Err()
}
