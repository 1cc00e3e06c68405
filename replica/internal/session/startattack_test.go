package session

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"

	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// contentOf returns the content of a chunk that an attacker offers.
func contentOf(id ChunkID) []byte { return []byte{byte(id.Tree), byte(id.N)} }

// offerOf returns an offer of two subtrees with chunks.
func offerOf(checkpoint byte, chunks int) *Offer {
	o := &Offer{Checkpoint: entry.Hash{checkpoint}, Evidence: [][]byte{{1}}}
	for tree := range 2 {
		o.Trees = append(o.Trees, chunk.Tree{})
		for n := range chunks {
			o.Trees[tree] = append(o.Trees[tree], chunk.Leaf(contentOf(ChunkID{tree, n})))
		}
	}
	return o
}

// offer sends an offer, and returns the chunks that the victim then wants.
func (a *attacker) offer(o *Offer) []ChunkID {
	offered := Cut(o.Checkpoint, o.Append(nil))
	a.write(frameCheckpoint, offered.append(nil))
	all := a.wanted()
	if len(all) == 0 || all[0].Tree != ofOffer {
		return all
	}
	for _, id := range all {
		a.give(id, offered.slice(id.N))
	}
	a.write(frameChunk, nil)
	return a.wanted()
}

// wanted reads until the victim fetches chunks, and returns them; none if it ends the session.
func (a *attacker) wanted() (all []ChunkID) {
	for {
		k, p, err := readFrame(a.in, func() {})
		if err != nil {
			return nil
		}
		if k != frameFetch {
			continue
		}
		f, err := parseFetch(p)
		if err != nil {
			a.t.Error(err)
		}
		for _, r := range f.ranges {
			for n := range r.Count {
				all = append(all, ChunkID{r.Tree, r.N + n})
			}
		}
		return all
	}
}

// give sends a chunk.
func (a *attacker) give(id ChunkID, content []byte) {
	if id.Tree != ofOffer {
		content = plainForm(content)
	}
	a.giveForm(id, content)
}

// plainForm returns the form of a chunk that is not compressed.
func plainForm(p []byte) []byte { return append([]byte{0}, p...) }

// giveForm sends the form of a chunk, or a slice, in pieces.
func (a *attacker) giveForm(id ChunkID, content []byte) {
	for at := 0; at == 0 || at < len(content); at += pieceMax {
		g := piece{id, uint64(at), at+pieceMax >= len(content),
			content[at:min(at+pieceMax, len(content))]}
		a.write(frameChunk, g.append(nil))
	}
}

// A peer that withholds a chunk ends the session with an error that says so. What it gave stays,
// and another peer gives the rest.
func TestAttack17_chunksThatAreWithheld(t *testing.T) {
	victim := newBeginner()
	c := victim.config()
	lacking := uint64(0)
	c.Report = func(now Status) { lacking = now.ChunksLacking }
	o := offerOf(7, 5)
	err := attack(t, c, func(a *attacker) {
		a.greet()
		for _, id := range a.offer(o) {
			if (id != ChunkID{1, 3}) {
				a.give(id, contentOf(id))
			}
		}
		a.write(frameChunk, nil)
		a.drop()
	})
	if !errors.Is(err, ErrWithheld) || lacking != 1 || len(victim.staged) != 9 {
		t.Errorf("got %v, %d chunks are lacking, and %d staged", err, lacking, len(victim.staged))
	}
	var wanted []ChunkID
	_ = attack(t, victim.config(), func(a *attacker) {
		a.greet()
		for _, id := range a.offer(o) {
			wanted = append(wanted, id)
			a.give(id, contentOf(id))
		}
		a.write(frameChunk, nil)
		go a.drop()
		select {
		case <-victim.installed:
		case <-t.Context().Done():
		}
		_ = a.conn.Close()
	})
	if len(wanted) != 1 || (wanted[0] != ChunkID{1, 3}) {
		t.Errorf("of the next peer, it wants %v", wanted)
	}
}

// Chunks and offers that nobody asked for, or that have no end, end the session.
func TestAttack17_chunksWithoutEnd(t *testing.T) {
	const endless = 10_000 // more than may pass
	for name, flood := range map[string]func(a *attacker, n int){
		"the same chunk":       func(a *attacker, _ int) { a.give(ChunkID{}, contentOf(ChunkID{})) },
		"a chunk that is none": func(a *attacker, n int) { a.give(ChunkID{n, 1 << 20}, []byte{1}) },
		"another content":      func(a *attacker, n int) { a.give(ChunkID{0, n % 5}, []byte{1}) },
		"ends":                 func(a *attacker, _ int) { a.write(frameChunk, nil) },
		"a piece behind a gap": func(a *attacker, _ int) {
			a.write(frameChunk, (&piece{ChunkID{}, 1, false, []byte{1}}).append(nil))
		},
		"a chunk without an end": func(a *attacker, n int) {
			a.write(frameChunk, (&piece{ChunkID{}, uint64(n) * pieceMax, false,
				make([]byte, pieceMax)}).append(nil))
		},
		"an empty piece": func(a *attacker, _ int) {
			a.write(frameChunk, (&piece{ChunkID: ChunkID{}}).append(nil))
		},
		"the same offer": func(a *attacker, _ int) {
			o := offerOf(7, 5)
			a.write(frameCheckpoint, Cut(o.Checkpoint, o.Append(nil)).append(nil))
		},
		"offers of nothing": func(a *attacker, _ int) { a.write(frameCheckpoint, nil) },
		"chunk 2^62": func(a *attacker, _ int) {
			far := binary.AppendUvarint(nil, 1<<62)
			a.write(frameChunk, append(append(far, far...), 0, 1, 1))
		},
		"parts of a chunk": func(a *attacker, _ int) { a.write(framePart, make([]byte, FrameMax)) },
	} {
		for _, offers := range []bool{false, true} {
			victim := newBeginner()
			err := attack(t, victim.config(), func(a *attacker) {
				a.greet()
				if offers {
					a.offer(offerOf(7, 5))
				}
				go a.drop()
				for n := range endless {
					flood(a, n)
				}
				_ = a.conn.Close()
			})
			if !errors.Is(err, ErrPeer) && !errors.Is(err, ErrWithheld) {
				t.Errorf("%s, offer: %t: %v", name, offers, err)
			}
			if len(victim.staged) > 1 || victim.begun > 1 {
				t.Errorf("%s: %d chunks are staged, %d begun", name, len(victim.staged), victim.begun)
			}
		}
	}
}

// Counts in a notice, and in an offer, take no memory before what they count is there.
func TestAttack14_offersOfMoreThanThereIs(t *testing.T) {
	checkpoint := entry.Hash{7}
	for _, n := range []uint64{1, 1 << 40, 1<<64 - 1} {
		p := binary.AppendUvarint(bytes.Clone(checkpoint[:]), n)
		victim := newBeginner()
		err := attack(t, victim.config(), greeted(func(a *attacker) { a.write(frameCheckpoint, p) }))
		if !errors.Is(err, ErrPeer) || victim.begun > 0 {
			t.Errorf("%d slices: %v", n, err)
		}
	}
	proof := append(bytes.Clone(checkpoint[:]), 1, 1, 1)
	for name, p := range map[string][]byte{
		"2^40 proofs":   binary.AppendUvarint(bytes.Clone(checkpoint[:]), 1<<40),
		"2^40 subtrees": binary.AppendUvarint(bytes.Clone(proof), 1<<40),
		"2^40 chunks":   binary.AppendUvarint(append(bytes.Clone(proof), 1), 1<<40),
		"2^64-1 chunks": binary.AppendUvarint(append(bytes.Clone(proof), 1), 1<<64-1),
		"2^40 bytes":    binary.AppendUvarint(append(bytes.Clone(checkpoint[:]), 1), 1<<40),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := ParseOffer(append(p, make([]byte, 32)...))
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; err == nil || n > 1<<16 {
			t.Errorf("%s: %v, and %d bytes allocated", name, err, n)
		}
	}
}
