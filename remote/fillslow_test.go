package remote_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote/objstore"
)

// farAway is a store that takes a minute to send a file.
type farAway struct {
	objstore.Store
	asked, cut atomic.Int64
}

func (s *farAway) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	if strings.HasPrefix(name, "data/") {
		s.asked.Add(1)
		select {
		case <-time.After(time.Minute):
		case <-ctx.Done():
			s.cut.Add(1)
			return nil, context.Cause(ctx)
		}
	}
	return s.Store.Get(ctx, name, off, n)
}

// TestFillCache_takesItsTime has a store whose answers take longer than a read is to wait.
func TestFillCache_takesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &farAway{Store: loaded(t)}
		files := int64(len(names(t, store, "data/")))
		o := quick()
		o.CacheBytes, o.FillCache, o.Patience = 16<<20, true, time.Second
		db, err := open(t, store, memfs.New(), o, smallTables())
		ok(t, err)
		<-time.After(time.Duration(files+1) * time.Minute)
		if asked, cut := store.asked.Load(), store.cut.Load(); asked != files || cut > 0 {
			t.Errorf("%d files take %d requests, of which %d are cut", files, asked, cut)
		}
		ok(t, db.Close())
	})
}
