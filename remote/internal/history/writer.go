package history

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// ErrUnsettled reports that as many requests are in flight as may be. [Writer.Finish] settles them.
var ErrUnsettled = errors.New("the outcome of earlier requests is unknown")

// Writer appends to the log, with as many requests in flight as its claim says. It may be fenced at
// any time, and learns of it when it settles. Not safe for concurrent use.
type Writer struct {
	log    *Log
	base   uint64 // the number of the state from which on the log was read for the claim; 0: none
	state  *object.State
	sent   []*Request // not settled, in the order of their numbers
	made   *made      // what this process has prepared last
	passed bool       // the first of sent had another number, where a void object was met
	fenced error      // what Settle returned once it was fenced
}

// State returns the state at the end of the log, as far as this writer has acknowledged it.
func (w *Writer) State() *object.State { return w.state }

// Base returns the number of the newest state when the role was claimed; 0 if there was none.
func (w *Writer) Base() uint64 { return w.base }

// Head returns the state after all that this writer has prepared.
func (w *Writer) Head() *object.State {
	if n := len(w.sent); n > 0 {
		return w.sent[n-1].next
	}
	return w.state
}

// Unsettled returns the requests that are not settled, in the order of their numbers. Once the
// writer is fenced, they never will be.
func (w *Writer) Unsettled() []*Request { return slices.Clone(w.sent) }

// HasRoom reports whether one more request may be in flight. Until the numbers are passed that void
// objects and barriers may have, there is one: an object after it would continue nothing if it
// moved.
func (w *Writer) HasRoom() bool {
	most := w.state.Claims[len(w.state.Claims)-1].Window
	if w.state.Number < max(zone(w.state), calm(w.state)) {
		most = 1
	}
	return uint64(len(w.sent)) < most
}

// Prepare returns a request that adds an object with the parts after [Writer.Head]. It has to be
// sent, and then settled. Without room, the error is ErrUnsettled.
func (w *Writer) Prepare(parts []object.Part) (*Request, error) {
	switch {
	case w.fenced != nil:
		return nil, w.fenced
	case !w.HasRoom():
		return nil, ErrUnsettled
	}
	r, err := w.log.request(w.Head(), parts)
	if err == nil {
		w.sent = append(w.sent, r)
		w.made.add(r.object)
	}
	return r, err
}

// Settle acknowledges, in their order, the requests whose outcome is known. What is acknowledged
// counts, whatever happens. A request that it returns is to be sent: a void object has taken its
// number, so it has the next one now.
//
// ErrFenced means that nothing else counts, nor ever will. If the error also matches
// objstore.ErrUnknown, nobody knows: the number was taken, and its object is deleted by now, or has
// been, if a late one is there that looks void; or it is a barrier, whose maker may never claim, so
// that the next writer may be of this folder; or a newer program has made it.
func (w *Writer) Settle() (again *Request, err error) {
	for len(w.sent) > 0 && w.fenced == nil {
		r := w.sent[0]
		a := r.answer.Load()
		switch {
		case a == nil:
			return nil, nil
		case a.stored:
			w.state, w.sent, w.passed = r.next, slices.Delete(w.sent, 0, 1), false
		case a.newer != nil:
			w.fenced = errNewer(a.newer)
		case a.there == nil:
			w.fenced = fmt.Errorf("%w: %w: log object %d is deleted", ErrFenced, objstore.ErrUnknown,
				r.object.Number)
		case passes(w.state, a.there):
			w.state, w.passed = Skip(w.state), true
			if again, err = w.log.request(w.state, r.object.Parts); err == nil {
				w.sent[0] = again // the only one
				w.made.add(again.object)
			}
			return again, err
		case a.there.Barrier:
			w.fenced = errStopped(r.object.Number)
		case w.passed:
			w.fenced = fmt.Errorf("%w: %w: a log object before %d may have taken the place of one that "+
				"counts", ErrFenced, objstore.ErrUnknown, r.object.Number)
		default:
			w.fenced = errOvertaken(a.there)
		}
	}
	return nil, w.fenced
}

// Append adds an object with the parts to the log, and waits until it counts. After an error that
// matches objstore.ErrUnknown, only [Writer.Finish] goes on. The others are those of Settle.
func (w *Writer) Append(ctx context.Context, parts []object.Part) error {
	if _, err := w.Prepare(parts); err != nil {
		return err
	}
	return w.Finish(ctx)
}

// Finish sends and settles whatever is unsettled.
func (w *Writer) Finish(ctx context.Context) error {
	for {
		if _, err := w.Settle(); err != nil || len(w.sent) == 0 {
			return err
		}
		if err := w.sent[0].Send(ctx); err != nil {
			return err
		}
	}
}
