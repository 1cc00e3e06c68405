package engine

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// overlap flushes tables that overlap, so that n young runs lie over the bottom run.
func overlap(t testing.TB, e *Engine, n int) {
	t.Helper()
	for range n + 1 {
		mustCommit(t, e, "a", "z")
		ok(t, e.Flush())
	}
}

// flushEntries flushes a table of n entries whose values do not compress.
func flushEntries(t testing.TB, e *Engine, n int) {
	t.Helper()
	w, err := e.Begin()
	ok(t, err)
	for i := range n {
		value := fmt.Appendf(nil, "%x", uint64(i)*0x9E3779B97F4A7C15)
		ok(t, w.Put(dataKey("k%06d", i), value, 0))
	}
	ok(t, w.Commit())
	ok(t, e.Flush())
}

// slowTables returns files that take their time to sync a table while slow is set.
func slowTables(delay time.Duration) (files *faultfs.FS, slow *atomic.Bool) {
	slow = new(atomic.Bool)
	return faultfs.New(memfs.New(), func(op faultfs.Op) error {
		if slow.Load() && is(faultfs.Sync, tableSuffix)(op) {
			<-time.After(delay)
		}
		return nil
	}), slow
}

// settled reports whether no young run is left.
func (e *Engine) settled() bool { return len(e.state.Load().Levels.Young) == 0 }

func TestCompaction_tidiesUpAfterCommitsStop(t *testing.T) {
	disk := memfs.NewCrashable()
	e := mustOpen(t, disk, Options{Tuning: Tuning{IdleAfter: time.Microsecond, YoungRuns: 100}})
	overlap(t, e, 2)
	waitFor(e, e.settled)
	if tables := named(t, disk, tableSuffix); len(tables) != 1 {
		t.Errorf("tables %v, want one", tables)
	}
	wantWords(t, e, "a", "z")
	wantWords(t, mustOpen(t, disk.CrashKeepNone(), calm()), "a", "z")
}

func TestCompaction_thatTidiesUpWaitsForAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const idle = time.Minute
		disk := memfs.New()
		e := mustOpen(t, disk, Options{Tuning: Tuning{IdleAfter: idle, YoungRuns: 100}})
		overlap(t, e, 2)
		for range 5 {
			<-time.After(idle / 2)
			mustCommit(t, e, "b")
			synctest.Wait()
			if e.Stats().Merges > 0 {
				t.Fatal("a compaction did not wait although there were commits")
			}
		}
		<-time.After(2*idle + 1)
		synctest.Wait()
		if s := e.Stats(); s.Merges != 1 || s.YoungRuns != 0 {
			t.Errorf("after a pause: %+v", s)
		}
		ok(t, e.Close())
	})
}

func TestCompaction_thatTidiesUpDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const idle = time.Minute
		o := Options{Tuning: Tuning{IdleAfter: idle, RestAfter: 10 * time.Hour, YoungRuns: 100}}
		e := mustOpen(t, memfs.New(), o)
		overlap(t, e, 2)
		for range 2*maxWaits + 4 {
			<-time.After(idle / 2)
			mustCommit(t, e, "b")
		}
		synctest.Wait()
		if s := e.Stats(); s.Merges != 1 || s.YoungRuns != 0 {
			t.Errorf("commits that trickle in keep a compaction from being done: %+v", s)
		}
		ok(t, e.Close())
	})
}

// Commits come in faster than a compaction is done, but not so fast that there is no pause to begin
// it.
func TestCompaction_thatTidiesUpIsNotCancelledForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const idle = time.Minute
		files, slow := slowTables(idle * 5 / 2)
		o := Options{Tuning: Tuning{IdleAfter: idle, RestAfter: 10 * time.Hour, YoungRuns: 100}}
		o.Tuning.TableBytes, o.Tuning.SampleBytes = 1<<10, 1
		e := mustOpen(t, files, o)
		for range 2 {
			flushEntries(t, e, 1000)
		}
		slow.Store(true)
		for range maxWaits {
			<-time.After(3 * idle)
			mustCommit(t, e, "b")
		}
		s := e.Stats()
		if s.Merges != 1 || s.YoungRuns != 0 || s.MergedBytes > 5*s.TableBytes {
			t.Errorf("commits keep cancelling a compaction: %+v", s)
		}
		ok(t, e.Close())
	})
}

// Commits pause because they wait for flushes, not because the program does.
func TestCompaction_thatTidiesUpDoesNotBeginWhileAWriterWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const idle = time.Minute
		files, slow := slowTables(10 * idle)
		o := Options{Tuning: Tuning{IdleAfter: idle, RestAfter: 10 * time.Hour, YoungRuns: 100}}
		o.Tuning.MemtableBytes, o.Tuning.SpillBytes = 1, 1<<20
		e := mustOpen(t, files, o)
		overlap(t, e, 2)
		slow.Store(true)
		e.options.MemoryLimit = 1 // the next memtable has room once all others are flushed
		for range 6 {
			mustCommit(t, e, "b")
		}
		if s := e.Stats(); s.Flushes < 8 || s.MergedBytes > 0 {
			t.Errorf("a compaction did not wait for a pause: %+v", s)
		}
		slow.Store(false)
		<-time.After(time.Hour)
		if s := e.Stats(); s.Merges == 0 || s.YoungRuns != 0 {
			t.Errorf("after a pause: %+v", s)
		}
		ok(t, e.Close())
	})
}

// Pauses are long enough to begin a compaction, and too short to finish it.
func TestCompaction_thatGaveWayWaitsForALongerPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const idle = time.Minute
		files, slow := slowTables(idle / 100)
		o := Options{Tuning: Tuning{IdleAfter: idle, RestAfter: 10 * time.Hour, YoungRuns: 100}}
		o.Tuning.TableBytes, o.Tuning.SampleBytes = 1<<10, 1
		e := mustOpen(t, files, o)
		for range 2 {
			flushEntries(t, e, 20_000)
		}
		slow.Store(true)
		for range maxWaits {
			<-time.After(2 * idle)
			mustCommit(t, e, "b")
		}
		s := e.Stats()
		if s.Merges != 1 || s.YoungRuns != 0 || s.MergedBytes > 2*s.TableBytes {
			t.Errorf("compactions that commits end are begun again and again: %+v", s)
		}
		ok(t, e.Close())
	})
}

func TestCompaction_ofManyRunsNeedsNoPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const idle = time.Minute
		e := mustOpen(t, memfs.New(), Options{Tuning: Tuning{IdleAfter: idle, YoungRuns: 2}})
		overlap(t, e, 2)
		for range 5 {
			<-time.After(idle / 2)
			mustCommit(t, e, "b")
		}
		synctest.Wait()
		if s := e.Stats(); s.Merges == 0 || s.YoungRuns > 0 {
			t.Errorf("there was no pause: %+v", s)
		}
		wantWords(t, e, "a", "b", "z")
		ok(t, e.Close())
	})
}

func TestCompaction_thatIsDueDoesNotWaitForAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := mustOpen(t, memfs.New(), Options{Tuning: Tuning{IdleAfter: time.Hour, YoungRuns: 2}})
		start := time.Now()
		for _, word := range []string{"b", "a", "c"} {
			mustCommit(t, e, "a", "c", word)
			ok(t, e.Flush())
			synctest.Wait()
		}
		if s := e.Stats(); s.Merges == 0 || time.Since(start) > time.Second {
			t.Errorf("after %v: %+v", time.Since(start), s)
		}
		ok(t, e.Close())
	})
}

func TestCompaction_atOpenTidiesUpWhatWasLeft(t *testing.T) {
	disk := killed(t)
	e := mustOpen(t, disk, Options{Tuning: Tuning{IdleAfter: time.Microsecond}})
	waitFor(e, func() bool { return e.settled() && len(e.mu.sealed) == 0 })
	if logs := named(t, disk, ".log"); len(logs) > 0 {
		t.Errorf("%v are left", logs)
	}
	wantWords(t, e, allWords...)
}

// TestFlush_thatFailsIsTriedAgain fails the first two flushes at each operation on tables.
func TestFlush_thatFailsIsTriedAgain(t *testing.T) {
	for _, kind := range []faultfs.Kind{faultfs.Create, faultfs.WriteAt, faultfs.Sync} {
		synctest.Test(t, func(t *testing.T) {
			disk := memfs.NewCrashable()
			var failures atomic.Int64
			files := faultfs.New(disk, func(op faultfs.Op) error {
				if is(kind, tableSuffix)(op) && failures.Add(1) <= 2 {
					return errBroken
				}
				return nil
			})
			e := mustOpen(t, files, calm())
			mustCommit(t, e, "a")
			err := e.Flush()
			if !errors.Is(err, errBroken) || errors.Is(err, ErrPoisoned) {
				t.Errorf("the failed %v gives %v", kind, err)
			}
			mustCommit(t, e, "b")
			if tables := named(t, disk, tableSuffix); len(tables) > 0 {
				t.Errorf("after the failed %v %v are left", kind, tables)
			}
			waitFor(e, func() bool { return len(e.mu.sealed) == 0 })
			if got := e.Stats().Flushes; failures.Load() < 3 || got != 1 {
				t.Errorf("%d flushes after %d attempts", got, failures.Load())
			}
			ok(t, e.Flush())
			wantWords(t, mustOpen(t, disk.CrashKeepNone(), calm()), "a", "b")
			ok(t, e.Close())
		})
	}
}

func TestCompaction_thatFailsIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memfs.NewCrashable()
		files, broken := failing(disk, errBroken, is(faultfs.Sync, tableSuffix))
		e := mustOpen(t, files, Options{Tuning: Tuning{IdleAfter: time.Hour, YoungRuns: 100}})
		overlap(t, e, 2)
		before := named(t, disk, tableSuffix)
		broken.Store(true)
		<-time.After(2 * time.Hour)
		synctest.Wait()
		if after := named(t, disk, tableSuffix); !slices.Equal(after, before) {
			t.Errorf("after a failed compaction the tables are %v, before it %v", after, before)
		}
		wantWords(t, e, "a", "z")
		mustCommit(t, e, "b")
		broken.Store(false)
		waitFor(e, e.settled)
		wantWords(t, e, "a", "b", "z")
		ok(t, e.Close())
	})
}

// TestCompaction_thatFailsIsNotTriedAtEveryFlush flushes more than should wait for a compaction,
// during the pause before that is tried again.
func TestCompaction_thatFailsIsNotTriedAtEveryFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files, broken := failing(memfs.New(), errBroken, is(faultfs.Open, tableSuffix))
		broken.Store(true)
		var logged bytes.Buffer
		attempts := func() int {
			return strings.Count(logged.String(), "compaction will be tried again")
		}
		e := mustOpen(t, files, Options{
			Logger: slog.New(slog.NewTextHandler(&logged, nil)),
			Tuning: Tuning{IdleAfter: time.Hour, YoungRuns: 2},
		})
		overlap(t, e, 3)
		synctest.Wait()
		before := attempts()
		for range 3 {
			overlap(t, e, 0)
			synctest.Wait()
		}
		if after := attempts(); before == 0 || after != before {
			t.Errorf("%d attempts before the flushes, %d after", before, after)
		}
		ok(t, e.Close())
	})
}

func TestCompaction_keepsSnapshotsReadable(t *testing.T) {
	disk := memfs.New()
	e := mustOpen(t, disk, Options{Tuning: Tuning{IdleAfter: time.Microsecond, YoungRuns: 100}})
	const rounds = 10
	for i := range rounds {
		for _, key := range []string{"a", "z"} {
			ok(t, tryCommit(e, dataKey("%s", key), fmt.Appendf(nil, "%s%d", key, i)))
		}
		ok(t, e.Flush())
		snapshot, err := e.Snapshot(0)
		ok(t, err)
		waitFor(e, e.settled)
		want := fmt.Sprintf("a%d,z%d", i, i)
		if got := strings.Join(wordsIn(t, snapshot), ","); got != want {
			t.Errorf("the snapshot has %s, want %s", got, want)
		}
	}
	if tables := named(t, disk, tableSuffix); len(tables) != 1 {
		t.Errorf("tables %v, want one", tables)
	}
}

// TestClose_endsAJobThatIsToBeTriedAgain closes during the pause before another attempt.
func TestClose_endsAJobThatIsToBeTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memfs.NewCrashable()
		files, broken := failing(disk, errBroken, is(faultfs.Create, tableSuffix))
		e := mustOpen(t, files, calm())
		mustCommit(t, e, "a")
		broken.Store(true)
		if err := e.Flush(); !errors.Is(err, errBroken) {
			t.Errorf("Flush gives %v", err)
		}
		synctest.Wait()
		broken.Store(false)
		before := time.Now()
		ok(t, e.Close())
		if !time.Now().Equal(before) {
			t.Error("Close waited for the next attempt")
		}
		if logs := named(t, disk, ".log"); len(logs) > 0 {
			t.Errorf("%v are left", logs)
		}
		wantWords(t, mustOpen(t, disk, calm()), "a")
	})
}

func TestOpen_waitsForALock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memfs.New()
		first := mustOpen(t, disk, calm())
		var done sync.WaitGroup
		done.Go(func() {
			o := calm()
			o.LockTimeout = time.Hour
			second, err := Open(disk, "db", o)
			ok(t, err)
			wantWords(t, second, "a")
			ok(t, second.Close())
		})
		<-time.After(time.Minute)
		mustCommit(t, first, "a")
		ok(t, first.Close())
		done.Wait()
	})
}

// An expiry may lie further ahead than a time.Duration can say.
func TestPauseUntil_isNeverTooLong(t *testing.T) {
	const now = 1_000_000_000_000
	for _, c := range []struct {
		at   uint64
		want time.Duration
	}{
		{now - 1, time.Millisecond},
		{now, time.Millisecond},
		{now + 9, 10 * time.Millisecond},
		{uint64(time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()), longestPause},
		{math.MaxInt64, longestPause},
	} {
		if got := pauseUntil(c.at, now); got != c.want {
			t.Errorf("the pause until %d is %v, want %v", c.at, got, c.want)
		}
	}
}
