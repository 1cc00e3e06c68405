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

func (l *laggard) Stage(chunks [][]byte) error {
	<-l.let
	return l.beginner.Stage(chunks)
}

// A source spends all credit of a sink that is slow, and sends the whole of the chunk that it has
// begun with the last of it.
func TestStart_takesTheChunkThatIsBegunWithTheLastCredit(t *testing.T) {
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
	for n := range window/size + 1 {
		o.Trees[0] = append(o.Trees[0], chunk.Leaf(content(n)))
	}
	err := attack(t, c, func(a *attacker) {
		a.greet()
		a.write(frameCheckpoint, o.Append(nil))
		for _, id := range a.wanted() {
			g := Given{id, content(id.N)}
			p := g.Append(nil)
			for ; len(p) > FrameMax; p = p[FrameMax:] {
				a.write(framePart, p[:FrameMax])
			}
			a.write(frameChunk, p)
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
