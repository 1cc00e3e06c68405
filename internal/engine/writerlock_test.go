package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// wantUnused checks that nobody holds the lock or waits for it.
func wantUnused(t testing.TB, l *writerLock) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isHeld() || len(l.queue) > 0 || l.awake || turn(l.next.Load()) != wakeNobody {
		t.Errorf("held: %v, waiting: %d, awake: %v, next: %d",
			l.isHeld(), len(l.queue), l.awake, l.next.Load())
	}
}

// queueUp starts a goroutine that waits for the lock, which is held, and returns when it does so.
// The goroutine sends the error of its wait.
func queueUp(ctx context.Context, l *writerLock) (ended <-chan error) {
	c := make(chan error, 1)
	go func() { c <- l.lock(ctx, heldByTx) }()
	synctest.Wait()
	return c
}

// wantAtOnce checks that no time has passed since start. In a bubble, it passes when a wake-up is
// lost, until the lock has waiters look for a deadlock.
func wantAtOnce(t testing.TB, start time.Time) {
	t.Helper()
	if d := time.Since(start); d > 0 {
		t.Errorf("it took %v", d)
	}
}

// TestWriterLock_isHeldByOneWhateverEndsTheWaits has goroutines use the lock in random ways, and in
// some rounds hold it so long that it is handed over. The race detector finds two holders at once.
func TestWriterLock_isHeldByOneWhateverEndsTheWaits(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for round := range uint64(20) {
		long := round%2 == 1
		synctest.Test(t, func(t *testing.T) {
			var l writerLock
			var workers sync.WaitGroup
			start, held := time.Now(), 0
			for worker := range 2 + 2*round {
				workers.Go(func() {
					rng := rand.New(rand.NewPCG(seed, round<<32|worker))
					for range 100 {
						if !lockSomehow(t, &l, rng) {
							continue
						}
						if held++; held != 1 {
							t.Errorf("%d hold the lock", held)
						}
						if long && rng.IntN(4) == 0 {
							<-time.After(patience)
						}
						for range rng.IntN(3) {
							runtime.Gosched()
						}
						held--
						l.unlock()
					}
				})
			}
			workers.Wait()
			if !long {
				wantAtOnce(t, start)
			}
			wantUnused(t, &l)
		})
	}
}

// lockSomehow tries to take the lock in a random way, and reports whether it did.
func lockSomehow(t testing.TB, l *writerLock, rng *rand.Rand) bool {
	switch rng.IntN(4) {
	case 0:
		return l.tryLock(heldToFlush)
	case 1:
		ok(t, l.lock(context.Background(), heldByTx))
		return true
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	yields := rng.IntN(10)
	go func() {
		for range yields {
			runtime.Gosched()
		}
		cancel()
	}()
	err := l.lock(ctx, heldByJob)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	return err == nil
}

// TestWriterLock_passesOnTheWakeUpOfACancelledWait cancels the first waiter when it is just woken.
func TestWriterLock_passesOnTheWakeUpOfACancelledWait(t *testing.T) {
	for i := range 200 {
		synctest.Test(t, func(t *testing.T) {
			var l writerLock
			start := time.Now()
			ok(t, l.lock(t.Context(), heldByTx))
			ctx, cancel := context.WithCancel(t.Context())
			first := queueUp(ctx, &l)
			second := queueUp(t.Context(), &l)
			if i%2 == 0 {
				cancel()
				l.unlock()
			} else {
				l.unlock()
				cancel()
			}
			if err := <-first; err == nil {
				l.unlock()
			} else if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			ok(t, <-second)
			l.unlock()
			wantAtOnce(t, start)
			wantUnused(t, &l)
		})
	}
}

// TestWriterLock_passesOnAWakeUpThatNobodySaw cancels a waiter whose wake-up it cannot see yet.
func TestWriterLock_passesOnAWakeUpThatNobodySaw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l writerLock
		start := time.Now()
		ok(t, l.lock(t.Context(), heldByTx))
		first := &waiter{changed: make(chan struct{}, 1), since: start}
		l.join(first)
		second := queueUp(t.Context(), &l)
		l.unlock()
		if err := l.leave(first, errBroken); !errors.Is(err, errBroken) {
			t.Error(err)
		}
		ok(t, <-second)
		l.unlock()
		wantAtOnce(t, start)
		wantUnused(t, &l)
	})
}

func TestWriterLock_closedFailsAllThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l writerLock
		ok(t, l.lock(t.Context(), heldByTx))
		var waits []<-chan error
		for range 10 {
			waits = append(waits, queueUp(t.Context(), &l))
		}
		l.close()
		for _, w := range waits {
			if err := <-w; !errors.Is(err, ErrClosed) {
				t.Errorf("error %v, want ErrClosed", err)
			}
		}
		if err := l.lock(t.Context(), heldByTx); !errors.Is(err, ErrClosed) {
			t.Errorf("error %v, want ErrClosed", err)
		}
		l.unlock()
		wantUnused(t, &l)
	})
}

// loseOnce has a waiter of the given age lose the lock, which it is woken for, to this goroutine.
func loseOnce(t *testing.T, l *writerLock, age time.Duration) (ended <-chan error) {
	for {
		ok(t, l.lock(t.Context(), heldByTx))
		wait := queueUp(t.Context(), l)
		<-time.After(age)
		l.unlock()
		if l.tryLock(heldByTx) {
			synctest.Wait() // until the waiter has competed
			return wait
		}
		ok(t, <-wait) // it was faster
		l.unlock()
	}
}

func TestWriterLock_isHandedToWhoHasWaitedLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l writerLock
		wait := loseOnce(t, &l, 2*patience)
		l.unlock()
		if l.tryLock(heldByTx) {
			t.Error("the lock can be taken before a goroutine that has waited long")
		}
		ok(t, <-wait)
		l.unlock()
		wantUnused(t, &l)
	})
}

func TestWriterLock_isNotHandedToWhoHasWaitedShortly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l writerLock
		wait := loseOnce(t, &l, patience/2)
		if next := turn(l.next.Load()); next != wakeFirst {
			t.Errorf("the next turn is %d", next)
		}
		l.unlock()
		ok(t, <-wait)
		l.unlock()
		wantUnused(t, &l)
	})
}

// TestWriterLock_goesRoundAmongLongHolders wants no goroutine to wait for more than two turns of
// each of the others.
func TestWriterLock_goesRoundAmongLongHolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const holders, turns = 8, 50
		var l writerLock
		var workers sync.WaitGroup
		taken := 0
		for range holders {
			workers.Go(func() {
				for range turns {
					before := l.word.Load() >> heldBits
					ok(t, l.lock(t.Context(), heldByTx))
					if others := l.word.Load()>>heldBits - before - 1; others > 2*holders {
						t.Errorf("%d others came first", others)
					}
					taken++
					<-time.After(10 * patience)
					l.unlock()
				}
			})
		}
		workers.Wait()
		if taken != holders*turns {
			t.Errorf("taken %d times", taken)
		}
		wantUnused(t, &l)
	})
}

func TestWriterLock_tellsHowManyCameFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l writerLock
		ok(t, l.lock(t.Context(), heldByTx))
		w := &waiter{changed: make(chan struct{}, 1), since: time.Now()}
		first := l.word.Load()
		l.join(w)
		for range 3 {
			l.unlock()
			ok(t, l.lock(t.Context(), heldByJob))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := l.leave(w, l.cancelled(ctx, time.Second, first))
		if !strings.Contains(err.Error(), "which background work holds after 3 others") {
			t.Error(err)
		}
		l.unlock()
		wantUnused(t, &l)
	})
}
