package archive

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/internal/retry"
	"github.com/stoatdb/stoat/remote/objstore"
)

// NewLog returns the log in a store, of which database is not known yet. It takes the time, random
// ids and pauses from this machine.
func NewLog(store objstore.Store) (*history.Log, error) {
	codec, err := object.NewCodec()
	if err != nil {
		return nil, err
	}
	return &history.Log{
		Store: store, Codec: codec,
		NewID: func() (id object.ID) {
			_, _ = rand.Read(id[:]) // never fails
			return id
		},
		Now: func() uint64 { return uint64(time.Now().UnixMilli()) },
		Pause: func(ctx context.Context, tries int) error {
			retry.Sleep(ctx, retry.BackOff(tries), nil)
			return context.Cause(ctx)
		},
	}, nil
}
