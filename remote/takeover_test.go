package remote_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/hook"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
)

// takeOver is [remote.Reader.TakeOver] with any file system.
func takeOver(
	ctx context.Context, r *remote.Reader, files vfs.FS, o remote.Options, tuning engine.Tuning,
) (*remote.DB, error) {
	defer hook.Attach(&o, hook.Settings{FS: files, Tuning: tuning})()
	return r.TakeOver(ctx, "db", &o)
}

func mustTakeOver(t testing.TB, r *remote.Reader, files vfs.FS) *remote.DB {
	t.Helper()
	db, err := takeOver(t.Context(), r, files, quick(), engine.Tuning{})
	ok(t, err)
	t.Cleanup(func() { _ = db.Close() }) // what it returns is part of some tests
	return db
}

func TestTakeOver_goesOnWithWhatTheWriterHasShipped(t *testing.T) {
	h := newHistory(t, 1)
	store, disk := memstore.New(), memfs.New()
	first, err := open(t, store, memfs.New(), quick(), tuned.Sizes()[0])
	ok(t, err)
	r := mustRead(t, store)
	for range 60 {
		ok(t, h.commit(first.DB))
	}
	ok(t, first.Ship(t.Context())) // the reader need not know
	second := mustTakeOver(t, r, disk)
	h.wantAt(t, "the standby", second.DB, 60)
	wantErr(t, first.Confirm(t.Context()), remote.ErrFenced)
	_ = first.Close() // it is fenced

	for range 60 {
		ok(t, h.commit(second.DB))
	}
	ok(t, second.Ship(t.Context()))
	h.wantAt(t, "a copy", restored(t, store), 120)
	third := mustTakeOver(t, mustRead(t, store), memfs.New())
	h.wantAt(t, "the next standby", third.DB, 120)
	_ = second.Close() // it is fenced

}

// A machine that has nothing but the store needs some round trips, whatever the size of the
// database.
// nearFiles is a distant store whose files are at hand: a request for one holds a lock that others
// wait for, and no clock of a synctest bubble moves meanwhile.
type nearFiles struct{ distant }

func (n nearFiles) Get(ctx context.Context, name string, off, size int64) ([]byte, error) {
	if strings.HasPrefix(name, "data/") {
		return n.Store.Get(ctx, name, off, size)
	}
	return n.distant.Get(ctx, name, off, size)
}

func (n nearFiles) Create(ctx context.Context, name string, body []byte) error {
	if strings.HasPrefix(name, "data/") {
		return n.Store.Create(ctx, name, body)
	}
	return n.distant.Create(ctx, name, body)
}

func TestOpen_takesFewRoundTrips(t *testing.T) {
	for _, c := range []struct {
		name                     string
		n, flushed, trips, again int
	}{
		// LIST states and log, GET log objects, CREATE the claim, LIST states; at the same time GET the
		// first log object. Again: the same.
		{"without a state", 10, 5, 4, 4},
		// and GET what is pending in the state; again: and GET the state
		{"with a state", 78, 56, 5, 5},
		// LIST states and log, GET state and LIST log, GET log objects, CREATE the claim, LIST states
		{"with a long log", 270, 250, 5, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := shippedOneByOne(t, c.n, c.flushed)
			synctest.Test(t, func(t *testing.T) {
				client := faultstore.NewServer(store).Client(nil)
				const trip = time.Second
				o := remote.Options{Interval: time.Minute, CacheBytes: 1 << 20}
				disk := memfs.New()
				began := time.Now()
				db, err := open(t, distant{client, trip}, disk, o, engine.Tuning{})
				ok(t, err)
				if took := time.Since(began); took != time.Duration(c.trips)*trip {
					t.Errorf("it takes %v", took)
				}
				if n := client.Count(faultstore.Create); n != 1 {
					t.Errorf("%d objects were created", n)
				}
				for i := range c.n {
					_, err := db.Get(fmt.Appendf(nil, "key%d", i))
					ok(t, err)
				}
				ok(t, db.Put([]byte("more"), nil))
				ok(t, db.Close())
				began = time.Now()
				db, err = open(t, nearFiles{distant{client, trip}}, disk, o, engine.Tuning{})
				ok(t, err)
				if took := time.Since(began); took != time.Duration(c.again)*trip {
					t.Errorf("opening it again takes %v", took)
				}
				for _, key := range []string{"key0", "more"} {
					_, err = db.Get([]byte(key))
					ok(t, err)
				}
				ok(t, db.Close())
			})
		})
	}
}

func TestTakeOver_leavesAFolderThatOpens(t *testing.T) {
	h := newHistory(t, 2)
	store, disk := memstore.New(), memfs.NewCrashable()
	first, err := open(t, store, memfs.New(), quick(), tuned.Sizes()[0])
	ok(t, err)
	for range 60 {
		ok(t, h.commit(first.DB))
	}
	ok(t, first.Flush())
	ok(t, first.Close())
	db := mustTakeOver(t, mustRead(t, store), disk)
	_, err = tuned.Open(disk.CrashKeepAll(), "db", nil, engine.Tuning{})
	wantErr(t, err, stoat.ErrCorrupt) // files are missing
	for at := 60; at < 200; at += 20 {
		h.wantAt(t, "the folder", db.DB, at)
		for range 20 {
			ok(t, h.commit(db.DB))
		}
		ok(t, db.Close())
		db, err = open(t, store, disk, quick(), tuned.Sizes()[0])
		ok(t, err)
	}
	ok(t, db.Compact(t.Context()))
	ok(t, db.Close())
	h.wantAt(t, "a copy", restored(t, store), 200)
}

// glanced is how many log objects a claimant asks for while its claim is on its way.
const glanced = 4

func TestTakeOver_takesFourRoundTrips(t *testing.T) {
	for _, c := range []struct {
		name   string
		unread int // commits that the reader has not seen
		trips  int
		tries  int // claims that it creates
		states int // that it reads
	}{
		// CREATE the claim, and at the same time GET what may be there instead, LIST log and states;
		// LIST states
		{"with all of the log", 0, 2, 1, 0},
		// twice, since the number is taken
		{"with little to read", 2, 3, 2, 0}, // and two edits
		// and GET the rest of what the log has in addition
		{"with more to read", 20, 4, 2, 0},
		// and GET the newest state, at the same time as 60 objects
		{"with another state", 64, 4, 2, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := shippedOneByOne(t, 78, 56)
			synctest.Test(t, func(t *testing.T) {
				// What the writer does in the background ends within a minute.
				settle := func() { <-time.After(time.Minute) }
				writer := mustOpen(t, store, memfs.New())
				settle()
				client := faultstore.NewServer(store).Client(nil)
				const trip = time.Second
				o := &remote.ReaderOptions{Poll: 24 * time.Hour}
				r, err := remote.OpenReader(t.Context(), distant{client, trip}, "", o)
				ok(t, err)
				read := len(names(t, store, "log/"))
				for i := range c.unread {
					ok(t, writer.Put(fmt.Appendf(nil, "more%d", i), nil))
					ok(t, writer.Ship(t.Context()))
				}
				settle()
				gets := len(names(t, store, "log/")) - read + c.states + glanced
				lists := 2*c.tries + 1
				began := time.Now()
				listed, got := client.Count(faultstore.List), client.Count(faultstore.Get)
				db := mustTakeOver(t, r, memfs.New())
				if took := time.Since(began); took != time.Duration(c.trips)*trip {
					t.Errorf("it takes %v", took)
				}
				listed, got = client.Count(faultstore.List)-listed, client.Count(faultstore.Get)-got
				if n := client.Count(faultstore.Create); n != c.tries || listed != lists || got != gets {
					t.Errorf("%d objects are created, %d LISTs, %d of %d GETs", n, listed, got, gets)
				}
				_, err = db.Get([]byte("key0")) // in a table that was not read
				ok(t, err)
				ok(t, db.Close())
				settle()
				// Looks that are not needed any more may have ended before they arrived.
				made, told := client.Count(), int(db.Status().Requests)
				if told < made || told > made+glanced+3 {
					t.Errorf("%d requests are made, and the status says %d", made, told)
				}
				_ = writer.Close() // it is fenced
			})
		})
	}
}
