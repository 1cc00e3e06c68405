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
	return headerAt(ctx, store, 1)
}

// headerAt is First for log object n.
func headerAt(ctx context.Context, store objstore.Store, n uint64) (object.Header, error) {
	name := logName(n)
	p, err := store.Get(ctx, name, 0, object.HeaderBytes)
	if err != nil {
		return object.Header{}, err
	}
	h, err := object.DecodeLogHeader(name, p)
	if err == nil && h.Number != n {
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

// WantVacant returns an error that matches objstore.ErrExists if the store has objects of a
// database. Without a log, they are left of one, and would be taken for those of the next.
func (l *Log) WantVacant(ctx context.Context) error {
	var left [4]string
	var looks []func() error
	for i, prefix := range [len(left)]string{DataPrefix, logPrefix, pinPrefix, statePrefix} {
		looks = append(looks, func() error {
			listed, err := l.Store.List(ctx, prefix, "", 1)
			if len(listed) > 0 {
				left[i] = listed[0].Name
			}
			return err
		})
	}
	err := l.together(looks...)
	for _, name := range left {
		if err == nil && name != "" {
			err = fmt.Errorf("the store has no database, but something is left of one, such as %s, which "+
				"the next one would take for its own: use an empty store, or delete all objects of that "+
				"one, if nobody needs them: %w", name, objstore.ErrExists)
		}
	}
	return err
}

// WantUnused is WantVacant for a database that is not to become a clone.
func (l *Log) WantUnused(ctx context.Context) error {
	return l.together(
		func() error { return l.WantVacant(ctx) },
		func() error { return WantUndrafted(ctx, l.Store) },
	)
}

// WantUndrafted returns an error that matches objstore.ErrExists if the store has the draft of a
// clone, and says what has to be removed to give that up.
func WantUndrafted(ctx context.Context, store objstore.Store) error {
	p, err := store.Get(ctx, DraftName, 0, object.DraftBytes+1)
	switch {
	case errors.Is(err, objstore.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	pin := "whose name begins with clone-, if no clone has it"
	if draft, err := object.DecodeDraft(DraftName, p); err == nil {
		pin = ClonePin(draft.ID) + ", if it is there"
	}
	return fmt.Errorf("a clone was begun in the store and is not there yet: end that with "+
		"remote.Clone, or, to give it up, delete the object %s, and in the store of the parent the "+
		"pin %s: %w", DraftName, pin, objstore.ErrExists)
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
	_, err := l.pinState(ctx, name, s)
	if errors.Is(err, objstore.ErrExists) {
		err = l.WantPin(ctx, name, s.Number)
	}
	if err != nil {
		return err
	}
	// See Pin. The pin stays if it comes too late: another try may rely on it by now.
	if err = l.wantKept(ctx, name, s.Number); err != nil {
		err = fmt.Errorf("%w; the pin is there: clone a later commit into the same store, which it "+
			"keeps, or remove it", err)
	}
	return err
}

// PutBack puts back the pin of a clone that exists, and reports whether it was gone. If it is
// there, it counts, even if the unlink bound is beyond it by now. If it was gone, and what the
// state needs may be deleted, the error matches [ErrNotKept], and it is not put back.
func (l *Log) PutBack(ctx context.Context, name string, s *object.State) (created bool, err error) {
	if _, err := l.pin(ctx, pinPrefix+name); !errors.Is(err, objstore.ErrNotExist) {
		return false, l.WantPin(ctx, name, s.Number)
	}
	// Before, too: after a crash, nobody could tell that the pin came too late.
	if err := l.wantKept(ctx, name, s.Number); err != nil {
		return false, err
	}
	_, err = l.pinState(ctx, name, s)
	switch {
	case errors.Is(err, objstore.ErrExists): // another try has put it back
		return false, l.WantPin(ctx, name, s.Number)
	case err != nil:
		return false, err
	}
	if err = l.wantKept(ctx, name, s.Number); errors.Is(err, ErrNotKept) {
		err = errors.Join(err, l.Unpin(context.WithoutCancel(ctx), name))
	}
	return err == nil, err
}

// wantKept returns an error if what a pin of a log object needs may be deleted, unless the pin was
// there before the unlink bound.
func (l *Log) wantKept(ctx context.Context, name string, number uint64) error {
	bound, err := l.Bound(ctx)
	if err == nil && bound > number {
		err = fmt.Errorf("the pin %s is to keep what log object %d needs, and what those before %d need "+
			"may be deleted: %w", name, number, bound, ErrNotKept)
	}
	return err
}

// ErrUnpinned reports a clone whose pin in its parent was removed. It also matches ErrNotKept.
var ErrUnpinned = fmt.Errorf("files may be deleted: %w", ErrNotKept)

// WantPin returns an error unless there is a pin of a log object, or of one before it.
func (l *Log) WantPin(ctx context.Context, name string, number uint64) error {
	pin, err := l.pin(ctx, pinPrefix+name)
	switch {
	case errors.Is(err, objstore.ErrNotExist):
		return fmt.Errorf("the pin %s was removed: %w", name, ErrUnpinned)
	case err == nil && pin.Number > number:
		return fmt.Errorf("the pin %s is of commit %d, after what is to be cloned; remove it, and try "+
			"again: %w", name, pin.Commit, ErrNotKept)
	}
	return err
}
