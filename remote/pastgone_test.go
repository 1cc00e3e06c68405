package remote_test

import (
	"context"
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
	least := len(h.states) - 1 // now and then, no file is deleted yet
	meddled := &meddled{Store: store, do: func() { replaced(t, h, db) }}
	h.wantAt(t, "a copy", restored(t, meddled), least)
	ok(t, db.Close())
}
