package history

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// ErrMoved reports that a proof is too old.
var ErrMoved = errors.New("the writer has gone on")

// Proof is the question whether a writer is the writer. It is of one moment: what the writer has
// settled later does not matter.
type Proof struct {
	log    *Log
	state  *object.State
	sent   int // requests that were not settled
	made   *made
	fenced error
}

// Proof returns the question whether this writer is the writer.
func (w *Writer) Proof() Proof { return Proof{w.log, w.state, len(w.sent), w.made, w.fenced} }

// Confirm returns nil if the writer was the writer at a moment during the call: whatever had been
// acknowledged before the call, by anyone, was acknowledged by itself. It returns ErrFenced if
// another one has taken over, or a barrier is to stop the writer; if the error also matches
// objstore.ErrUnknown, what it has sent may count. It makes one request, and one more for each that
// was not settled. If the writer has gone on by far meanwhile, the error is ErrMoved, and another
// Proof is needed.
//
// A claim that had ended this writer's before the call would have one of these numbers: it is made
// at the end of the log, which is no later than after all that this writer has sent. Claims are
// never deleted. So would an object of a copy of this process, unless it is deleted by now.
func (p Proof) Confirm(ctx context.Context) error {
	if p.fenced != nil {
		return p.fenced
	}
	last := zone(p.state)
	for n, left := p.state.Number+1, p.sent+1; left > 0; n++ {
		there, err := p.log.get(ctx, n)
		switch {
		case errors.Is(err, objstore.ErrNotExist):
			left--
		case isNewer(err):
			return errNewer(err)
		case err != nil:
			return err
		case there.Epoch < p.state.Epoch && (n <= last || there.Barrier): // void
		case there.Barrier:
			return errStopped(n)
		case there.Epoch == p.state.Epoch && p.made.is(there):
			left--
		case there.Epoch == p.state.Epoch && p.made.forgot(there):
			return ErrMoved
		default:
			return p.overtaken(there)
		}
	}
	return nil
}

// overtaken returns the error of a writer that another one has ended, which has a log object there.
// What the writer has sent with lower numbers, and knows nothing of yet, may count.
func (p Proof) overtaken(there *object.Log) error {
	err := errOvertaken(there)
	if p.sent == 0 || there.Number == p.state.Number+1 {
		return err
	}
	return fmt.Errorf("%w: %w: log object %d is that one's", err, objstore.ErrUnknown, there.Number)
}
