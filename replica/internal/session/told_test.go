package session

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// broke is a replica whose database fails when it is given the description.
type broke struct{ *memory }

var errBroke = errors.New("/home/secret: no space left")

func (broke) Describe([]byte) error { return errBroke }

// An error of this side's database is no mistake of the peer, and is not told, however the frame
// came.
func TestHandle_doesNotTellErrorsOfTheDatabase(t *testing.T) {
	z, err := encoder()
	if err != nil {
		t.Fatal(err)
	}
	frame := appendFrame(nil, frameDescription, []byte("about"))
	for name, send := range map[string]func(*Session) error{
		"plain":  func(s *Session) error { return s.handle(frameDescription, []byte("about")) },
		"packed": func(s *Session) error { return s.handle(framePacked, z.EncodeAll(frame, nil)) },
	} {
		space := broke{newMemory(1, 1)}
		s := New(config(space.memory))
		s.space, s.asked = space, true
		err := send(s)
		if !errors.Is(err, errBroke) || errors.Is(err, ErrPeer) ||
			strings.Contains(s.reasonOf(err), "secret") {
			t.Errorf("%s: %v, and the peer is told %q", name, err, s.reasonOf(err))
		}
	}
}

// What a program says against a device goes through Config.Reason, whatever it wraps.
func TestReasonOf_whatAdmitSays(t *testing.T) {
	s := New(&Config{Reason: func(error) string { return "a reason" }})
	for _, wrapped := range []error{ErrNotAllowed, ErrPeer, ErrPruned} {
		err := &admitError{fmt.Errorf("/home/secret: %w", wrapped)}
		if told := s.reasonOf(err); told != "a reason" {
			t.Errorf("the peer is told %q", told)
		}
	}
}
