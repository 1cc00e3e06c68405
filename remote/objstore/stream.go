package objstore

import (
	"context"
	"io"
)

// Streamer is a [Store] that hands over what it gets as it comes, so that a large object takes no
// memory. Callers use [GetTo], which is for any store.
type Streamer interface {
	Store

	// GetTo is Get, but writes the bytes to w, and returns how many w took, also beside an error. An
	// error of w ends it. A store that holds back what has come, such as one that verifies pages,
	// writes nothing meanwhile, that is, zero bytes: so w knows that something comes.
	GetTo(ctx context.Context, name string, off, n int64, w io.Writer) (written int64, err error)
}

// Streams reports whether a store hands over what it gets as it comes: whether it is a [Streamer]
// and, if it passes on what another one gets, says that this one is by a method of the same name.
func Streams(s Store) bool {
	if passing, ok := s.(interface{ Streams() bool }); ok {
		return passing.Streams()
	}
	_, ok := s.(Streamer)
	return ok
}

// pieceBytes is how much is in memory at a time of what a store cannot hand over as it comes.
const pieceBytes = 1 << 20

// GetTo writes n bytes of an object from off on to w, or fewer if it ends before, with little
// memory. It returns how many w took, also beside an error, so that the rest can be asked for.
// Neither off nor n may be negative. If there is no such object, the error is ErrNotExist.
func GetTo(
	ctx context.Context, s Store, name string, off, n int64, w io.Writer,
) (written int64, err error) {
	if streamer, ok := s.(Streamer); ok {
		return streamer.GetTo(ctx, name, off, n, w)
	}
	for {
		most := min(n-written, pieceBytes)
		p, err := s.Get(ctx, name, off+written, most)
		if err != nil {
			return written, err
		}
		took, err := w.Write(p)
		written += int64(took)
		if err != nil || written == n || int64(len(p)) < most {
			return written, err
		}
	}
}
