package remote_test

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote/memstore"
)

// TestFillCache_needsNoStoreForReads has a machine that took over, and reads nothing at first.
func TestFillCache_needsNoStoreForReads(t *testing.T) {
	store, disk := loaded(t), memfs.New()
	files := int64(len(names(t, store, "data/")))
	var down atomic.Bool
	client := faultstore.NewServer(store).Client(func(r faultstore.Request) faultstore.Fate {
		if r.Op == faultstore.Get && strings.HasPrefix(r.Name, "data/") && down.Load() {
			return faultstore.Failed
		}
		return faultstore.Answered
	})
	all := &counted{Store: client}
	o := quick()
	o.CacheBytes, o.FillCache, o.Patience = 16<<20, true, time.Millisecond
	db, err := open(t, all, disk, o, smallTables())
	ok(t, err)
	for all.requests.Load() < files { // each file is fetched by one request
		runtime.Gosched()
	}
	ok(t, db.Close())
	down.Store(true)
	o.FillCache = false
	db, err = open(t, all, disk, o, smallTables())
	ok(t, err)
	wantLoaded(t, begin(t, db), 1000)
	ok(t, db.Close())
}

// TestFillCache_fetchesWhatAReaderDidNot has a standby that takes over.
func TestFillCache_fetchesWhatAReaderDidNot(t *testing.T) {
	store := loaded(t)
	files, all := int64(len(names(t, store, "data/"))), &counted{Store: store}
	r := mustRead(t, all)
	o := quick()
	o.FillCache = true
	db, err := takeOver(t.Context(), r, memfs.New(), o, smallTables())
	ok(t, err)
	for all.requests.Load() < files {
		runtime.Gosched()
	}
	ok(t, db.Close())
}

// TestFillCache_fetchesWhatLeavesTheFolder has a limit that nothing fits.
func TestFillCache_fetchesWhatLeavesTheFolder(t *testing.T) {
	all := &counted{Store: memstore.New()}
	o := limited()
	o.LocalBytes, o.FillCache = 1, true
	db, err := open(t, all, memfs.New(), o, smallTables())
	ok(t, err)
	load(t, db)
	ok(t, db.Ship(t.Context()))
	files := int64(len(names(t, all, "data/")))
	for all.requests.Load() < 2*files { // the end of each is compared before it leaves
		runtime.Gosched()
	}
	ok(t, db.Close())
}
