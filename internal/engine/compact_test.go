package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/vfs/faultfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// TestCompact_doesNotWaitForAMergeThatIsToBeTriedAgain compacts during the pause before another
// attempt of a merge.
func TestCompact_doesNotWaitForAMergeThatIsToBeTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failures atomic.Int64
		files, broken := failing(memfs.New(), errBroken, func(op faultfs.Op) bool {
			matches := is(faultfs.Create, tableSuffix)(op)
			if matches {
				failures.Add(1)
			}
			return matches
		})
		const idle = time.Hour
		e := mustOpen(t, files, Options{Tuning: Tuning{IdleAfter: idle, YoungRuns: 100}})
		overlap(t, e, 2)
		broken.Store(true)
		<-time.After(2*idle + retryMin/2) // commits came in during the first pause
		synctest.Wait()
		if failures.Load() != 1 {
			t.Fatalf("%d attempts of a merge have failed, want one", failures.Load())
		}
		broken.Store(false)
		before := time.Now()
		ok(t, e.Compact(context.Background()))
		if waited := time.Since(before); waited > 0 {
			t.Errorf("Compact took %v", waited)
		}
		if s := e.Stats(); s.YoungRuns > 0 || s.Merges != 1 {
			t.Errorf("after Compact: %+v", s)
		}
		wantWords(t, e, "a", "z")
		ok(t, e.Close())
	})
}

func TestCompact_thatWaitsHeedsItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := mustOpen(t, memfs.New(), Options{Tuning: Tuning{IdleAfter: time.Hour, YoungRuns: 100}})
		ok(t, e.takeMerging(t.Context())) // as a merge that takes long
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		before := time.Now()
		if err := e.Compact(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Compact gives %v", err)
		}
		if waited := time.Since(before); waited != time.Minute {
			t.Errorf("Compact took %v", waited)
		}
		overlap(t, e, 2)
		e.giveMerging()
		<-time.After(2 * time.Hour)
		synctest.Wait()
		if s := e.Stats(); s.YoungRuns > 0 || s.Merges != 1 {
			t.Errorf("after Compact gave up: %+v", s)
		}
		ok(t, e.Close())
	})
}
