package replica

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/replica/internal/chunk"
)

// failure returns the only failure in the status of a replica.
func (p *peer) failure() Failure {
	p.t.Helper()
	var st *Status
	must(p.t, p.db.View(func(tx *stoat.Tx) (err error) {
		st, err = p.space.Status(tx)
		return err
	}))
	if len(st.Failures) != 1 {
		p.t.Fatalf("the status has the failures %v", st.Failures)
	}
	return st.Failures[0]
}

// A writer whose database another process has taken over says so to its peers; both say what to do,
// also in the status, until they meet again.
func TestSync_ofAWriterThatLostItsRole(t *testing.T) {
	w := newWriter(t)
	other := newPeer(t, w.peer)
	w.put(task{ID: 1})
	meet(t, w.peer, other)
	w.ship()
	next := w.takenOver(t, w.standby(t))
	next.put(task{ID: 2})
	if err := w.db.Confirm(t.Context()); !errors.Is(err, remote.ErrFenced) {
		t.Fatalf("it is the writer: %v", err)
	}
	other.put(task{ID: 3})
	here, there := syncSides(w.peer, other)
	if !errors.Is(here, remote.ErrFenced) || !strings.Contains(here.Error(), "stoat.Open") {
		t.Errorf("here: %v", here)
	}
	if !errors.Is(there, ErrEnded) || !strings.Contains(there.Error(), "has taken over its database") {
		t.Errorf("there: %v", there)
	}
	if f := w.failure(); !f.Here || f.Device != other.space.device.ID() ||
		!strings.Contains(f.Reason.Error(), "stoat.Open") {
		t.Errorf("the status here: %+v", f)
	}
	if f := other.failure(); f.Here || f.Device != w.space.device.ID() ||
		!strings.Contains(f.Reason.Error(), "has taken over its database") {
		t.Errorf("the status there: %+v", f)
	}
	err := Post(t.Context(), other.space, w.web(nil).URL, &PostOptions{Peer: w.space.device.ID()})
	if !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), "has taken over its database") ||
		strings.Contains(err.Error(), "is not the writer") {
		t.Errorf("post to it: %v", err)
	}
	if f := other.failure(); f.Here {
		t.Errorf("the status after a request: %+v", f)
	}
	meet(t, next.peer, other) // the same device
	other.space.mu.Lock()
	defer other.space.mu.Unlock()
	if n := len(other.space.failures.all); n > 0 {
		t.Errorf("%d failures are left", n)
	}
}

// What peers are told of an error says what to do, and nothing of the error itself.
func TestSync_tellsReasonsWithoutSecrets(t *testing.T) {
	for _, known := range []error{remote.ErrFenced, stoat.ErrReadOnly, stoat.ErrNoSpace,
		stoat.ErrPoisoned, stoat.ErrClosed, stoat.ErrCorrupt, ErrMismatch, chunk.ErrTooLarge,
		errForgotten, ErrInvalid} {
		told := reasonOf(fmt.Errorf("/home/secret: %w: a key", known))
		if !strings.Contains(told, ": ") || strings.Contains(told, "secret") {
			t.Errorf("%v: the peer is told %q", known, told)
		}
	}
	if told := reasonOf(errors.New("/home/secret")); told != "" {
		t.Errorf("the peer is told %q", told)
	}
}

// A server that ends a session before it has said who it is stays in the status of the client
// until they meet.
func TestSync_ofAServerThatDoesNotSayWhoItIs(t *testing.T) {
	server := newPeer(t, nil)
	a := newPeer(t, server)
	closed := server.web(&ServeOptions{Sync: SyncOptions{
		Admit: func(*Space, DeviceID) error { return errors.New("no") }}})
	for range 2 {
		if err := a.browse(closed.URL, nil, SyncOptions{}); !errors.Is(err, ErrEnded) {
			t.Errorf("got %v", err)
		}
		if f := a.failure(); f.Here || f.Device != (DeviceID{}) || !errors.Is(f.Reason, ErrEnded) {
			t.Errorf("the status: %+v", f)
		}
	}
	must(t, a.browse(server.web(nil).URL, nil, SyncOptions{}))
	a.space.mu.Lock()
	defer a.space.mu.Unlock()
	if len(a.space.failures.all) > 0 {
		t.Errorf("they have met: %v", a.space.failures)
	}
}
