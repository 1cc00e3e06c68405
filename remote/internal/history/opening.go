package history

import (
	"cmp"
	"context"
	"errors"
	"math"

	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// shortMost is how many log objects are listed before the newest state is known. A log with fewer
// is read in one round trip less. More would be many bytes in vain where the log is long.
const shortMost = 256

// newestAndAfter returns the newest state, or nil if there is none, and the log objects after it.
// If fetched is not nil, those objects are fetched, and what the state needs: each as soon as it is
// known, which for those after the state is before that is read, if the log is short.
func (l *Log) newestAndAfter(
	ctx context.Context, fetched *ahead,
) (s *object.State, listed []objstore.Object, err error) {
	for past := (vanished{log: l}); ; {
		n, short, whole, err := l.newestAndShort(ctx)
		if err != nil {
			return nil, nil, err
		}
		err = l.together(
			func() (err error) {
				if n == 0 {
					return nil
				}
				if s, err = l.stateAt(ctx, n); err != nil || fetched == nil {
					return err
				}
				return fetched.fetch(ctx, fetched.missing(pendingOf(s)))
			},
			func() (err error) {
				if listed = numberedAfter(short, n); !whole {
					listed, err = l.listedAfter(ctx, n, math.MaxUint64)
				}
				if err != nil || fetched == nil {
					return err
				}
				return fetched.fetch(ctx, fetched.missing(listed))
			},
		)
		if errors.Is(err, objstore.ErrNotExist) {
			if err := past.again(ctx, n); err != nil {
				return nil, nil, err
			}
			continue
		}
		return s, listed, err
	}
}

// newestAndShort returns the number of the newest state, and the first log objects, in one round
// trip; whole says that there are no others.
func (l *Log) newestAndShort(
	ctx context.Context,
) (newest uint64, listed []objstore.Object, whole bool, err error) {
	limit := cmp.Or(l.short, shortMost)
	err = l.together(
		func() (err error) {
			listed, err = l.Store.List(ctx, logPrefix, "", limit)
			return err
		},
		func() (err error) {
			newest, err = l.newestNumber(ctx)
			return err
		},
	)
	return newest, listed, len(listed) < limit, err
}

// numberedAfter returns those of the listed objects that are log objects after number n.
func numberedAfter(listed []objstore.Object, n uint64) (after []objstore.Object) {
	for _, o := range listed {
		if number, ok := logNumber(o.Name); ok && number > n {
			after = append(after, o)
		}
	}
	return after
}
