package retry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/remote/objstore"
)

// Patient is a store for reading whose requests are tried again when they fail, until nothing has
// come for Patience or Ended is closed. What comes slowly is not cut, nor asked for twice, if the
// store hands it over as it comes. Safe for concurrent use.
type Patient struct {
	objstore.Store
	Patience time.Duration
	Ended    <-chan struct{}
}

// Get implements [objstore.Store].
func (p *Patient) Get(ctx context.Context, name string, off, n int64) (got []byte, err error) {
	if off >= 0 && n > 0 && objstore.Streams(p.Store) {
		return p.collect(ctx, name, off, n)
	}
	err = p.try(ctx, func(ctx context.Context, _ func()) error {
		got, err = p.Store.Get(ctx, name, off, n)
		return err
	})
	return got, err
}

// growMost is how much memory an answer gets before it comes: all that a request asks for, usually.
const growMost = 4 << 20

// collect is Get of a store that hands over what it gets as it comes.
func (p *Patient) collect(ctx context.Context, name string, off, n int64) ([]byte, error) {
	var got bytes.Buffer
	got.Grow(int(min(n, growMost)))
	err := p.try(ctx, func(ctx context.Context, came func()) error {
		has := int64(got.Len())
		_, err := objstore.GetTo(ctx, p.Store, name, off+has, n-has, noticed{&got, came})
		if int64(got.Len()) == n {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return got.Bytes(), nil
}

// noticed is a buffer that tells when something comes.
type noticed struct {
	io.Writer
	came func()
}

// Write implements [io.Writer].
func (w noticed) Write(p []byte) (int, error) {
	w.came()
	return w.Writer.Write(p)
}

// List implements [objstore.Store].
func (p *Patient) List(
	ctx context.Context, prefix, after string, limit int,
) (listed []objstore.Object, err error) {
	err = p.try(ctx, func(ctx context.Context, _ func()) error {
		listed, err = p.Store.List(ctx, prefix, after, limit)
		return err
	})
	return listed, err
}

// try makes a request, which says when something comes, until it succeeds or patience is over.
func (p *Patient) try(
	ctx context.Context, request func(ctx context.Context, came func()) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(p.Patience, func() { cancel(errPatience) })
	defer timer.Stop()
	came := func() { timer.Reset(p.Patience) }
	for tries := 1; ; tries++ {
		err := request(ctx, came)
		if err == nil {
			return nil
		}
		if errors.Is(err, objstore.ErrNotExist) || corrupt.IsLasting(err) || ctx.Err() != nil {
			return p.explain(ctx, err)
		}
		select {
		case <-p.Ended:
			return err
		default:
		}
		if Sleep(ctx, BackOff(tries), p.Ended); ctx.Err() != nil {
			return p.explain(ctx, err)
		}
	}
}

// errPatience reports that patience is over.
var errPatience = errors.New("nothing has come from the store")

// explain returns the error of a request, which says so if patience is over.
func (p *Patient) explain(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errPatience) {
		return fmt.Errorf("%w for %v: %w", errPatience, p.Patience, err)
	}
	return err
}
