package remote_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
)

// waiting is options with which commits wait for the store.
func waiting() remote.Options {
	return remote.Options{
		Durability: remote.Wait, MaxLag: time.Minute, CloseTimeout: 30 * time.Second,
	}
}

// gate is a plan that lets log objects through only while it is open, and counts them.
type gate struct {
	mu      sync.Mutex
	opened  sync.Cond
	shut    bool
	objects int // that have been asked for
}

func newGate() *gate {
	g := new(gate)
	g.opened.L = &g.mu
	return g
}

func (g *gate) plan(r faultstore.Request) faultstore.Fate {
	if r.Op != faultstore.Create || !strings.HasPrefix(r.Name, "log/") {
		return faultstore.Answered
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.objects++
	for g.shut {
		g.opened.Wait()
	}
	return faultstore.Answered
}

// set shuts or opens the gate, and returns how many objects were asked for.
func (g *gate) set(shut bool) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	g.opened.Broadcast()
	return g.objects
}

// mustOpenWaiting opens a database in a store behind a gate.
func mustOpenWaiting(t testing.TB, o remote.Options) (*remote.DB, *gate, *faultstore.Client) {
	t.Helper()
	g := newGate()
	client := faultstore.NewServer(memstore.New()).Client(g.plan)
	db, err := open(t, client, memfs.New(), o, engine.Tuning{})
	ok(t, err)
	t.Cleanup(func() {
		g.set(false)
		_ = db.Close() // what it returns is part of some tests
	})
	return db, g, client
}

func TestWait_returnsOnceTheStoreHasTheCommit(t *testing.T) {
	for i, tuning := range tuned.Sizes() {
		store, h := memstore.New(), newHistory(t, uint64(i))
		db, err := open(t, store, memfs.New(), waiting(), tuning)
		ok(t, err)
		for range 40 {
			ok(t, h.commit(db.DB))
			h.wantAt(t, "the database", db.DB, len(h.states)-1)
			h.wantAt(t, "a copy", restored(t, store), len(h.states)-1)
		}
		ok(t, db.Confirm(t.Context()))
		ok(t, db.Close())
	}
}

func TestWait_makesOneRequestACommit(t *testing.T) {
	db, _, client := mustOpenWaiting(t, waiting())
	ok(t, db.Put([]byte("first"), nil)) // its manifest is shipped, too
	ok(t, db.Ship(t.Context()))
	before := client.Count()
	for i := range 10 {
		ok(t, db.Put(fmt.Append(nil, i), nil))
	}
	if n := client.Count() - before; n != 10 {
		t.Errorf("%d requests for 10 commits, one after the other", n)
	}
	ok(t, db.View(func(*stoat.Tx) error { return nil }))
	ok(t, db.Ship(t.Context()))
	if n := client.Count() - before; n != 10 {
		t.Errorf("%d requests while nothing is committed", n-10)
	}
	ok(t, db.Confirm(t.Context()))
	if n := client.Count() - before; n != 11 {
		t.Errorf("%d requests to confirm", n-10)
	}
}

// local returns the newest commit that is durable in the folder.
func local(db *remote.DB) uint64 { return db.Status().Commit }

func TestWait_sharesRequests(t *testing.T) {
	const callers = 256
	db, g, _ := mustOpenWaiting(t, waiting())
	ok(t, db.Put([]byte("first"), nil))
	before, at := g.set(true), local(db)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			if err := db.Put(fmt.Append(nil, i), nil); err != nil {
				t.Error(err)
			}
		})
	}
	for local(db) < at+callers {
		runtime.Gosched()
	}
	g.set(false)
	all.Wait()
	if n := g.set(false) - before; n > 3 { // two that were on their way, and the others
		t.Errorf("%d requests for %d commits", n, callers)
	}
}

func TestWait_hidesCommitsUntilTheStoreHasThem(t *testing.T) {
	db, g, _ := mustOpenWaiting(t, waiting())
	ok(t, db.Put([]byte("first"), nil))
	g.set(true)
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, errStopped)
	defer cancel()
	err := db.UpdateContext(ctx, func(tx *stoat.Tx) error { return tx.Put([]byte("second"), nil) })
	wantErr(t, err, remote.ErrUnknown)
	wantErr(t, err, errStopped)
	_, err = db.Get([]byte("second"))
	wantErr(t, err, stoat.ErrNotFound)
	ok(t, db.Flush()) // nothing that it needs is held
	_, err = db.Get([]byte("second"))
	wantErr(t, err, stoat.ErrNotFound)
	g.set(false)
	ok(t, db.Put([]byte("third"), nil))
	_, err = db.Get([]byte("second"))
	ok(t, err)
}

func TestWait_takesTransactionsOfAnySize(t *testing.T) {
	store := memstore.New()
	db, err := open(t, store, memfs.New(), waiting(), engine.Tuning{SpillBytes: 32 << 20})
	ok(t, err)
	value := bytes.Repeat([]byte("0123456789abcdef"), 7<<16) // more than a log object takes
	ok(t, db.Put([]byte("large"), value))
	copied := restored(t, store)
	if got, err := copied.Get([]byte("large")); !bytes.Equal(got, value) {
		t.Errorf("the large value has %d bytes: %v", len(got), err)
	}
	ok(t, db.Load(t.Context(), func(yield func(key, value []byte) bool) {
		for i := 0; i < 1000 && yield(fmt.Appendf(nil, "loaded %04d", i), nil); i++ {
		}
	}))
	_, err = restored(t, store).Get([]byte("loaded 0999"))
	ok(t, err)
	ok(t, db.Close())
}

func TestWait_failsOnceAnotherMachineHasTakenOver(t *testing.T) {
	g := newGate()
	server := faultstore.NewServer(memstore.New())
	first, err := open(t, server.Client(g.plan), memfs.New(), waiting(), engine.Tuning{})
	ok(t, err)
	ok(t, first.Put([]byte("first"), nil))
	ok(t, first.Confirm(t.Context()))
	g.set(true)
	result := make(chan error)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // or a failure would take minutes
	defer cancel()
	for i := range 5 {
		go func() {
			result <- first.UpdateContext(ctx, func(tx *stoat.Tx) error {
				return tx.Put(fmt.Append(nil, "lost", i), nil)
			})
		}()
	}
	for local(first) < 6 {
		runtime.Gosched()
	}
	second, err := open(t, server.Client(nil), memfs.New(), waiting(), engine.Tuning{})
	ok(t, err)
	wantErr(t, first.Confirm(t.Context()), remote.ErrFenced)
	g.set(false)
	for range 5 {
		err := <-result
		wantErr(t, err, remote.ErrFenced)
		wantErr(t, err, stoat.ErrPoisoned)
		if strings.Contains(err.Error(), "open it again") { // that would fence the second writer
			t.Errorf("the advice is wrong: %v", err)
		}
	}
	wantErr(t, first.Put([]byte("refused"), nil), remote.ErrFenced)
	wantErr(t, first.Err(), remote.ErrFenced)
	for _, db := range []*stoat.DB{first.DB, second.DB, restored(t, server.Client(nil))} {
		keys := 0
		ok(t, db.View(func(tx *stoat.Tx) error {
			for range tx.Keys(stoat.Range{}) {
				keys++
			}
			return nil
		}))
		if keys != 1 {
			t.Errorf("%d keys, want that of the commit that was acknowledged", keys)
		}
	}
	ok(t, second.Put([]byte("second"), nil))
	ok(t, second.Confirm(t.Context()))
	wantErr(t, first.Confirm(t.Context()), remote.ErrFenced)
	wantErr(t, first.Close(), remote.ErrUnshipped)
	ok(t, second.Close())
}

// TestWait_endsWithClose closes a database whose store is unreachable, and opens it again.
func TestWait_endsWithClose(t *testing.T) {
	var down atomic.Bool
	server, disk := faultstore.NewServer(memstore.New()), memfs.New()
	client := server.Client(func(faultstore.Request) faultstore.Fate {
		if down.Load() {
			return faultstore.Unavailable
		}
		return faultstore.Answered
	})
	o := waiting()
	o.CloseTimeout = time.Millisecond
	db, err := open(t, client, disk, o, engine.Tuning{})
	ok(t, err)
	down.Store(true)
	result := make(chan error)
	go func() { result <- db.Put([]byte("a"), nil) }()
	for local(db) < 1 {
		runtime.Gosched()
	}
	wantErr(t, db.Close(), remote.ErrUnshipped)
	wantErr(t, <-result, remote.ErrUnknown)
	wantErr(t, db.Confirm(t.Context()), stoat.ErrClosed)
	down.Store(false)
	db, err = open(t, client, disk, waiting(), engine.Tuning{})
	ok(t, err)
	_, err = db.Get([]byte("a"))
	ok(t, err)
	_, err = restored(t, client).Get([]byte("a")) // Open has shipped it
	ok(t, err)
	ok(t, db.Close())
}

// TestWait_opensOnlyWhatTheStoreHas opens a folder with commits that no store has.
func TestWait_opensOnlyWhatTheStoreHas(t *testing.T) {
	disk := memfs.New()
	plain, err := tuned.Open(disk, "db", nil, engine.Tuning{})
	ok(t, err)
	ok(t, plain.Put([]byte("a"), nil))
	ok(t, plain.Close())
	ctx, cancel := context.WithCancelCause(t.Context())
	client := faultstore.NewServer(memstore.New()).Client(func(r faultstore.Request) faultstore.Fate {
		if r.Op != faultstore.List && strings.HasPrefix(r.Name, "data/") {
			cancel(errStopped) // the claim is there, the files are not
			return faultstore.Unavailable
		}
		return faultstore.Answered
	})
	_, err = openUntil(ctx, client, disk, waiting(), engine.Tuning{})
	wantErr(t, err, errStopped)
	plain, err = tuned.Open(disk, "db", nil, engine.Tuning{}) // it is closed
	ok(t, err)
	ok(t, plain.Close())
}
