package remote_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// meddled is a store in which something happens before the first file is read.
type meddled struct {
	objstore.Store
	once sync.Once
	do   func()
}

func (m *meddled) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	if strings.HasPrefix(name, "data/") {
		m.once.Do(m.do)
	}
	return m.Store.Get(ctx, name, off, n)
}

// replaced makes commits that replace all tables, and collects the ones before.
func replaced(t testing.TB, h *history, db *remote.DB) {
	t.Helper()
	busy(t, h, db, 50)
	ok(t, db.Compact(t.Context()))
	busy(t, h, db, 1)
	collectAll(t, db)
}

func TestRestore_beginsAnewIfItsFilesAreDeleted(t *testing.T) {
	store, h := memstore.New(), newHistory(t, 17)
	db, err := open(t, store, memfs.New(), forgetful(), engine.Tuning{})
	ok(t, err)
	replaced(t, h, db)
	least := 0
	meddled := &meddled{Store: store, do: func() {
		for before := names(t, store, "data/"); len(before) > 0; { // until all are deleted
			least = len(h.states)
			replaced(t, h, db)
			now := names(t, store, "data/")
			before = slices.DeleteFunc(before, func(name string) bool { return !slices.Contains(now, name) })
		}
	}}
	copied := restored(t, meddled)
	h.wantAt(t, "a copy", copied, least)
	ok(t, db.Close())
}
