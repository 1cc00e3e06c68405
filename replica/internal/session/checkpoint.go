package session

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// The frames with which a replica starts from a checkpoint.
const (
	frameCheckpoint kind = 0x20 // a notice; empty: there is no offer
	frameFetch      kind = 0x21 // what the sink wants; without anything, it wants a notice
	frameChunk      kind = 0x22 // a piece; empty: nothing more of what was wanted is there
)

// Limits of these frames, and of offers.
const (
	SliceSize  = 60 << 10 // bytes of each slice of an offer but the last
	slicesMax  = 512
	OfferMax   = slicesMax * SliceSize
	proofLeast = 64      // bytes of a proof run: it has a seal
	treesMax   = 1 << 20 // more than the act of a checkpoint has
	countMax   = 1 << 30 // chunks
	fetchMax   = 1 << 10 // ranges of chunks in a frame
	pieceMax   = FrameMax - 32
	stageMin   = 256 << 10 // bytes of chunks that are stored together, and of one that are gathered
)

// Starter is what sessions need of a replica to start from checkpoints.
type Starter interface {
	// Starts reports whether the replica may start from a checkpoint of a peer that has all entries:
	// it has nothing of others and nothing of its own, or others go by another checkpoint.
	Starts() (bool, error)
	// Unfilled names the checkpoint by which the replica goes, and the collections whose state there
	// it has to be given; it is "" if there are none.
	Unfilled() (string, error)

	// Offered returns what the replica can give to a reader, with the subtrees that the reader asks
	// for and may read, as it is sent; or why it cannot. It is nil if there is nothing. It stays the
	// same as long as what it is about does.
	Offered(to *Reader) (o *Offered, reason, err error)
	// Chunk returns a chunk of the checkpoint of an entry, or nil if the replica goes by another one
	// by now, or the reader may not read it any more.
	Chunk(to *Reader, checkpoint entry.Hash, id ChunkID) ([]byte, error)

	// Lacking returns which slices of an offer the replica does not have, by their hashes.
	Lacking(slices []chunk.Hash) ([]int, error)
	// KeepSlices stores slices of an offer, which the caller has verified.
	KeepSlices(slices [][]byte) error
	// BeginSliced verifies the offer by a device of which no slice is lacking, unless the session has
	// begun with it. It returns what the replica lacks to install the state, or why it does not start
	// with the checkpoint although that is valid: see ErrNeedless.
	BeginSliced(of *Notice, from [32]byte, begun bool) (lacks Lack, reason, err error)
	// Leaf returns the hash of a chunk of the checkpoint that was begun; false if there is no such
	// chunk, or another session has begun another one.
	Leaf(checkpoint entry.Hash, id ChunkID) (chunk.Hash, bool)
	// Stage stores chunks of an offer, which the caller has verified.
	Stage(chunks []chunk.Packed) error
	// StagePart stores bytes of the form of a chunk that a device has given, behind so many that are
	// stored.
	StagePart(leaf chunk.Hash, from [32]byte, offset uint64, p []byte) error
	// Join stages a chunk of which all bytes are stored. It is false if that is another chunk, which
	// is dropped.
	Join(leaf chunk.Hash, from [32]byte) (bool, error)
	// Install makes the state of an offer, of which no chunk is lacking, that of the replica.
	Install(session uint64, of *Notice) error
}

// Lack is what is lacking of a state.
type Lack struct {
	Chunks uint64       // in all
	First  []ChunkRange // of these, in order, as many as are fetched together
	Offset uint64       // bytes of the first one that are here
	Of     Head         // the checkpoint, which the peer has: its log, and one more than its seq
}

// Add adds a chunk, behind those that were added before.
func (l *Lack) Add(id ChunkID) {
	l.Chunks++
	last := len(l.First) - 1
	if last >= 0 && l.First[last].Tree == id.Tree && l.First[last].N+l.First[last].Count == id.N {
		l.First[last].Count++
	} else if last+1 < fetchMax {
		l.First = append(l.First, ChunkRange{id, 1})
	}
}

// Offered is an offer as it is sent.
type Offered struct {
	Notice
	Encoded []byte
}

// Cut returns an encoded offer with its slices. It is nil if the offer is too large to be sent.
func Cut(checkpoint entry.Hash, encoded []byte) *Offered {
	if len(encoded) > OfferMax {
		return nil
	}
	o := &Offered{Notice{Checkpoint: checkpoint}, encoded}
	for n := range (len(encoded) + SliceSize - 1) / SliceSize {
		o.Slices = append(o.Slices, SliceHash(o.slice(n)))
	}
	return o
}

// slice returns a slice of the offer.
func (o *Offered) slice(n int) []byte {
	return o.Encoded[n*SliceSize : min((n+1)*SliceSize, len(o.Encoded))]
}

// domainSlice is what hashes of slices begin with.
const domainSlice = "stoat.replica.slice.v1"

// SliceHash returns the hash of a slice of an offer.
func SliceHash(p []byte) (h chunk.Hash) {
	sum := sha256.New()
	sum.Write([]byte(domainSlice))
	sum.Write(p)
	sum.Sum(h[:0])
	return h
}

// Notice says what is offered: an offer may be too large for a frame, and for memory.
type Notice struct {
	Checkpoint entry.Hash   // of the entry with the checkpoint
	Slices     []chunk.Hash // of the encoded offer
}

func (n *Notice) append(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, n.Checkpoint[:]...), uint64(len(n.Slices)))
	for i := range n.Slices {
		dst = append(dst, n.Slices[i][:]...)
	}
	return dst
}

func parseNotice(p []byte) (*Notice, error) {
	r := wire.NewReader(p)
	n := &Notice{Checkpoint: r.Hash()}
	n.Slices = make([]chunk.Hash, r.Count(slicesMax, 32))
	for i := range n.Slices {
		n.Slices[i] = r.Hash()
	}
	if len(n.Slices) == 0 {
		r.Fail("an offer of nothing")
	}
	return n, r.End()
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
	o.Evidence = make([][]byte, r.Count(OfferMax/proofLeast, proofLeast))
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

// ChunkID names a chunk of an offer: a subtree, and the number of the chunk in it; or a slice of
// the offer, if the subtree is ofOffer.
type ChunkID struct{ Tree, N int }

// ofOffer stands for the slices of an offer instead of a subtree.
const ofOffer = -1

// fetch is the content of a frame that asks for chunks.
type fetch struct {
	checkpoint entry.Hash // zero: for a notice
	offset     uint64     // bytes of the form of the first chunk that the sink has
	ranges     []ChunkRange
}

// ChunkRange is consecutive chunks of a subtree.
type ChunkRange struct {
	ChunkID
	Count int
}

func (f *fetch) append(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, f.checkpoint[:]...), f.offset)
	dst = binary.AppendUvarint(dst, uint64(len(f.ranges)))
	for _, x := range f.ranges {
		dst = binary.AppendUvarint(x.ChunkID.append(dst), uint64(x.Count))
	}
	return dst
}

func parseFetch(p []byte) (f fetch, err error) {
	r := wire.NewReader(p)
	f.checkpoint, f.offset = r.Hash(), r.Uvarint()
	f.ranges = make([]ChunkRange, r.Count(fetchMax, 3))
	for i := range f.ranges {
		id, count := readChunkID(&r), r.Uvarint()
		if count == 0 || count > countMax || f.offset > chunk.FormMax {
			r.Fail("it wants chunks that cannot exist")
			break
		}
		f.ranges[i] = ChunkRange{id, int(count)}
	}
	return f, r.End()
}

func (id ChunkID) append(dst []byte) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(dst, uint64(id.Tree+1)), uint64(id.N))
}

func readChunkID(r *wire.Reader) ChunkID {
	tree, n := r.Uvarint(), r.Uvarint()
	if tree > treesMax || n >= countMax {
		r.Fail("a chunk that cannot exist")
		return ChunkID{}
	}
	return ChunkID{int(tree) - 1, int(n)}
}

// piece is bytes of the form of a chunk, or of a slice of an offer.
type piece struct {
	ChunkID
	offset  uint64 // of the first byte
	last    bool
	content []byte
}

func (g *piece) append(dst []byte) []byte {
	dst = binary.AppendUvarint(g.ChunkID.append(dst), g.offset)
	return append(appendFlag(dst, g.last), g.content...)
}

// parsePiece decodes a piece, which refers to p.
func parsePiece(p []byte) (g piece, err error) {
	r := wire.NewReader(p)
	g = piece{ChunkID: readChunkID(&r), offset: r.Uvarint(), last: readFlag(&r), content: r.Rest()}
	if g.offset > chunk.FormMax || len(g.content) == 0 {
		r.Fail("a piece that cannot exist")
	}
	return g, r.Err()
}

// Given is a chunk as files have it.
type Given struct {
	ChunkID
	Form []byte // packed
}

// Append appends the chunk as files have it.
func (g *Given) Append(dst []byte) []byte {
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(g.Tree)), uint64(g.N))
	return append(dst, g.Form...)
}

// ParseGiven decodes a chunk, which refers to p.
func ParseGiven(p []byte) (g Given, err error) {
	r := wire.NewReader(p)
	tree, n := r.Uvarint(), r.Uvarint()
	if tree >= treesMax || n >= countMax {
		r.Fail("a chunk that cannot exist")
	}
	g = Given{ChunkID{int(tree), int(n)}, r.Rest()}
	return g, r.Err()
}
