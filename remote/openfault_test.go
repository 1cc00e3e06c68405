package remote_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote/memstore"
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
