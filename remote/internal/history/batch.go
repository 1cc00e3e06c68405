package history

import (
	"context"

	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// batchBytes is how many bytes of log objects are fetched at the same time, unless one has more.
const batchBytes = 8 << 20

// batched is a store from which some objects are asked for in order. They are fetched some at a
// time, and little of them is in memory. Not safe for concurrent use.
type batched struct {
	*ahead
	rest []objstore.Object // not fetched yet
}

// batching returns the log with a store from which objects are asked for in the order given.
func (l *Log) batching(objects []objstore.Object) *Log {
	reading := *l
	reading.Store = &batched{l.newAhead(), objects}
	return &reading
}

// Get implements [objstore.Store].
func (b *batched) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	if len(b.rest) > 0 && name == b.rest[0].Name {
		if err := b.fetch(ctx, b.next()); err != nil {
			return nil, err
		}
	}
	return b.ahead.Get(ctx, name, off, n)
}

// next returns the names of the objects that are fetched together.
func (b *batched) next() (names []string) {
	bytes := int64(0)
	for _, o := range b.rest {
		if bytes += o.Size; len(names) > 0 && bytes > batchBytes || len(names) == b.most {
			break
		}
		names = append(names, o.Name)
	}
	b.rest = b.rest[len(names):]
	return names
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
	for _, name := range pendingNames(s) {
		needed[name] = true
	}
	var objects []objstore.Object
	for _, o := range listed {
		if needed[o.Name] {
			objects = append(objects, o)
		}
	}
	return l.batching(objects).Commits(ctx, s, fn)
}
