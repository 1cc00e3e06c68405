package retry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/remote/objstore"
)

// persistent is a store whose requests are made again if they fail, up to [Tries] times.
type persistent struct{ objstore.Store }

// Persistent returns a store whose requests are made again for some seconds if they fail.
func Persistent(store objstore.Store) objstore.Store { return persistent{store} }

// Unwrap returns the store itself.
func (p persistent) Unwrap() objstore.Store { return p.Store }

// Create implements [objstore.Store]. If an answer was lost, the object that has the name then is
// compared.
func (p persistent) Create(ctx context.Context, name string, body []byte) error {
	var doubt error // of an earlier try, which may have had its effect
	err := p.try(ctx, func() error {
		err := p.Store.Create(ctx, name, body)
		if errors.Is(err, objstore.ErrUnknown) {
			doubt = err
		}
		return err
	})
	switch {
	case err == nil || doubt == nil:
		return err
	case !errors.Is(err, objstore.ErrExists):
		return errors.Join(err, doubt)
	}
	there, readErr := p.Get(ctx, name, 0, -1)
	switch {
	case errors.Is(readErr, objstore.ErrNotExist):
		return err
	case readErr != nil:
		return fmt.Errorf("read back %s: %w: %w", name, objstore.ErrUnknown, readErr)
	case bytes.Equal(there, body):
		return nil
	}
	return err
}

// Put implements [objstore.Store].
func (p persistent) Put(ctx context.Context, name string, body io.ReaderAt, size int64) error {
	return p.try(ctx, func() error { return p.Store.Put(ctx, name, body, size) })
}

// Get implements [objstore.Store].
func (p persistent) Get(ctx context.Context, name string, off, n int64) (got []byte, err error) {
	err = p.try(ctx, func() (err error) {
		got, err = p.Store.Get(ctx, name, off, n)
		return err
	})
	return got, err
}

// List implements [objstore.Store].
func (p persistent) List(
	ctx context.Context, prefix, after string, limit int,
) (listed []objstore.Object, err error) {
	err = p.try(ctx, func() (err error) {
		listed, err = p.Store.List(ctx, prefix, after, limit)
		return err
	})
	return listed, err
}

// Delete implements [objstore.Store].
func (p persistent) Delete(ctx context.Context, names []string) error {
	return p.try(ctx, func() error { return p.Store.Delete(ctx, names) })
}

// try makes a request until it succeeds, or another one would not.
func (p persistent) try(ctx context.Context, request func() error) error {
	for tries := 1; ; tries++ {
		err := request()
		if err == nil || isAnswer(err) || tries == Tries {
			return err
		}
		if !Sleep(ctx, BackOff(tries), nil) {
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// isAnswer reports whether an error says what is there, or what may be done, so that the same
// request would end with it again.
func isAnswer(err error) bool {
	return errors.Is(err, objstore.ErrExists) || errors.Is(err, objstore.ErrNotExist) ||
		errors.Is(err, objstore.ErrName) || errors.Is(err, objstore.ErrDenied) || corrupt.IsLasting(err)
}
