package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/model"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// TestCompact_doesNotWaitForACompactionThatIsToBeTriedAgain compacts during the pause before
// another attempt of a compaction.
func TestCompact_doesNotWaitForACompactionThatIsToBeTriedAgain(t *testing.T) {
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
			t.Fatalf("%d attempts of a compaction have failed, want one", failures.Load())
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

// What lies in a gap is moved by other compactions.
func TestCompact_leavesOutWhatHasExpired(t *testing.T) {
	clock := model.NewClock()
	o := calm()
	o.Tuning.Now = clock.Now
	o.Tuning.TableBytes = 800 // so that no table is small
	e := mustOpen(t, memfs.New(), o)
	mustCommit(t, e, "a", "z")
	ok(t, e.Flush())
	w, err := e.Begin()
	ok(t, err)
	for i, word := range ascendingWords("k", 100) {
		after := 100 * time.Hour
		if i == 0 {
			after = time.Hour
		}
		ok(t, w.Put(dataKey("%s", word), []byte(word), w.After(after)))
	}
	ok(t, w.Commit())
	ok(t, e.Flush())
	clock.Advance(2 * time.Hour)
	ok(t, e.Compact(t.Context()))
	entries := uint64(0)
	for table := range e.state.Load().Levels.Version.Tables() {
		entries += table.Entries
	}
	if entries != 101 {
		t.Errorf("the tables have %d entries, want 101", entries)
	}
	ok(t, e.Close())
}

func TestCompact_joinsSmallTables(t *testing.T) {
	e := mustOpen(t, memfs.New(), calm())
	words := ascendingWords("k", 3)
	for _, word := range words {
		mustCommit(t, e, word)
		ok(t, e.Flush())
	}
	if n := len(e.state.Load().Levels.Version.Bottom.Tables); n != 3 {
		t.Fatalf("there are %d tables, so that nothing is tested", n)
	}
	ok(t, e.Compact(t.Context()))
	if n := len(e.state.Load().Levels.Version.Bottom.Tables); n != 1 {
		t.Errorf("%d tables are left", n)
	}
	merges := e.Stats().Merges
	ok(t, e.Compact(t.Context()))
	if again := e.Stats().Merges; again != merges {
		t.Errorf("once more there are %d compactions", again-merges)
	}
	wantWords(t, e, words...)
	ok(t, e.Close())
}

func TestCompact_thatWaitsHeedsItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := mustOpen(t, memfs.New(), Options{Tuning: Tuning{IdleAfter: time.Hour, YoungRuns: 100}})
		ok(t, e.takeCompacting(t.Context())) // as a compaction that takes long
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
		e.releaseCompacting()
		<-time.After(2 * time.Hour)
		synctest.Wait()
		if s := e.Stats(); s.YoungRuns > 0 || s.Merges != 1 {
			t.Errorf("after Compact gave up: %+v", s)
		}
		ok(t, e.Close())
	})
}
