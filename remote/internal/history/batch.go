package history

import (
	"context"

	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// batchBytes is how many bytes of log objects are fetched at the same time, unless one has more.
const batchBytes = 8 << 20

// batching returns the log with a store from which objects are asked for in the order given. They
// are fetched some at a time, and little of them is in memory.
func (l *Log) batching(objects []objstore.Object) *Log {
	fetched := l.newAhead(batchBytes)
	fetched.leave(objects)
	reading := *l
	reading.Store = fetched
	return &reading
}

// BatchedCommits is Commits, with some objects fetched at a time.
func (l *Log) BatchedCommits(
	ctx context.Context, s *object.State, fn func(commit uint64, batch []byte) error,
) error {
	if len(s.Pending) == 0 {
		return l.Commits(ctx, s, fn)
	}
	first, last := s.Pending[0].Number, s.Pending[len(s.Pending)-1].Number
	listed, err := l.listedAfter(ctx, first-1, last)
	if err != nil {
		return err
	}
	needed := make(map[string]bool)
	for _, o := range pendingOf(s) {
		needed[o.Name] = true
	}
	var objects []objstore.Object
	for _, o := range listed {
		if needed[o.Name] {
			objects = append(objects, o)
		}
	}
	return l.batching(objects).Commits(ctx, s, fn)
}
