package engine

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func dataKey(format string, args ...any) []byte {
	return fmt.Appendf(keyspace.AppendPrefix(nil, 0), format, args...)
}

func mustOpen(t testing.TB, files vfs.FS, o Options) *Engine {
	t.Helper()
	e, err := Open(files, "db", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func tryCommit(e *Engine, key, value []byte) error {
	w, err := e.Begin()
	if err != nil {
		return err
	}
	w.Put(key, value, 0)
	return w.Commit()
}

func get(t testing.TB, e *Engine, key []byte) (string, bool) {
	t.Helper()
	s, err := e.Snapshot(0)
	if err != nil {
		t.Fatal(err)
	}
	value, ok, err := s.Get(key, new(superversion.Lookups))
	if err != nil {
		t.Fatal(err)
	}
	return string(value), ok
}

func TestCommit_isInvisibleUntilItsSyncIsDone(t *testing.T) {
	var e *Engine
	key := dataKey("key")
	var looked, seen atomic.Bool
	files := faultfs.New(memfs.New(), func(op faultfs.Op) error {
		if op.Kind == faultfs.Sync && e != nil && !looked.Swap(true) {
			_, ok := get(t, e, key)
			seen.Store(ok)
		}
		return nil
	})
	e = mustOpen(t, files, Options{})
	if err := tryCommit(e, key, []byte("value")); err != nil {
		t.Fatal(err)
	}
	if !looked.Load() || seen.Load() {
		t.Error("no sync, or a reader saw the commit while it was being synced")
	}
	if value, ok := get(t, e, key); !ok || value != "value" {
		t.Errorf("after the commit the value is %q, %v", value, ok)
	}
}

func TestRollback_publishesNothingThatIsNotDurable(t *testing.T) {
	for range 20 { // the rollback is not always the first to go on
		held, let := make(chan struct{}), make(chan struct{})
		var syncs atomic.Int64
		e := mustOpen(t, faultfs.New(memfs.New(), func(op faultfs.Op) error {
			if !is(faultfs.Sync, ".log")(op) {
				return nil
			}
			if syncs.Add(1) > 1 {
				return errBroken
			}
			close(held)
			<-let
			return nil
		}), calm())
		var done sync.WaitGroup
		done.Go(func() { ok(t, tryCommit(e, dataKey("first"), nil)) })
		<-held
		done.Go(func() {
			if err := tryCommit(e, dataKey("second"), nil); !errors.Is(err, ErrPoisoned) {
				t.Errorf("a commit whose sync failed gives %v", err)
			}
		})
		for e.commits.Newest() < 2 {
			runtime.Gosched()
		}
		w := writeLarge(t, e)
		done.Go(w.Rollback)
		close(let)
		done.Wait()
		if _, ok := get(t, e, dataKey("second")); ok {
			t.Fatal("a commit is visible that was never durable")
		}
	}
}

func TestSync_besideCommitsDoesNoHarm(t *testing.T) {
	e := mustOpen(t, memfs.New(), calm())
	var stop atomic.Bool
	var done sync.WaitGroup
	for range 3 {
		done.Go(func() {
			for !stop.Load() {
				ok(t, e.Sync())
			}
		})
	}
	for i := range 3000 {
		ok(t, tryCommit(e, dataKey("%d", i), nil))
	}
	stop.Store(true)
	done.Wait()
}

func TestCommit_sharesSyncs(t *testing.T) {
	const commits = 200
	var e *Engine
	waiting := make(chan struct{})
	var once sync.Once
	files := faultfs.New(memfs.New(), func(op faultfs.Op) error {
		if op.Kind == faultfs.Sync && e != nil {
			once.Do(func() { <-waiting }) // hold the first sync until all others have appended
		}
		return nil
	})
	fresh := mustOpen(t, files, Options{})
	mustCommit(t, fresh, "first")
	before := fresh.Stats().Syncs
	e = fresh
	var done sync.WaitGroup
	for i := range commits {
		done.Go(func() {
			if err := tryCommit(e, dataKey("%03d", i), []byte("v")); err != nil {
				t.Error(err)
			}
		})
	}
	for e.commits.Newest() < commits+1 {
		runtime.Gosched()
	}
	close(waiting)
	done.Wait()
	if got := e.Stats().Syncs - before; got > 2 {
		t.Errorf("%d concurrent commits took %d syncs, want at most 2", commits, got)
	}
	for i := range commits {
		if _, ok := get(t, e, dataKey("%03d", i)); !ok {
			t.Errorf("commit %d is lost", i)
		}
	}
}

func TestCommit_afterAFailedSyncPoisons(t *testing.T) {
	broken := errors.New("the disk is broken")
	var fail atomic.Bool
	files := faultfs.New(memfs.New(), func(op faultfs.Op) error {
		if fail.Load() && op.Kind == faultfs.Sync {
			return broken
		}
		return nil
	})
	e := mustOpen(t, files, Options{})
	if err := tryCommit(e, dataKey("a"), nil); err != nil {
		t.Fatal(err)
	}
	fail.Store(true)
	err := tryCommit(e, dataKey("b"), nil)
	if !errors.Is(err, ErrPoisoned) || !errors.Is(err, broken) {
		t.Errorf("commit with a failing sync gives %v", err)
	}
	fail.Store(false)
	if err := tryCommit(e, dataKey("c"), nil); !errors.Is(err, ErrPoisoned) {
		t.Errorf("a later commit gives %v, want ErrPoisoned", err)
	}
	if _, ok := get(t, e, dataKey("a")); !ok {
		t.Error("readers no longer see what was durable")
	}
	if _, ok := get(t, e, dataKey("b")); ok {
		t.Error("readers see a commit that failed")
	}
}
