package session

import (
	"errors"
	"net"
	"testing"
)

// shrunk is a replica that has said how many entries a log has, and then gives other answers.
type shrunk struct {
	*memory
	why error  // of each read
	end uint64 // of each log
}

func (s *shrunk) Run(uint32, uint64, *Reader) (*Run, error) { return nil, s.why }
func (s *shrunk) End(uint32) (uint64, error)                { return s.end, nil }

// A log that has given way to another branch, while it is on its way to a peer, does not end the
// session. Other failures do.
func TestSession_goesOnWithoutABranchThatHasGivenWay(t *testing.T) {
	errDisk := errors.New("the disk fails")
	for _, x := range []struct {
		why, want error
		end       uint64
	}{
		{ErrEnded, nil, 0},
		{ErrPruned, nil, 1},
		{ErrPruned, ErrPruned, 1 << 40},
		{errDisk, errDisk, 1},
	} {
		a, b := newMemory(1, 1), newMemory(1, 2)
		a.write("something")
		c := config(a)
		c.Spaces = []Space{&shrunk{a, x.why, x.end}}
		conn, other := net.Pipe()
		here, _ := run(t, c, config(b), conn, other)
		if !errors.Is(here, x.want) {
			t.Errorf("%v, %d entries: got %v", x.why, x.end, here)
		}
	}
}
