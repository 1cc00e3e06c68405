package history

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// ErrNoParent reports a clone whose parent is not at hand.
var ErrNoParent = errors.New("the parent of the clone is needed")

// NoParent returns the error for a clone of an origin that is used without it.
func NoParent(o *object.Origin) error {
	return fmt.Errorf("the database is a clone of %s as of commit %d, and needs its files: use the "+
		"store that remote.CloneStore returns: %w", describe(o), o.Commit, ErrNoParent)
}

// NoClone returns the error for a database that is no clone, and is used like one. Its writer could
// be that of the parent by mistake.
func NoClone() error {
	return fmt.Errorf("the database is no clone: remote.CloneStore takes first the store of the "+
		"clone, and then that of its parent: %w", ErrNoParent)
}

// describe returns what people call an origin.
func describe(o *object.Origin) string {
	if o.Name != "" {
		return o.Name
	}
	return fmt.Sprintf("the database whose log begins with %x", o.First)
}

// OriginOf returns the origin of a clone of a state in the past of the end of a log.
func OriginOf(s, end *object.State, name string) *object.Origin {
	first := end.Claims[0]
	o := &object.Origin{
		First: first.ID, Number: s.Number - skipped(s), At: s.ID, Epoch: s.Epoch, Commit: s.Commit,
		Nested: end.Origin != nil, Name: name,
	}
	if s.Number == 0 { // before the log; the first object has no commits
		o.Number, o.At, o.Epoch = 1, first.ID, 1
	}
	return o
}

// WantParent returns an error unless the log is the one of an origin, and has a pin that keeps what
// a clone needs. The error matches ErrNoParent if it is the log of another database, or of a copy
// that has gone its own way before it was cloned, which an origin of version 1 does not show.
func (l *Log) WantParent(ctx context.Context, o *object.Origin, pin string) error {
	var first, at object.ID
	var unpinned error
	err := l.together(
		func() (err error) {
			first, err = l.idAt(ctx, 1)
			return err
		},
		func() (err error) {
			at, err = l.idOf(ctx, o)
			return err
		},
		func() error {
			err := l.WantPin(ctx, pin, o.Number)
			if errors.Is(err, ErrNotKept) {
				unpinned, err = err, nil
			}
			return err
		},
	)
	switch {
	case err != nil:
		return fmt.Errorf("the parent of the clone: %w", err)
	case first == object.ID{}:
		return fmt.Errorf("there is no database in the store of the parent, %s, any more: %w",
			describe(o), ErrNoParent)
	case first != o.First:
		return fmt.Errorf("the store of the parent has another database than %s, its log begins with "+
			"%x: %w", describe(o), first, ErrNoParent)
	case at != o.At && at != object.ID{}:
		return fmt.Errorf("the store of the parent has a copy of %s that has gone its own way before "+
			"log object %d, which was cloned: use the one that was cloned: %w", describe(o), o.Number,
			ErrNoParent)
	case unpinned != nil:
		return fmt.Errorf("the parent does not keep what the clone needs; clone it again into the same "+
			"store to put the pin back, if that is still possible: %w", unpinned)
	case at != o.At: // what a pin keeps begins before it
		return fmt.Errorf("the store of the parent has a copy of %s that ends before log object %d, "+
			"which was cloned: use the one that was cloned: %w", describe(o), o.Number, ErrNoParent)
	}
	return nil
}

// WantCloned returns an error unless the log is the one of an origin, whose beginning is that of
// this log. The error matches ErrNotKept if what shows that is deleted, and objstore.ErrExists if
// it is the log of a copy.
func (l *Log) WantCloned(ctx context.Context, o *object.Origin, pin string) error {
	at, err := l.idOf(ctx, o)
	if err == nil && at == (object.ID{}) && at != o.At {
		err = l.wantKept(ctx, pin, o.Number)
	}
	if err == nil && at != o.At {
		err = fmt.Errorf("the store has a clone of %s, and this is a copy of that, which does not have "+
			"log object %d, as it was cloned: use the one that was cloned, or another store for the "+
			"clone: %w", describe(o), o.Number, objstore.ErrExists)
	}
	return err
}

// idOf returns the id of the log object that an origin names by its id; zero if it is not there, or
// the origin does not.
func (l *Log) idOf(ctx context.Context, o *object.Origin) (id object.ID, err error) {
	if o.At == (object.ID{}) {
		return id, nil
	}
	return l.idAt(ctx, o.Number)
}

// idAt returns the id of log object n; zero if it is not there.
func (l *Log) idAt(ctx context.Context, n uint64) (object.ID, error) {
	h, err := headerAt(ctx, l.Store, n)
	if errors.Is(err, objstore.ErrNotExist) {
		err = nil
	}
	return h.ID, err
}
