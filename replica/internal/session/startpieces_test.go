package session

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"testing"

	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// giver is a replica in memory with an offer, and its chunks.
type giver struct {
	*memory
	offer  *Offer
	chunks map[ChunkID][]byte
}

// newGiver returns a giver of chunks of some sizes, which do not compress.
func newGiver(sizes ...int) *giver {
	g := &giver{memory: newMemory(1, 2), chunks: map[ChunkID][]byte{},
		offer: &Offer{Checkpoint: entry.Hash{9}, Trees: []chunk.Tree{{}}}}
	random := rand.NewChaCha8([32]byte{5})
	for n, size := range sizes {
		p := make([]byte, size)
		_, _ = random.Read(p)
		g.chunks[ChunkID{0, n}] = p
		g.offer.Trees[0] = append(g.offer.Trees[0], chunk.Leaf(p))
	}
	return g
}

func (g *giver) Offered(*Reader) (o *Offered, reason, err error) {
	return Cut(g.offer.Checkpoint, g.offer.Append(nil)), nil, nil
}

func (g *giver) Chunk(_ *Reader, _ entry.Hash, id ChunkID) ([]byte, error) {
	return g.chunks[id], nil
}

func (b *beginner) Starts() (bool, error) { return true, nil }

// counting is a connection that counts what is read from it, and breaks after so many bytes.
type counting struct {
	net.Conn
	n, most int
}

func (c *counting) Read(p []byte) (int, error) {
	if c.n >= c.most {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.Conn.Read(p[:min(len(p), c.most-c.n)])
	c.n += n
	return n, err
}

// visit has a session that breaks when the beginner has read so many bytes, and returns how many it
// has read.
func (g *giver) visit(t *testing.T, b *beginner, most int) int {
	t.Helper()
	x, y := net.Pipe()
	here, there := config(g.memory), b.config()
	here.Spaces, there.FromCheckpoint = []Space{g}, true
	in := &counting{Conn: y, most: most}
	_, err := run(t, here, there, x, in)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("after %d bytes: %v", most, err)
	}
	return in.n
}

// hasInstalled reports whether the beginner has the state.
func (b *beginner) hasInstalled() bool {
	select {
	case <-b.installed:
		return true
	default:
		return false
	}
}

// A start whose connection breaks again and again, anywhere, comes to its end: each session reads
// at most a frame again, besides what sessions begin with.
func TestStart_goesOnBehindAnyByte(t *testing.T) {
	const each = 3 * FrameMax / 2
	g := newGiver(1, FrameMax, 3*FrameMax, 100, stageMin+5*FrameMax, pieceMax, pieceMax+1)
	if err := g.Seal(); err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, p := range g.chunks {
		total += len(p)
	}
	b := newBeginner()
	sessions := 0
	for !b.hasInstalled() {
		g.visit(t, b, each)
		if sessions++; sessions > 2+total/(each-FrameMax-FrameMax/16) {
			t.Fatalf("it has not ended after %d sessions, and has %d bytes", sessions, total)
		}
	}
	t.Logf("%d sessions for %d bytes", sessions, total)
}

// A start that is cut off at any byte goes on, and ends with all chunks.
func TestStart_isCutAtEachByte(t *testing.T) {
	g := newGiver(1, 40, 500, FrameMax+100)
	if err := g.Seal(); err != nil {
		t.Fatal(err)
	}
	whole := g.visit(t, newBeginner(), 1<<30)
	for most := 1; most < whole; most += 1 + most/20 {
		b := newBeginner()
		g.visit(t, b, most)
		if !b.hasInstalled() {
			g.visit(t, b, 1<<30)
		}
		if !b.hasInstalled() || len(b.staged) != len(g.chunks) {
			t.Errorf("after %d bytes: %d chunks are staged", most, len(b.staged))
		}
	}
}

// What can be sent of an offer is what is taken.
func TestOffer_isCutToWhatSinksTake(t *testing.T) {
	for _, size := range []int{1, SliceSize, SliceSize + 1, OfferMax, OfferMax + 1} {
		offered := Cut(entry.Hash{1}, make([]byte, size))
		if offered == nil {
			if size <= OfferMax {
				t.Errorf("an offer of %d bytes cannot be sent", size)
			}
			continue
		}
		p := offered.append(nil)
		got, err := parseNotice(p)
		if err != nil || len(p) > FrameMax || size > OfferMax {
			t.Fatalf("an offer of %d bytes: a notice of %d, %v", size, len(p), err)
		}
		n := 0
		for i := range got.Slices {
			g := piece{ChunkID{ofOffer, i}, 0, true, offered.slice(i)}
			if len(g.append(nil)) > FrameMax {
				t.Errorf("slice %d does not fit into a frame", i)
			}
			n += len(offered.slice(i))
		}
		if n != size {
			t.Errorf("the slices have %d of %d bytes", n, size)
		}
	}
}

// An offer may have any number of proof runs, as long as it is not too large.
func TestOffer_takesManyProofRuns(t *testing.T) {
	o := &Offer{Checkpoint: entry.Hash{1}}
	for range 70_000 {
		o.Evidence = append(o.Evidence, make([]byte, 300))
	}
	got, err := ParseOffer(o.Append(nil))
	if err != nil || len(got.Evidence) != len(o.Evidence) {
		t.Errorf("got %v", err)
	}
}

// Chunks that compress are staged as they were sent.
func TestStart_takesChunksThatCompress(t *testing.T) {
	g := newGiver(3*FrameMax, 100, stageMin)
	for n := range g.offer.Trees[0] {
		p := bytes.Repeat([]byte("a record "), len(g.chunks[ChunkID{0, n}]))
		p[0] = byte(n)
		g.chunks[ChunkID{0, n}], g.offer.Trees[0][n] = p, chunk.Leaf(p)
	}
	if err := g.Seal(); err != nil {
		t.Fatal(err)
	}
	b := newBeginner()
	read := g.visit(t, b, 1<<30)
	if !b.hasInstalled() || len(b.staged) != len(g.chunks) || read > FrameMax {
		t.Errorf("%d chunks are staged, after %d bytes", len(b.staged), read)
	}
}

// An offer has a subtree for each of as many collections as fit into the largest act.
func TestOffer_ofManyCollections(t *testing.T) {
	const subtreeLeast = 1 + 1 + 32 // bytes in an act
	o := &Offer{Evidence: [][]byte{make([]byte, proofLeast)},
		Trees: make([]chunk.Tree, entry.SizeMax/subtreeLeast)}
	got, err := ParseOffer(o.Append(nil))
	if err != nil || len(got.Trees) != len(o.Trees) {
		t.Fatalf("%v", err)
	}
	last := ChunkID{Tree: len(o.Trees) - 1}
	r := wire.NewReader(last.append(nil))
	if id := readChunkID(&r); r.End() != nil || id != last {
		t.Errorf("its last chunk is %v, %v", id, r.End())
	}
}
