package remote_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

func TestTakeOver_ofTwoAtOnceLeavesOneWriter(t *testing.T) {
	h, store := newHistory(t, 3), memstore.New()
	first := mustOpen(t, store, memfs.New())
	mustCommit(t, h, first, 10)
	standbys := []*remote.Reader{mustRead(t, store), mustRead(t, store)}
	dbs := make([]*remote.DB, len(standbys))
	var running sync.WaitGroup
	for i, r := range standbys {
		running.Go(func() { dbs[i] = mustTakeOver(t, r, memfs.New()) })
	}
	running.Wait()
	writers := 0
	for _, db := range dbs {
		h.wantAt(t, "a standby", db.DB, 10)
		if err := db.Confirm(t.Context()); err == nil {
			writers++
		} else {
			wantErr(t, err, remote.ErrFenced)
		}
	}
	if writers != 1 {
		t.Errorf("%d of 2 standbys are the writer", writers)
	}
}

func TestTakeOver_keepsWhatAPausedWriterWaitsFor(t *testing.T) {
	h := newHistory(t, 4)
	server, shut := faultstore.NewServer(memstore.New()), newGate()
	first, err := open(t, server.Client(shut.plan), memfs.New(), waiting(), engine.Tuning{})
	ok(t, err)
	for range 10 {
		ok(t, h.commit(first.DB))
	}
	r := mustRead(t, server.Client(nil))
	shut.set(true)
	late := make(chan error)
	go func() { late <- first.Put([]byte("late"), nil) }()
	second := mustTakeOver(t, r, memfs.New())
	shut.set(false)
	wantErr(t, <-late, remote.ErrFenced)
	h.wantAt(t, "the standby", second.DB, 10)
	_ = first.Close() // it is fenced
}

// The log ends where a request of the writer before has not arrived, whatever is behind it, and
// whether the request arrives later or never.
func TestTakeOver_claimsWhereARequestIsMissing(t *testing.T) {
	for _, fate := range []faultstore.Fate{faultstore.Unavailable, faultstore.Late} {
		server := faultstore.NewServer(memstore.New())
		overtaken(t, server, fate)
		second := mustTakeOver(t, mustRead(t, server.Client(nil)), memfs.New())
		for server.UnderWay() > 0 {
			ok(t, server.Deliver(0))
		}
		ok(t, second.Put([]byte("b"), []byte("second")))
		ok(t, second.Ship(t.Context()))
		for _, db := range []*stoat.DB{second.DB, restored(t, server.Client(nil))} {
			if _, err := db.Get([]byte("a")); err != nil {
				t.Errorf("%v: what was acknowledged: %v", fate, err)
			}
			if b, err := db.Get([]byte("b")); string(b) != "second" {
				t.Errorf("%v: what was committed since: %q, %v", fate, b, err)
			}
			_, err := db.Get([]byte("c"))
			wantErr(t, err, stoat.ErrNotFound)
		}
	}
}

// A standby whose claim gets no answer says so, and since when it waits.
func TestTakeOver_saysWhatItWaitsFor(t *testing.T) {
	store := memstore.New()
	first := mustOpen(t, store, memfs.New())
	ok(t, first.Put([]byte("a"), nil))
	ok(t, first.Close())
	synctest.Test(t, func(t *testing.T) {
		client := faultstore.NewServer(store).Client(func(r faultstore.Request) faultstore.Fate {
			if r.Op == faultstore.Create {
				return faultstore.Unavailable
			}
			return faultstore.Answered
		})
		r, err := remote.OpenReader(t.Context(), client, "", nil)
		ok(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began, ended := time.Now(), make(chan error, 1)
		go func() {
			_, err := takeOver(ctx, r, memfs.New(), quick(), engine.Tuning{})
			ended <- err
		}()
		<-time.After(time.Minute)
		s := r.Status()
		if !s.TakingOver.Equal(began) {
			t.Errorf("it waits since %v, and began at %v", s.TakingOver, began)
		}
		wantErr(t, s.Failed, objstore.ErrUnknown)
		cancel()
		err = <-ended
		wantErr(t, err, context.Canceled)
		wantErr(t, err, objstore.ErrUnknown)
		if s := r.Status(); !s.TakingOver.IsZero() || s.Failed != nil {
			t.Errorf("afterwards: %+v", s)
		}
		ok(t, r.Close())
	})
}

func TestStatus_saysWhyAWriterWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := &restless{}
		client := faultstore.NewServer(memstore.New()).Client(faults.plan)
		db, err := open(t, client, memfs.New(), quick(), engine.Tuning{})
		ok(t, err)
		faults.away.Store(true)
		ok(t, db.Put([]byte("a"), nil))
		<-time.After(time.Minute)
		wantErr(t, db.Status().Failed, objstore.ErrUnknown)
		faults.away.Store(false)
		ok(t, db.Ship(t.Context()))
		ok(t, db.Status().Failed)
		ok(t, db.Close())
	})
}

func TestTakeOver_leavesTheReaderIfTheStoreDoesNotAnswer(t *testing.T) {
	h, store := newHistory(t, 5), memstore.New()
	first := mustOpen(t, store, memfs.New())
	mustCommit(t, h, first, 10)
	synctest.Test(t, func(t *testing.T) {
		faults := &restless{}
		client := faultstore.NewServer(store).Client(faults.plan)
		r, err := remote.OpenReader(t.Context(), client, "", nil)
		ok(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		faults.away.Store(true)
		_, err = takeOver(ctx, r, memfs.New(), quick(), engine.Tuning{})
		wantErr(t, err, context.DeadlineExceeded)
		h.wantAt(t, "the reader", r.DB, 10)
		faults.away.Store(false)
		db := mustTakeOver(t, r, memfs.New())
		h.wantAt(t, "the standby", db.DB, 10)
		_, err = takeOver(t.Context(), r, memfs.New(), quick(), engine.Tuning{})
		wantErr(t, err, stoat.ErrClosed)
		ok(t, db.Close())
		ok(t, r.Close())
	})
	_ = first.Close() // it is fenced
}
