package remote_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// TestOpen_returnsWhatAStoreRefuses has credentials that may only read.
func TestOpen_returnsWhatAStoreRefuses(t *testing.T) {
	store := memstore.New()
	first := mustOpen(t, store, memfs.New())
	ok(t, first.Put([]byte("a"), nil))
	ok(t, first.Close())
	synctest.Test(t, func(t *testing.T) {
		client := faultstore.NewServer(store).Client(func(r faultstore.Request) faultstore.Fate {
			if r.Op == faultstore.Create {
				return faultstore.Failed
			}
			return faultstore.Answered
		})
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		_, err := openUntil(ctx, client, memfs.New(), quick(), engine.Tuning{})
		wantErr(t, err, faultstore.ErrFailed)
		if ctx.Err() != nil {
			t.Error("Open has tried for much longer than the 20 s that it takes at most")
		}
	})
}

// denying is a store that permits some requests only.
type denying struct {
	objstore.Store
	reads bool // that read, too
}

var errDenied = fmt.Errorf("%w: who are you", objstore.ErrDenied)

// Create implements [objstore.Store].
func (d denying) Create(context.Context, string, []byte) error { return errDenied }

// Put implements [objstore.Store].
func (d denying) Put(context.Context, string, io.ReaderAt, int64) error { return errDenied }

// Get implements [objstore.Store].
func (d denying) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	if d.reads {
		return nil, errDenied
	}
	return d.Store.Get(ctx, name, off, n)
}

// TestOpen_saysAtOnceWhatIsNotPermitted has credentials that may only read or list, a database in
// the store or none, and a folder or none.
func TestOpen_saysAtOnceWhatIsNotPermitted(t *testing.T) {
	store, local := memstore.New(), memfs.New()
	first := mustOpen(t, store, local)
	ok(t, first.Put([]byte("a"), nil))
	ok(t, first.Close())
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		for _, reads := range []bool{false, true} {
			for _, files := range []*memfs.FS{memfs.New(), local} {
				_, err := open(t, denying{store, reads}, files, quick(), engine.Tuning{})
				wantErr(t, err, objstore.ErrDenied)
			}
			_, err := open(t, denying{memstore.New(), reads}, memfs.New(), quick(), engine.Tuning{})
			wantErr(t, err, objstore.ErrDenied)
			_, err = remote.Clone(t.Context(), denying{memstore.New(), reads}, store, nil)
			wantErr(t, err, objstore.ErrDenied)
		}
		_, err := remote.OpenReader(t.Context(), denying{store, true}, "", nil)
		wantErr(t, err, objstore.ErrDenied)
		if d := time.Since(began); d > 0 {
			t.Errorf("it took %v", d)
		}
	})
}

// denyingAWhile is a store that denies some listings, once a log object was created.
type denyingAWhile struct {
	objstore.Store
	created atomic.Bool
	denied  atomic.Int32
}

// Create implements [objstore.Store].
func (d *denyingAWhile) Create(ctx context.Context, name string, body []byte) error {
	err := d.Store.Create(ctx, name, body)
	if err == nil && strings.HasPrefix(name, "log/") {
		d.created.Store(true)
	}
	return err
}

// List implements [objstore.Store].
func (d *denyingAWhile) List(
	ctx context.Context, prefix, after string, limit int,
) ([]objstore.Object, error) {
	if d.created.Load() && d.denied.Add(1) <= 4 {
		return nil, errDenied
	}
	return d.Store.List(ctx, prefix, after, limit)
}

// Once a claim is stored, the writer before has lost the role, so Open does not leave it at that.
func TestOpen_goesOnOnceItsClaimIsStored(t *testing.T) {
	store := memstore.New()
	first := mustOpen(t, store, memfs.New())
	ok(t, first.Put([]byte("a"), nil))
	ok(t, first.Close())
	synctest.Test(t, func(t *testing.T) {
		next := mustOpen(t, &denyingAWhile{Store: store}, memfs.New())
		ok(t, next.Put([]byte("b"), nil))
		ok(t, next.Close())
	})
}
