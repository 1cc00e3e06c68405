package tail

import (
	"context"
	"errors"
	"time"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/remote/objstore"
)

// Patient is a store for reading whose requests are tried again when they fail, until Patience is
// over or Ended is closed. Safe for concurrent use.
type Patient struct {
	objstore.Store
	Patience time.Duration
	Ended    <-chan struct{}
}

// Get implements [objstore.Store].
func (p *Patient) Get(ctx context.Context, name string, off, n int64) (got []byte, err error) {
	err = p.try(ctx, func(ctx context.Context) error {
		got, err = p.Store.Get(ctx, name, off, n)
		return err
	})
	return got, err
}

// List implements [objstore.Store].
func (p *Patient) List(
	ctx context.Context, prefix, after string, limit int,
) (listed []objstore.Object, err error) {
	err = p.try(ctx, func(ctx context.Context) error {
		listed, err = p.Store.List(ctx, prefix, after, limit)
		return err
	})
	return listed, err
}

func (p *Patient) try(ctx context.Context, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, p.Patience)
	defer cancel()
	for tries := 1; ; tries++ {
		err := request(ctx)
		if err == nil || errors.Is(err, objstore.ErrNotExist) || corrupt.IsLasting(err) ||
			ctx.Err() != nil {
			return err
		}
		select {
		case <-p.Ended:
			return err
		default:
		}
		if sleep(ctx, backOff(tries), p.Ended); ctx.Err() != nil {
			return err
		}
	}
}
