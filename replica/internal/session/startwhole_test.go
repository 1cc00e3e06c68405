package session

import (
	"errors"
	"net"
	"testing"

	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// interrupted is a beginner that ends before it joins the bytes of a chunk, once.
type interrupted struct {
	*beginner
	was bool
}

var errInterrupted = errors.New("interrupted")

func (i *interrupted) Join(leaf chunk.Hash, from [32]byte) (bool, error) {
	if !i.was {
		i.was = true
		return false, errInterrupted
	}
	return i.beginner.Join(leaf, from)
}

// startWith has a session in which a space starts from the checkpoint of the giver.
func (g *giver) startWith(t *testing.T, c *Config) error {
	x, y := net.Pipe()
	here := config(g.memory)
	here.Spaces, c.FromCheckpoint = []Space{g}, true
	_, err := run(t, here, c, x, y)
	return err
}

// A replica that ended between storing the last bytes of a chunk and joining them goes on.
func TestStart_goesOnWithAllBytesOfAChunk(t *testing.T) {
	for _, size := range []int{2*stageMin - 2, 2*stageMin - 1, 2 * stageMin, 2*stageMin + 1} {
		g := newGiver(1, size, 3)
		if err := g.Seal(); err != nil {
			t.Fatal(err)
		}
		b := newBeginner()
		c := b.config()
		c.Spaces = []Space{&interrupted{beginner: b}}
		if err := g.startWith(t, c); !errors.Is(err, errInterrupted) {
			t.Fatalf("a chunk of %d bytes: %v", size, err)
		}
		if err := g.startWith(t, b.config()); err != nil || !b.hasInstalled() ||
			len(b.staged) != len(g.chunks) {
			t.Errorf("a chunk of %d bytes: %v, %d chunks are staged", size, err, len(b.staged))
		}
	}
}

// Bytes that were not of their chunk do not keep the replica from starting later, with the same
// peer, however many they were.
func TestStart_afterBytesThatWereWrong(t *testing.T) {
	for _, stored := range []int{1, 2*stageMin - 1, 2 * stageMin, 2*stageMin + 1} {
		g := newGiver(1, 2*stageMin, 3)
		if err := g.Seal(); err != nil {
			t.Fatal(err)
		}
		b := newBeginner()
		b.parts[g.offer.Trees[0][1]] = make([]byte, stored)
		b.staged[g.offer.Trees[0][0]] = true
		err := g.startWith(t, b.config())
		if !b.hasInstalled() {
			err = g.startWith(t, b.config())
		}
		if err != nil || !b.hasInstalled() {
			t.Errorf("after %d bytes: %v", stored, err)
		}
	}
}

// A chunk that was wrong is not stored.
func TestAttack17_wrongChunksAreNotKept(t *testing.T) {
	victim := newBeginner()
	o := offerOf(7, 1)
	err := attack(t, victim.config(), func(a *attacker) {
		a.greet()
		a.give(a.offer(o)[0], []byte("wrong"))
		a.drop()
	})
	if err == nil || len(victim.parts) > 0 {
		t.Errorf("got %v, and %d chunks have bytes", err, len(victim.parts))
	}
}

// The content of a slice has the hash of a slice, and not of a chunk: otherwise it would be asked
// for again and again.
func TestAttack17_aSliceWithTheHashOfAChunk(t *testing.T) {
	victim := newBeginner()
	content := []byte("content")
	n := &Notice{Checkpoint: entry.Hash{7}, Slices: []chunk.Hash{chunk.Leaf(content)}}
	asked := 0
	err := attack(t, victim.config(), func(a *attacker) {
		a.greet()
		a.write(frameCheckpoint, n.append(nil))
		for range 3 {
			all := a.wanted()
			if len(all) == 0 {
				break
			}
			asked++
			a.give(all[0], content)
			a.write(frameChunk, nil)
		}
		if asked == 1 {
			a.drop()
		}
	})
	if asked != 1 || err == nil {
		t.Errorf("it asked %d times, and ended with %v", asked, err)
	}
}
