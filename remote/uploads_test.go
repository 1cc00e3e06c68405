package remote_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
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

// crowd is a store that holds files back until enough of them are on their way.
type crowd struct {
	objstore.Store
	enough int

	mu       sync.Mutex
	now, top int           // files on their way, and the most of them so far
	complete chan struct{} // closed when there are enough
}

func (c *crowd) Put(ctx context.Context, name string, body io.ReaderAt, size int64) error {
	if !strings.HasPrefix(name, "data/") {
		return c.Store.Put(ctx, name, body, size)
	}
	c.mu.Lock()
	c.now++
	if c.top = max(c.top, c.now); c.now == c.enough {
		select {
		case <-c.complete:
		default:
			close(c.complete)
		}
	}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.now--
	}()
	select {
	case <-c.complete:
	case <-ctx.Done():
	}
	return c.Store.Put(ctx, name, body, size)
}

// load adds many tables to a database at once.
func load(t testing.TB, db *remote.DB) {
	t.Helper()
	ok(t, db.Load(t.Context(), func(yield func(key, value []byte) bool) {
		value := make([]byte, 100)
		for i := 0; i < 1000 && yield(fmt.Appendf(nil, "%04d", i), value); i++ {
		}
	}))
}

// smallTables is a tuning with which load makes several tables.
func smallTables() engine.Tuning { return engine.Tuning{TableBytes: 4 << 10, BlockBytes: 1 << 10} }

func TestUploads_areAsManyAtATimeAsTheOptionSays(t *testing.T) {
	store := &crowd{Store: memstore.New(), enough: 3, complete: make(chan struct{})}
	o := quick()
	o.Uploads = 3
	db, err := open(t, store, memfs.New(), o, smallTables())
	ok(t, err)
	load(t, db)
	ok(t, db.Ship(t.Context())) // ends only if there are three at a time
	if store.top != 3 {
		t.Errorf("%d files were on their way at a time", store.top)
	}
	ok(t, db.Close())
	if _, err := restored(t, store.Store).Get([]byte("0999")); err != nil {
		t.Error(err)
	}
}

// A copy of this machine that runs, too, makes other files by the same names. So files set off only
// once the log has something that was sent when they existed.
func TestUploads_waitForTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shut atomic.Bool
		client := faultstore.NewServer(memstore.New()).Client(func(r faultstore.Request) faultstore.Fate {
			if shut.Load() && strings.HasPrefix(r.Name, "log/") {
				return faultstore.Unavailable
			}
			return faultstore.Answered
		})
		db, err := open(t, client, memfs.New(), quick(), engine.Tuning{})
		ok(t, err)
		ok(t, db.Ship(t.Context()))
		<-time.After(time.Minute)
		puts := client.Count(faultstore.Put)
		shut.Store(true)
		ok(t, db.Put([]byte("a"), nil))
		ok(t, db.Flush())
		<-time.After(time.Minute)
		if n := client.Count(faultstore.Put); n != puts {
			t.Errorf("%d objects were put", n-puts)
		}
		shut.Store(false)
		<-time.After(time.Minute)
		if n := client.Count(faultstore.Put); n != puts+1 {
			t.Errorf("%d objects were put, and there is one table", n-puts)
		}
		ok(t, db.Flush())
		requests := client.Count()
		<-time.After(time.Hour / 2) // a collection comes later
		if n := client.Count() - requests; n > 0 {
			t.Errorf("%d requests were made while nothing happened", n)
		}
		ok(t, db.Close())
	})
}

func TestUploads_areNotRepeatedAfterAnError(t *testing.T) {
	var mu sync.Mutex
	sent, failed := map[string]int{}, ""
	client := faultstore.NewServer(memstore.New()).Client(func(r faultstore.Request) faultstore.Fate {
		mu.Lock()
		defer mu.Unlock()
		if !strings.HasPrefix(r.Name, "data/") || r.Op != faultstore.Put {
			return faultstore.Answered
		}
		if sent[r.Name]++; len(sent) == 3 && failed == "" {
			failed = r.Name
			return faultstore.Failed
		}
		return faultstore.Answered
	})
	o := quick()
	o.Uploads = 1 // so that no other one is cancelled
	db, err := open(t, client, memfs.New(), o, smallTables())
	ok(t, err)
	load(t, db)
	ok(t, db.Ship(t.Context()))
	for name, n := range sent {
		if want := 1; n > want && name != failed || n > 2 {
			t.Errorf("%s was sent %d times", name, n)
		}
	}
	if len(sent) < 4 || failed == "" {
		t.Errorf("%d files were sent, and %q failed", len(sent), failed)
	}
	ok(t, db.Close())
}

// TestUploads_areTriedAgainAtLittleCost has a store that takes no files for an hour.
func TestUploads_areTriedAgainAtLittleCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shut atomic.Bool
		client := faultstore.NewServer(memstore.New()).Client(func(r faultstore.Request) faultstore.Fate {
			if shut.Load() && r.Op == faultstore.Put {
				return faultstore.Failed
			}
			return faultstore.Answered
		})
		db, err := open(t, client, memfs.New(), quick(), engine.Tuning{})
		ok(t, err)
		shut.Store(true)
		puts, objects := client.Count(faultstore.Put), client.Count(faultstore.Create)
		ok(t, db.Put([]byte("a"), nil))
		ok(t, db.Flush())
		<-time.After(time.Hour)
		puts, objects = client.Count(faultstore.Put)-puts, client.Count(faultstore.Create)-objects
		if puts > 800 || objects > 2 {
			t.Errorf("in an hour, a file was sent %d times, and %d log objects: one has the commit, and "+
				"another one may let the file set off", puts, objects)
		}
		shut.Store(false)
		<-time.After(time.Minute)
		end, err := logOf(t, client).End(t.Context())
		if ok(t, err); end.Version.LastCommit != 1 {
			t.Errorf("the tables in the store are of commit %d", end.Version.LastCommit)
		}
		ok(t, db.Close())
	})
}

// TestUploads_endOnceThereIsAnotherWriter has a machine whose files the store does not take, and
// then nothing, until the next one is the writer, which deletes once what the one before has left.
func TestUploads_endOnceThereIsAnotherWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shut, away atomic.Bool
		server := faultstore.NewServer(memstore.New())
		client := server.Client(func(r faultstore.Request) faultstore.Fate {
			switch {
			case away.Load():
				return faultstore.Unavailable
			case shut.Load() && r.Op == faultstore.Put:
				return faultstore.Failed
			}
			return faultstore.Answered
		})
		db, err := open(t, client, memfs.New(), quick(), engine.Tuning{})
		ok(t, err)
		shut.Store(true)
		ok(t, db.Put([]byte("a"), nil))
		ok(t, db.Flush())
		<-time.After(time.Minute)
		away.Store(true)
		next, err := open(t, server.Client(nil), memfs.New(), quick(), engine.Tuning{})
		ok(t, err)
		<-time.After(time.Minute)
		shut.Store(false)
		puts := client.Count(faultstore.Put)
		away.Store(false)
		<-time.After(time.Hour / 2)
		if n := client.Count(faultstore.Put) - puts; n > 0 {
			t.Errorf("%d files were sent", n)
		}
		wantErr(t, db.Status().Ended, remote.ErrFenced)
		requests := client.Count()
		<-time.After(time.Hour / 2)
		if n := client.Count() - requests; n > 0 {
			t.Errorf("%d requests were made by one that is not the writer", n)
		}
		_ = db.Close() // it is fenced
		ok(t, next.Close())
	})
}
