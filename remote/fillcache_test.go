package remote_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
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

// TestFillCache_keepsWhatLeavesTheFolder has a limit that nothing fits, and a store that lets
// nobody read a file again once its end was compared before it leaves the folder.
func TestFillCache_keepsWhatLeavesTheFolder(t *testing.T) {
	for _, key := range [][]byte{nil, aKey(3)} {
		var store objstore.Store = memstore.New()
		if key != nil {
			store = encrypted(t, store, 1)
		}
		all := &once{Store: store, read: map[string]bool{}}
		o := limited()
		o.LocalBytes, o.CacheBytes, o.FillCache, o.Patience = 1, 16<<20, true, time.Millisecond
		o.Database = &stoat.Options{Key: key}
		db, err := open(t, all, memfs.New(), o, smallTables())
		ok(t, err)
		load(t, db)
		ok(t, db.Flush())
		ok(t, db.Ship(t.Context()))
		for s := db.Status(); s.LocalBytes > 1; s = db.Status() {
			ok(t, s.Unevicted)
			runtime.Gosched()
		}
		wantLoaded(t, begin(t, db), 1000)
		if s := db.Status(); s.Unfilled != nil || !s.UnfilledAt.IsZero() || s.RemoteBytes == 0 {
			t.Errorf("the status is %+v", s)
		}
		if n := all.again.Load(); n > 0 {
			t.Errorf("%d requests are made for what was here", n)
		}
		ok(t, db.Close())
	}
}

// once is a store that lets files be read once.
type once struct {
	objstore.Store
	again atomic.Int64

	mu   sync.Mutex
	read map[string]bool
}

// Encrypts implements [objstore.Encrypting].
func (s *once) Encrypts() bool { return objstore.Encrypts(s.Store) }

func (s *once) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	s.mu.Lock()
	before := s.read[name]
	s.read[name] = strings.HasPrefix(name, "data/")
	s.mu.Unlock()
	if before {
		s.again.Add(1)
		return nil, faultstore.ErrFailed
	}
	return s.Store.Get(ctx, name, off, n)
}

// TestFillCache_saysWhatItCannotFetch has a store that lacks a file, or does not answer.
func TestFillCache_saysWhatItCannotFetch(t *testing.T) {
	for _, fate := range []faultstore.Fate{faultstore.Answered, faultstore.Failed} {
		store := loaded(t)
		data := names(t, store, "data/")
		gone := data[len(data)/2]
		if fate == faultstore.Answered {
			ok(t, store.Delete(t.Context(), []string{gone}))
		}
		client := faultstore.NewServer(store).Client(func(r faultstore.Request) faultstore.Fate {
			if r.Op == faultstore.Get && r.Name == gone {
				return fate
			}
			return faultstore.Answered
		})
		o, began := quick(), time.Now()
		o.CacheBytes, o.FillCache = 16<<20, true
		db, err := open(t, client, memfs.New(), o, smallTables())
		ok(t, err)
		for db.Status().Unfilled == nil {
			runtime.Gosched()
		}
		s := db.Status()
		if !strings.Contains(s.Unfilled.Error(), gone) || s.UnfilledAt.Before(began) {
			t.Errorf("the status is %+v", s)
		}
		ok(t, db.Close())
	}
}
