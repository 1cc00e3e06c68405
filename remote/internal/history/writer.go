package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// ErrUnsettled reports that the outcome of an earlier Append is unknown. [Writer.Settle] finds it
// out.
var ErrUnsettled = errors.New("the outcome of the last append is unknown")

// Writer appends to the log. It may be fenced at any time, and learns of it when it appends or
// confirms. Not safe for concurrent use.
type Writer struct {
	log    *Log
	state  *object.State
	fenced bool
	tried  *attempt // an object whose outcome is unknown
}

// attempt is an object that may have been stored.
type attempt struct {
	object *object.Log
	bytes  []byte
	next   *object.State // the state after it
}

// State returns the state at the end of the log, as far as this writer has acknowledged it.
func (w *Writer) State() *object.State { return w.state }

// Append adds an object with the parts to the log. After a nil error, it is stored, and counts
// whatever happens. ErrFenced means that it does not and never will, unless an earlier error left
// its outcome unknown. After an error that matches objstore.ErrUnknown, only Settle goes on.
func (w *Writer) Append(ctx context.Context, parts []object.Part) error {
	switch {
	case w.fenced:
		return ErrFenced
	case w.tried != nil:
		return ErrUnsettled
	}
	o := &object.Log{Header: w.log.header(w.state, w.state.Epoch), Parts: parts}
	next, err := Next(w.state, o)
	if err != nil {
		return err
	}
	p, err := w.log.Codec.EncodeLog(o)
	if err != nil {
		return err
	}
	w.tried = &attempt{o, p, next}
	return w.Settle(ctx)
}

// Settle finds out what came of the last Append, by doing it again. It is nil if there is nothing
// to settle.
func (w *Writer) Settle(ctx context.Context) error {
	for w.tried != nil {
		created, err := w.log.create(ctx, w.tried.object, w.tried.bytes)
		switch {
		case err != nil:
			if !errors.Is(err, objstore.ErrUnknown) {
				err = fmt.Errorf("%w: %w", objstore.ErrUnknown, err)
			}
			return err
		case created:
			w.state, w.tried = w.tried.next, nil
			return nil
		}
		if err := w.taken(ctx); err != nil {
			return err
		}
	}
	return nil
}

// taken decides what it means that another object has the number of the last Append: that this
// writer is fenced or, shortly after its claim, that the object is void and the next number
// follows.
func (w *Writer) taken(ctx context.Context) error {
	there, err := w.log.get(ctx, w.state.Number+1)
	if err != nil && !errors.Is(err, objstore.ErrNotExist) {
		return fmt.Errorf("%w: %w", objstore.ErrUnknown, err)
	}
	if err != nil || Judge(w.state, there) != Void {
		w.fenced, w.tried = true, nil
		return ErrFenced
	}
	w.state = Skip(w.state)
	o := *w.tried.object
	o.Header = w.log.header(w.state, w.state.Epoch)
	next, err := Next(w.state, &o)
	if err != nil {
		return err
	}
	p, err := w.log.Codec.EncodeLog(&o)
	if err != nil {
		return err
	}
	w.tried = &attempt{&o, p, next}
	return nil
}

// Save stores the state at the end of the log, and returns it for [Writer.Delete]. It is nil if the
// last object is void: a state is of one that counts.
func (w *Writer) Save(ctx context.Context) (*object.State, error) {
	s := w.state
	if _, void := slices.BinarySearch(s.Void, s.Number); void {
		return nil, nil
	}
	return s, w.log.save(ctx, s)
}

// Delete deletes the log objects from number first on that no reader of a state needs. This writer
// must have saved the state.
func (w *Writer) Delete(ctx context.Context, s *object.State, first uint64) error {
	var names []string
	for n := max(first, 1); n+max(window(s.Claims), 1) <= s.Number; n++ {
		if !stays(s, n) {
			names = append(names, logName(n))
		}
	}
	return w.log.Store.Delete(ctx, names)
}

// stays reports whether a log object is never deleted, or needed to restore the state.
func stays(s *object.State, n uint64) bool {
	_, isVoid := slices.BinarySearch(s.Void, n)
	_, isClaim := s.ClaimIndex(n)
	_, isPending := slices.BinarySearchFunc(s.Pending, n, func(p object.Pending, n uint64) int {
		return cmp.Compare(p.Number, n)
	})
	return isVoid || isClaim || isPending
}

// Confirm returns nil if this writer was the writer at a moment during the call, so that its state
// was the newest, and ErrFenced if another one has taken over.
func (w *Writer) Confirm(ctx context.Context) error {
	if err := w.Settle(ctx); err != nil {
		return err
	}
	if w.fenced {
		return ErrFenced
	}
	there, err := w.log.get(ctx, w.state.Number+1)
	switch {
	case errors.Is(err, objstore.ErrNotExist):
		return nil
	case err != nil:
		return err
	case Judge(w.state, there) == Void:
		w.state = Skip(w.state)
		return w.Confirm(ctx)
	}
	w.fenced = true
	return ErrFenced
}
