package history

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// Request is an object on its way to the log. Safe for concurrent use.
type Request struct {
	log    *Log
	object *object.Log
	bytes  []byte
	next   *object.State          // the state after it, if it counts
	answer atomic.Pointer[answer] // nil while nobody knows
}

// answer is what came of the creation of an object.
type answer struct {
	stored bool
	there  *object.Log // if not, what has the number instead; nil if that is deleted, or newer
	newer  error       // why what has the number instead cannot be read by this program; else nil
}

// request returns a request for the object after a state.
func (l *Log) request(s *object.State, parts []object.Part) (*Request, error) {
	o := &object.Log{Header: l.header(s, s.Epoch), Parts: parts}
	next, err := Next(s, o)
	if err != nil {
		return nil, err
	}
	p, err := l.Codec.EncodeLog(o)
	if err != nil {
		return nil, err
	}
	return &Request{log: l, object: o, bytes: p, next: next}, nil
}

// Next returns the state after the object, if it counts.
func (r *Request) Next() *object.State { return r.next }

// Bytes returns how large the object is.
func (r *Request) Bytes() int { return len(r.bytes) }

// Send has the object stored, with tries until the outcome is known, which [Writer.Settle] then
// looks at. After an error, which matches objstore.ErrUnknown, it is to be called again.
func (r *Request) Send(ctx context.Context) error {
	if r.answer.Load() != nil {
		return nil
	}
	a, err := r.log.create(ctx, r.object, r.bytes)
	if err == nil {
		r.answer.Store(&a)
	} else if !errors.Is(err, objstore.ErrUnknown) {
		err = fmt.Errorf("%w: %w", objstore.ErrUnknown, err)
	}
	return err
}
