package history

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// DraftName is the name of the draft of a clone.
const DraftName = "origin"

// ClonePin returns the name of the pin that a clone has in its parent, given the id of the first
// object of its log.
func ClonePin(first object.ID) string { return fmt.Sprintf("clone-%x", first[:]) }

// First returns the header of the first log object in a store, of whichever database. If there is
// none, the error matches objstore.ErrNotExist. The object itself may be large.
func First(ctx context.Context, store objstore.Store) (object.Header, error) {
	name := logName(1)
	p, err := store.Get(ctx, name, 0, object.HeaderBytes)
	if err != nil {
		return object.Header{}, err
	}
	h, err := object.DecodeLogHeader(name, p)
	if err == nil && h.Number != 1 {
		err = corrupt.New(name, 0, "the object belongs at %s", logName(h.Number))
	}
	return h, err
}

// FirstObject returns the first log object.
func (l *Log) FirstObject(ctx context.Context) (*object.Log, error) { return l.get(ctx, 1) }

// Draft returns the id that the first object will have in the log of a clone, whose store is empty
// but for what an earlier try has left.
func (l *Log) Draft(ctx context.Context, origin object.ID) (id object.ID, err error) {
	draft := &object.Draft{Database: l.Database, Origin: origin, ID: l.NewID()}
	err = l.Store.Create(ctx, DraftName, object.EncodeDraft(draft))
	if !errors.Is(err, objstore.ErrExists) {
		return draft.ID, err
	}
	p, err := l.Store.Get(ctx, DraftName, 0, object.DraftBytes+1)
	if err != nil {
		return id, err
	}
	begun, err := object.DecodeDraft(DraftName, p)
	if err == nil && (begun.Database != draft.Database || begun.Origin != origin) {
		err = fmt.Errorf("a clone of another database was begun in the store: use an empty one, or "+
			"delete its object %s: %w", DraftName, objstore.ErrExists)
	}
	if err != nil {
		return id, err
	}
	return begun.ID, nil
}

// Found creates the first object of a log, and reports whether it did: there may be one.
func (l *Log) Found(ctx context.Context, first *object.Log) (created bool, err error) {
	p, err := l.Codec.EncodeLog(first)
	if err != nil {
		return false, err
	}
	a, err := l.create(ctx, first, p)
	return a.stored, err
}

// PinAt pins a state of the past, unless an earlier try has pinned it, or one before it. The error
// matches [ErrNotKept] if what the state needs is not kept any more.
func (l *Log) PinAt(ctx context.Context, name string, s *object.State) error {
	pin := &object.Pin{Database: l.Database, Number: s.Number, Commit: s.Commit, Time: s.Time}
	err := l.Store.Create(ctx, pinPrefix+name, object.EncodePin(pin))
	if errors.Is(err, objstore.ErrExists) {
		err = l.WantPin(ctx, name, s.Number)
	}
	if err != nil {
		return err
	}
	// See Pin. The pin stays if it comes too late: another try may rely on it by now.
	bound, err := l.Bound(ctx)
	if err == nil && bound > s.Number {
		err = fmt.Errorf("pin %s: the database has moved on to log object %d: %w", name, bound,
			ErrNotKept)
	}
	return err
}

// WantPin returns an error unless there is a pin of a log object, or of one before it.
func (l *Log) WantPin(ctx context.Context, name string, number uint64) error {
	pin, err := l.pin(ctx, pinPrefix+name)
	switch {
	case errors.Is(err, objstore.ErrNotExist):
		return fmt.Errorf("the pin %s was removed, so files may be deleted: %w", name, ErrNotKept)
	case err == nil && pin.Number > number:
		return fmt.Errorf("the pin %s is of commit %d, after what is to be cloned; remove it, and try "+
			"again: %w", name, pin.Commit, ErrNotKept)
	}
	return err
}
