package ship

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sort"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote/internal/archive"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/memstore"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// barrier is a plan that holds log objects back while it is up.
type barrier struct {
	mu      sync.Mutex
	changed sync.Cond
	up      bool
	waiting []string        // the objects that have come to it
	passed  map[string]bool // those that may pass
}

func newBarrier() *barrier {
	b := &barrier{passed: map[string]bool{}}
	b.changed.L = &b.mu
	return b
}

func (b *barrier) plan(r faultstore.Request) faultstore.Fate {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.Op != faultstore.Create || !strings.HasPrefix(r.Name, "log/") || !b.up {
		return faultstore.Answered
	}
	b.waiting = append(b.waiting, r.Name)
	b.changed.Broadcast()
	for b.up && !b.passed[r.Name] {
		b.changed.Wait()
	}
	return faultstore.Answered
}

// set raises or lowers the barrier.
func (b *barrier) set(up bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.up = up
	b.changed.Broadcast()
}

// await returns the names of the objects at the barrier, in order, once there are n.
func (b *barrier) await(n int) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.waiting) < n {
		b.changed.Wait()
	}
	sort.Strings(b.waiting)
	return b.waiting
}

// pass lets an object through.
func (b *barrier) pass(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.passed[name] = true
	b.changed.Broadcast()
}

// started returns a shipper of a new database, in a store behind a barrier, whose commits wait.
func started(t testing.TB, b *barrier) (*Shipper, *engine.Engine, *memstore.Store) {
	t.Helper()
	s, e, store := startedWith(t, b.plan)
	t.Cleanup(func() { b.set(false) }) // before the shipper stops
	return s, e, store
}

// startedWith is started with any plan of requests.
func startedWith(
	t testing.TB, plan func(faultstore.Request) faultstore.Fate,
) (*Shipper, *engine.Engine, *memstore.Store) {
	t.Helper()
	store := memstore.New()
	log, err := archive.NewLog(faultstore.NewServer(store).Client(plan))
	ok(t, err)
	s := New(t.Context(), log, Config{
		Withhold: true, Window: 2, Uploads: 1, MaxLag: time.Hour, Retention: time.Hour,
	})
	e, err := engine.Open(memfs.New(), "db", engine.Options{Shipper: s})
	ok(t, err)
	ok(t, s.Start(e))
	t.Cleanup(func() {
		_ = e.Close() // some tests have poisoned it
		_ = s.Stop(t.Context())
	})
	return s, e, store
}

// put commits a key.
func put(e *engine.Engine, key string) error {
	w, err := e.Begin()
	if err != nil {
		return err
	}
	if err := w.Put(append(keyspace.AppendPrefix(nil, 0), key...), nil, 0); err != nil {
		w.Rollback()
		return err
	}
	return w.Commit()
}

// begin commits a key in the background.
func begin(e *engine.Engine, key string) <-chan error {
	result := make(chan error, 1)
	go func() { result <- put(e, key) }()
	return result
}

// exists returns once the store has an object.
func exists(t testing.TB, store *memstore.Store, name string) {
	t.Helper()
	for {
		if _, err := store.Get(t.Context(), name, 0, 1); err == nil {
			return
		}
		runtime.Gosched()
	}
}

func TestShipper_acknowledgesInOrder(t *testing.T) {
	b := newBarrier()
	s, e, store := started(t, b)
	ok(t, put(e, "first"))
	ok(t, s.Wait(t.Context()))
	b.set(true)
	second := begin(e, "second")
	b.await(1)
	third := begin(e, "third")
	names := b.await(2)
	b.pass(names[1])
	exists(t, store, names[1])
	ok(t, s.Confirm(t.Context())) // with two requests in flight, one of which is stored
	select {
	case err := <-third:
		t.Errorf("a commit is acknowledged before the one before it: %v", err)
	case err := <-second:
		t.Errorf("a commit is acknowledged before its object is stored: %v", err)
	default:
	}
	if e.Visible() != 1 {
		t.Errorf("commit %d is visible", e.Visible())
	}
	b.pass(names[0])
	ok(t, <-second)
	ok(t, <-third)
	if n := len(b.await(2)); n != 2 {
		t.Errorf("%d log objects were sent", n)
	}
}

func TestShipper_sendsNoMoreThanItsWindow(t *testing.T) {
	b := newBarrier()
	_, e, _ := started(t, b)
	ok(t, put(e, "first"))
	b.set(true)
	results := []<-chan error{begin(e, "a")}
	b.await(1)
	results = append(results, begin(e, "b"))
	b.await(2)
	for i := range 20 {
		results = append(results, begin(e, fmt.Sprint("more ", i)))
	}
	for e.Local() < 23 {
		runtime.Gosched()
	}
	if n := len(b.await(2)); n != 2 {
		t.Errorf("%d log objects are in flight", n)
	}
	b.set(false)
	for _, r := range results {
		ok(t, <-r)
	}
}

func TestShipper_storesAStateNowAndThen(t *testing.T) {
	s, e, _ := started(t, newBarrier())
	for i := range 2 * stateEvery {
		ok(t, put(e, fmt.Sprint(i)))
	}
	for s.saved.Load() < stateEvery {
		runtime.Gosched()
	}
	states, err := s.log.States(t.Context())
	if err != nil || len(states) == 0 || len(states) > 3 {
		t.Errorf("the states are %d: %v", states, err)
	}
}

func TestShipper_storesAStateWithoutAnyCommit(t *testing.T) {
	store, disk := memstore.New(), memfs.New()
	var read int
	for range stateEvery + 2 {
		client := faultstore.NewServer(store).Client(nil)
		log, err := archive.NewLog(client)
		ok(t, err)
		s := New(t.Context(), log, Config{Window: 1, Uploads: 1, MaxLag: time.Hour, Retention: time.Hour})
		e, err := engine.Open(disk, "db", engine.Options{Shipper: s})
		ok(t, err)
		read = client.Count(faultstore.Get)
		ok(t, s.Start(e))
		ok(t, e.Close())
		ok(t, s.Stop(t.Context()))
	}
	if read > 10 {
		t.Errorf("a session that follows many without a commit reads %d objects", read)
	}
}

func TestShipper_endsTheWaitOfCommitsIfItFails(t *testing.T) {
	b := newBarrier()
	s, e, _ := started(t, b)
	b.set(true)
	commit := begin(e, "key")
	b.await(1)
	broken := errors.New("broken")
	s.fail(broken)
	if err := <-commit; !errors.Is(err, engine.ErrUnknown) || !errors.Is(err, broken) {
		t.Errorf("a commit that waits ends with %v", err)
	}
	if err := put(e, "key"); !errors.Is(err, broken) {
		t.Errorf("the next one ends with %v", err)
	}
}

func TestShipper_collectsNoLongerThanItsContext(t *testing.T) {
	s, _, _ := started(t, newBarrier())
	ok(t, s.collector.begin(t.Context())) // another collection, of a store that does not answer
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Collect(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	s.collector.end()
}

func TestShipper_isDoneWhenItHasStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stored := false
		server := faultstore.NewServer(memstore.New())
		log, err := archive.NewLog(server.Client(func(r faultstore.Request) faultstore.Fate {
			if r.Op == faultstore.Put && strings.HasPrefix(r.Name, "state/") {
				<-time.After(time.Second)
				stored = true
			}
			return faultstore.Answered
		}))
		ok(t, err)
		s := New(t.Context(), log, Config{
			Window: 1, Uploads: 1, Interval: time.Hour, MaxLag: time.Hour, Retention: time.Hour,
		})
		e, err := engine.Open(memfs.New(), "db", engine.Options{Shipper: s})
		ok(t, err)
		ok(t, s.Start(e))
		for s.state().Number < stateEvery-1 {
			ok(t, put(e, "key"))
			ok(t, s.Wait(t.Context()))
		}
		ok(t, put(e, "the last one"))
		ok(t, e.Close())
		ok(t, s.Stop(t.Context()))
		if !stored {
			t.Error("it has stopped, and a state is still on its way, or none was stored")
		}
	})
}

func TestShipper_failsWhatWaitsOnceItIsFenced(t *testing.T) {
	b := newBarrier()
	s, e, store := started(t, b)
	ok(t, put(e, "first"))
	ok(t, s.Wait(t.Context()))
	b.set(true)
	second := begin(e, "second")
	b.await(1)
	third := begin(e, "third")
	names := b.await(2)
	b.pass(names[1]) // it follows an object that will never be there
	exists(t, store, names[1])
	log, err := archive.NewLog(store)
	ok(t, err)
	other := New(t.Context(), log, Config{Window: 1})
	ok(t, other.log.Identify(t.Context()))
	ok(t, other.take(7, func(*object.State) error { return nil }))
	b.set(false)
	for _, result := range []<-chan error{second, third} {
		if err := <-result; !errors.Is(err, history.ErrFenced) {
			t.Errorf("a commit that waits ends with %v", err)
		}
	}
	if state := other.state(); state.Commit != 1 || len(state.Void) > 1 {
		t.Errorf("the other writer goes on after commit %d", state.Commit)
	}
	if err := s.Confirm(t.Context()); !errors.Is(err, history.ErrFenced) {
		t.Errorf("it is confirmed: %v", err)
	}
}
