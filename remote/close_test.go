package remote_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// expired is a store that refuses to store anything from a moment on.
type expired struct {
	objstore.Store
	now atomic.Bool
}

var errExpired = errors.New("the token has expired")

func (e *expired) Create(ctx context.Context, name string, body []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.now.Load() {
		return fmt.Errorf("create %s: %w", name, errExpired)
	}
	return e.Store.Create(ctx, name, body)
}

// Who closes a database learns why commits were not shipped, and not only that time was up.
func TestClose_saysWhyNotEverythingIsShipped(t *testing.T) {
	for _, durability := range []remote.Durability{remote.Async, remote.Wait} {
		synctest.Test(t, func(t *testing.T) {
			store := &expired{Store: memstore.New()}
			db, err := open(t, store, memfs.New(), remote.Options{Durability: durability}, engine.Tuning{})
			ok(t, err)
			ok(t, db.Put([]byte("a"), nil))
			ok(t, db.Ship(t.Context()))
			store.now.Store(true)
			go func() { _ = db.Put([]byte("b"), nil) }() // which waits for the store, perhaps
			synctest.Wait()
			err = db.Close()
			wantErr(t, err, remote.ErrUnshipped)
			wantErr(t, err, errExpired)
		})
	}
}
