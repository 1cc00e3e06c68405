package history

import (
	"cmp"
	"context"

	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// Present finds out which database is in the store, and returns the state at the end that its log
// had when it was listed. That takes three round trips, whatever the length of the log, unless its
// objects are large, and one for each claim since the newest state. If there is no database, the
// error is [ErrNone].
func (l *Log) Present(ctx context.Context) (*object.State, error) {
	whichever := *l
	whichever.anyDatabase = true
	var s *object.State
	var listed []objstore.Object
	err := l.together(
		func() error { return l.Identify(ctx) },
		func() (err error) {
			s, listed, err = whichever.newestAndAfter(ctx, nil)
			return err
		},
	)
	if err == nil && s != nil {
		err = l.expect(stateName(s.Number), &s.Header, stateName(s.Number))
	}
	if err != nil {
		return nil, err
	}
	f := newFollower(*l.batching(listed), cmp.Or(s, Start(l.Database)))
	for end := lastOf(listed); f.state.Number < end; {
		if _, moved, err := f.Next(ctx); err != nil || !moved {
			return f.state, err
		}
	}
	return f.state, nil
}

// lastOf returns the number of the last one of the listed log objects, or 0.
func lastOf(listed []objstore.Object) (number uint64) {
	if len(listed) > 0 {
		number, _ = logNumber(listed[len(listed)-1].Name)
	}
	return number
}
