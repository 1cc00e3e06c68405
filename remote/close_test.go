package remote_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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

// renewing is a store that denies log objects for some time, from after the first one on, of which
// the database is told before the answer.
type renewing struct {
	objstore.Store
	takes time.Duration
	first func()    // is called for the first log object; nil: nothing is denied
	since time.Time // when that was
}

func (r *renewing) Create(ctx context.Context, name string, body []byte) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case r.first != nil && r.since.IsZero():
		r.since = time.Now()
		r.first()
	case r.first != nil && time.Since(r.since) < r.takes:
		return fmt.Errorf("create %s: %w", name, errDenied)
	}
	return r.Store.Create(ctx, name, body)
}

// What is committed while Close ships the rest is shipped at its end. If that is denied for a
// moment, because a token is renewed or a right is not valid everywhere yet, Close tries again.
func TestClose_goesOnAfterAPassingDenial(t *testing.T) {
	const timeout = 30 * time.Second
	for _, takes := range []time.Duration{timeout / 2, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			store := &renewing{Store: memstore.New(), takes: takes}
			db, err := open(t, store, memfs.New(), remote.Options{
				Interval: time.Hour, MaxLag: 3 * time.Hour, CloseTimeout: timeout,
			}, engine.Tuning{})
			ok(t, err)
			ok(t, db.Put([]byte("a"), nil))
			synctest.Wait()
			store.first = func() { ok(t, db.Put([]byte("b"), nil)) }
			began := time.Now()
			err = db.Close()
			took := time.Since(began)
			if takes < timeout {
				if err != nil || took < takes {
					t.Errorf("Close has taken %v: %v", took, err)
				}
				return
			}
			wantErr(t, err, remote.ErrUnshipped)
			wantErr(t, err, objstore.ErrDenied)
			if took != timeout {
				t.Errorf("Close has tried for %v, not %v", took, timeout)
			}
		})
	}
}
