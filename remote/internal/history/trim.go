package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// PageObjects is how many objects the log's listings ask for at once: providers return no more.
const PageObjects = 1000

// StoredState is a state in the store.
type StoredState struct {
	Number uint64
	Stored time.Time // by the clock of the store; zero if that does not tell
}

// StoredStates returns the states in the store, by their numbers, ascending.
func (l *Log) StoredStates(ctx context.Context) (states []StoredState, err error) {
	err = EachObject(ctx, l.Store, statePrefix, func(page []objstore.Object) error {
		for _, o := range page {
			if n, ok := stateNumber(o.Name); ok {
				states = append(states, StoredState{n, o.Modified})
			}
		}
		return nil
	})
	slices.Reverse(states)
	return states, err
}

// States returns the numbers of the states in the store, ascending.
func (l *Log) States(ctx context.Context) (numbers []uint64, err error) {
	states, err := l.StoredStates(ctx)
	for _, s := range states {
		numbers = append(numbers, s.Number)
	}
	return numbers, err
}

// EachObject calls fn with the objects whose names start with prefix, in the order of their names,
// a page at a time.
func EachObject(
	ctx context.Context, store objstore.Store, prefix string, fn func([]objstore.Object) error,
) error {
	for after := ""; ; {
		page, err := store.List(ctx, prefix, after, PageObjects)
		if err == nil {
			err = fn(page)
		}
		if err != nil || len(page) < PageObjects {
			return err
		}
		after = page[len(page)-1].Name
	}
}

// StateTime returns the time of state n, in milliseconds since 1970. The error matches
// objstore.ErrNotExist if it is not stored.
func (l *Log) StateTime(ctx context.Context, n uint64) (uint64, error) {
	name := stateName(n)
	p, err := l.Store.Get(ctx, name, 0, object.HeaderBytes)
	if err != nil {
		return 0, err
	}
	h, err := object.DecodeStateHeader(name, p)
	if err == nil {
		err = l.expect(name, &h, stateName(h.Number))
	}
	return h.Time, err
}

// StateAt returns state n. The error matches objstore.ErrNotExist unless it and the log object that
// it follows are stored.
func (l *Log) StateAt(ctx context.Context, n uint64) (*object.State, error) {
	o, err := l.get(ctx, n)
	if err != nil {
		return nil, err
	}
	s, err := l.stateAt(ctx, n)
	if err == nil && s.ID != o.ID {
		err = corrupt.New(stateName(n), 0, "the state follows another object than log object %d", n)
	}
	return s, err
}

// stateAt returns state n, whether or not the log object that it follows is stored.
func (l *Log) stateAt(ctx context.Context, n uint64) (*object.State, error) {
	name := stateName(n)
	p, err := l.Store.Get(ctx, name, 0, object.StateBytesMax)
	if err != nil {
		return nil, err
	}
	s, err := l.Codec.DecodeState(name, p)
	if err == nil {
		err = l.expect(name, &s.Header, stateName(s.Number))
	}
	return s, err
}

// Trim deletes the states before s, and the log objects that nobody needs who reads the log from s
// on. State s must be stored, and nothing before it be needed any more.
func (l *Log) Trim(ctx context.Context, s *object.State) (deleted int, err error) {
	for _, prefix := range []string{logPrefix, statePrefix} {
		err := EachObject(ctx, l.Store, prefix, func(page []objstore.Object) error {
			names := Removable(s, page)
			if err := l.Store.Delete(ctx, names); err != nil {
				return err
			}
			deleted += len(names)
			if prefix == logPrefix && len(page) > 0 && page[len(page)-1].Name >= logName(s.Number) {
				return errPast
			}
			return nil
		})
		if err != nil && !errors.Is(err, errPast) {
			return deleted, fmt.Errorf("delete what precedes log object %d: %w", s.Number, err)
		}
	}
	return deleted, nil
}

// errPast ends a listing: nothing that follows is to be deleted.
var errPast = errors.New("past the state")

// Removable returns the names of log objects and states in a page that nobody needs who reads the
// log from s on.
func Removable(s *object.State, page []objstore.Object) (names []string) {
	for _, o := range page {
		m, isLog := logNumber(o.Name)
		n, isState := stateNumber(o.Name)
		if isLog && m+max(window(s.Claims), 1) <= s.Number && !stays(s, m) || isState && n < s.Number {
			names = append(names, o.Name)
		}
	}
	return names
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
