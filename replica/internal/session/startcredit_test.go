package session

import (
	"testing"

	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// laggard is a beginner that stores nothing until it is let to.
type laggard struct {
	*beginner
	let chan struct{} // closed when it may store
}

func (l *laggard) Stage(chunks []chunk.Packed) error {
	<-l.let
	return l.beginner.Stage(chunks)
}

// A source may spend all credit of a sink that is slow: pieces wait until they are stored.
func TestStart_takesAsManyChunksAsThereIsCreditFor(t *testing.T) {
	victim := &laggard{newBeginner(), make(chan struct{})}
	c := config(victim.memory)
	c.Spaces = []Space{victim}
	const size = 3 * FrameMax
	content := func(n int) []byte {
		p := make([]byte, size)
		p[0] = byte(n)
		return p
	}
	o := &Offer{Checkpoint: entry.Hash{7}, Evidence: [][]byte{{1}}, Trees: []chunk.Tree{{}}}
	for n := range window/(size+4*wholeCost) - 1 {
		o.Trees[0] = append(o.Trees[0], chunk.Leaf(content(n)))
	}
	err := attack(t, c, func(a *attacker) {
		a.greet()
		for _, id := range a.offer(o) {
			a.give(id, content(id.N))
		}
		close(victim.let)
		for k := frameMark; k != frameCredit; {
			var err error
			if k, _, err = readFrame(a.in, func() {}); err != nil {
				return // the victim ended the session
			}
		}
		a.write(frameChunk, nil)
		go a.drop()
		select {
		case <-victim.installed:
		case <-t.Context().Done():
		}
		_ = a.conn.Close()
	})
	if len(victim.staged) != len(o.Trees[0]) {
		t.Errorf("%d chunks are staged: %v", len(victim.staged), err)
	}
}
