package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stoatdb/stoat/internal/commit"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// withholding is options with which commits wait to be acknowledged.
func withholding() Options {
	o := calm()
	o.Shipper = &porter{withholds: true}
	return o
}

// begun runs commits of mustCommit's words in the background, one after the other, and returns when
// the last one is durable here.
func begun(t testing.TB, e *Engine, words ...string) *sync.WaitGroup {
	t.Helper()
	var all sync.WaitGroup
	for _, word := range words {
		next := e.Local() + 1
		all.Go(func() {
			if err := tryCommit(e, dataKey("%s", word), []byte(word)); err != nil {
				t.Error(err)
			}
		})
		waitLocal(t, e, next)
	}
	return &all
}

// waitLocal returns when a commit is durable here.
func waitLocal(t testing.TB, e *Engine, commit uint64) {
	t.Helper()
	f, err := e.FollowLocal()
	ok(t, err)
	defer f.Close()
	ok(t, f.Reach(t.Context(), e.Local())) // what is published is told
	if _, err := f.Wait(t.Context(), commit-1); err != nil {
		t.Fatal(err)
	}
}

func TestWithheld_isSeenOnceItIsAcknowledged(t *testing.T) {
	e := mustOpen(t, memfs.New(), withholding())
	f := mustFollow(t, e)
	waiting := begun(t, e, "a", "b", "c")
	wantWords(t, e)
	if e.Visible() != 0 || e.Local() != 3 {
		t.Errorf("commit %d of %d is visible", e.Visible(), e.Local())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if newest, err := f.Wait(ctx, 0); err == nil {
		t.Errorf("a follower is told of commit %d", newest)
	}
	e.Acknowledge(2)
	wantWords(t, e, "a", "b")
	if newest, err := f.Wait(t.Context(), 0); newest != 2 {
		t.Errorf("a follower is told of commit %d: %v", newest, err)
	}
	e.Acknowledge(3)
	waiting.Wait()
	wantWords(t, e, "a", "b", "c")
}

// TestWithheld_isNotShownByAnythingElse seals, flushes, compacts and spills while commits wait.
func TestWithheld_isNotShownByAnythingElse(t *testing.T) {
	e := mustOpen(t, memfs.New(), withholding())
	waiting := begun(t, e, "a", "b")
	e.Acknowledge(1)
	ok(t, e.Flush())
	wantWords(t, e, "a")
	ok(t, e.Compact(t.Context()))
	wantWords(t, e, "a")
	waiting.Go(func() {
		l, err := e.BeginLoad(t.Context())
		if err == nil {
			err = l.Put(dataKey("%s", "c"), []byte("c"))
		}
		if err == nil {
			err = l.Commit()
		}
		if err != nil {
			t.Error(err)
		}
	})
	waitLocal(t, e, 3)
	wantWords(t, e, "a")
	e.Acknowledge(2)
	wantWords(t, e, "a", "b")
	e.Acknowledge(3)
	waiting.Wait()
	wantWords(t, e, "a", "b", "c")
	ok(t, e.Compact(t.Context())) // is seen at once, since it changes nothing
	if s, err := e.Snapshot(0); err != nil || len(s.Levels.Young) > 0 {
		t.Errorf("readers see %d young runs: %v", len(s.Levels.Young), err)
	}
	e.Release(0)
}

func TestWithheld_isReadByTransactionsThatWait(t *testing.T) {
	e := mustOpen(t, memfs.New(), withholding())
	waiting := begun(t, e, "a")
	ctx, cancel := context.WithCancelCause(t.Context())
	w, err := e.BeginContext(ctx)
	ok(t, err)
	if found, err := w.Has(dataKey("%s", "a"), new(superversion.Lookups)); !found {
		t.Errorf("a transaction does not see the commit before it: %v", err)
	}
	cancel(errBroken)
	if err := w.Commit(); !errors.Is(err, ErrUnknown) || !errors.Is(err, errBroken) {
		t.Errorf("a transaction that has read what is withheld ends with %v", err)
	}
	w, err = e.BeginContext(t.Context())
	ok(t, err)
	waiting.Go(w.Rollback)
	e.Acknowledge(1)
	waiting.Wait()
}

func TestWithheld_endsWithItsContext(t *testing.T) {
	e := mustOpen(t, memfs.New(), withholding())
	ctx, cancel := context.WithCancelCause(t.Context())
	w, err := e.BeginContext(ctx)
	ok(t, err)
	ok(t, w.Put(dataKey("%s", "a"), []byte("a"), 0))
	cancel(errBroken)
	if err := w.Commit(); !errors.Is(err, ErrUnknown) || !errors.Is(err, errBroken) {
		t.Errorf("the commit ends with %v", err)
	}
	wantWords(t, e)
	e.Acknowledge(1)
	wantWords(t, e, "a")
}

func TestWithheld_failsOnceItIsRefused(t *testing.T) {
	for _, refused := range []bool{true, false} {
		e := mustOpen(t, memfs.New(), withholding())
		result := make(chan error)
		for range 2 {
			go func() { result <- tryCommit(e, dataKey("a"), nil) }()
		}
		waitLocal(t, e, 2)
		want := ErrUnknown
		if e.Acknowledge(0); refused {
			e.Refuse(errBroken)
			want = ErrPoisoned
		} else {
			e.Abandon(errBroken)
		}
		for range 2 {
			if err := <-result; !errors.Is(err, want) || !errors.Is(err, errBroken) {
				t.Errorf("a commit ends with %v", err)
			}
		}
		wantWords(t, e)
		if err := tryCommit(e, dataKey("b"), nil); refused && !errors.Is(err, errBroken) {
			t.Errorf("the next commit ends with %v", err)
		}
	}
}

// TestWithheld_randomHistories acknowledges at random times while a goroutine commits numbers and
// everything else goes on.
func TestWithheld_randomHistories(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	o := withholding()
	o.Tuning.MemtableBytes, o.Tuning.SpillBytes, o.Tuning.YoungRuns = 4<<10, 8<<10, 2
	e := mustOpen(t, memfs.New(), o)
	f := mustFollow(t, e)
	const commits = 400
	var all sync.WaitGroup
	for i := range commits {
		value := make([]byte, rng.IntN(300))
		if rng.IntN(40) == 0 {
			value = make([]byte, 20<<10) // is spilled
		}
		next := e.Local() + 1
		all.Go(func() {
			if err := tryCommit(e, dataKey("%06d", i+1), value); err != nil {
				t.Error(err)
			}
		})
		waitLocal(t, e, next)
		if rng.IntN(20) == 0 {
			ok(t, e.Flush())
		}
		if rng.IntN(3) == 0 {
			e.Acknowledge(e.Visible() + rng.Uint64N(e.Local()-e.Visible()+1))
		}
		wantPrefix(t, e)
	}
	e.Acknowledge(commits)
	all.Wait()
	wantPrefix(t, e)
	told := uint64(0)
	err := f.Through(t.Context(), 0, e.Visible(), func(b commit.Batch) error {
		told = b.Commit
		return nil
	})
	if told != commits && !errors.Is(err, commit.ErrLagged) || e.Visible() != commits {
		t.Errorf("commit %d of %d is told and %d visible: %v", told, commits, e.Visible(), err)
	}
}

// wantPrefix wants readers to see as many keys as there are visible commits.
func wantPrefix(t testing.TB, e *Engine) {
	t.Helper()
	s, err := e.Snapshot(0)
	ok(t, err)
	defer e.Release(0)
	keys := len(wordsIn(t, s))
	if uint64(keys) != s.Commit || s.Commit != e.Visible() {
		t.Fatal(fmt.Errorf("readers see %d keys after commit %d, and commit %d is visible", keys,
			s.Commit, e.Visible()))
	}
}
