package engine

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// moments notes when tables were created.
type moments struct {
	mu sync.Mutex
	at []time.Time
}

// all returns the moments so far.
func (m *moments) all() []time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.at)
}

// noted returns a file system whose tables are noted. Creating one fails as long as fails says so,
// which is given its number, from 1 on.
func noted(fails func(n int) bool) (files vfs.FS, m *moments) {
	m = new(moments)
	return faultfs.New(memfs.New(), func(op faultfs.Op) error {
		if !is(faultfs.Create, tableSuffix)(op) {
			return nil
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.at = append(m.at, time.Now())
		if fails(len(m.at)) {
			return errBroken
		}
		return nil
	}), m
}

func never(int) bool { return false }

func TestFlush_thatFailsIsTriedAgainAfterEverLongerPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const failures = 9
		files, created := noted(func(n int) bool { return n <= failures })
		o := calm()
		o.Tuning.RestBytes = 1
		e := mustOpen(t, files, o)
		mustCommit(t, e, "a")
		<-time.After(time.Hour)
		synctest.Wait()
		want := []time.Duration{
			retryMin, 2 * retryMin, 4 * retryMin, 8 * retryMin, 16 * retryMin, 32 * retryMin,
			retryMax, retryMax, retryMax,
		}
		at := created.all()
		var got []time.Duration
		for i := 1; i < len(at); i++ {
			got = append(got, at[i].Sub(at[i-1]))
		}
		if !slices.Equal(got, want) {
			t.Errorf("the pauses are %v, want %v", got, want)
		}
		if n := e.Stats().Flushes; n != 1 {
			t.Errorf("%d flushes in the end", n)
		}
		ok(t, e.Close())
	})
}

func TestRest_comesSoonAfterTheLastCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files, created := noted(never)
		o := calm()
		o.Tuning.RestBytes, o.Tuning.RestAfter = 1, time.Minute
		e := mustOpen(t, files, o)
		for range 100 {
			mustCommit(t, e, "a")
			<-time.After(7 * time.Second)
		}
		last := time.Now()
		mustCommit(t, e, "b")
		<-time.After(time.Hour)
		synctest.Wait()
		at := created.all()
		if len(at) != 1 {
			t.Fatalf("%d tables, want one", len(at))
		}
		if d := at[0].Sub(last); d < time.Minute || d > 2*time.Minute {
			t.Errorf("flushed %v after the last commit", d)
		}
		ok(t, e.Close())
	})
}

func TestCompaction_thatTidiesUpComesSoonAfterTheLastCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const idle = time.Minute
		files, created := noted(never)
		e := mustOpen(t, files, Options{Tuning: Tuning{IdleAfter: idle, YoungRuns: 100}})
		overlap(t, e, 2)
		<-time.After(idle / 3)
		last := time.Now()
		mustCommit(t, e, "b")
		flushed := len(created.all())
		<-time.After(time.Hour)
		synctest.Wait()
		at := created.all()
		if len(at) != flushed+1 {
			t.Fatalf("%d tables after %d that were flushed", len(at), flushed)
		}
		if d := at[flushed].Sub(last); d < idle || d > 2*idle {
			t.Errorf("compacted %v after the last commit", d)
		}
		ok(t, e.Close())
	})
}

func TestOpen_waitsForALockAsLongAsItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memfs.New()
		first := mustOpen(t, disk, calm())
		for _, timeout := range []time.Duration{0, time.Minute} {
			o := calm()
			o.LockTimeout = timeout
			start := time.Now()
			if _, err := Open(disk, "db", o); !errors.Is(err, vfs.ErrLocked) {
				t.Errorf("error %v, want ErrLocked", err)
			}
			if d := time.Since(start); d < timeout || d > timeout+lockRetry {
				t.Errorf("gave up after %v, want %v", d, timeout)
			}
		}
		start := time.Now()
		go func() {
			<-time.After(time.Second)
			ok(t, first.Close())
		}()
		o := calm()
		o.LockTimeout = time.Minute
		second := mustOpen(t, disk, o)
		if d := time.Since(start); d > time.Second+lockRetry {
			t.Errorf("opened %v after the lock was free", d-time.Second)
		}
		ok(t, second.Close())
	})
}

// TestWriter_thatHasReadWaitsForIt has a transaction read what another one has committed, while the
// disk still works on that: whatever it tells of it must not be taken back by a crash, nor be
// missing for the next reader.
func TestWriter_thatHasReadWaitsForIt(t *testing.T) {
	ends := map[string]func(w *Writer) error{
		"Commit of nothing": (*Writer).Commit,
		"Rollback":          func(w *Writer) error { w.Rollback(); return nil },
	}
	for name, end := range ends {
		synctest.Test(t, func(t *testing.T) {
			disk := memfs.NewCrashable()
			var slow chan struct{}
			files := faultfs.New(disk, func(op faultfs.Op) error {
				if slow != nil && is(faultfs.Sync, ".log")(op) {
					<-slow
				}
				return nil
			})
			e := mustOpen(t, files, calm())
			mustCommit(t, e, "a")
			slow = make(chan struct{})
			go func() { mustCommit(t, e, "b") }()
			synctest.Wait()
			w, err := e.Begin()
			ok(t, err)
			if has, err := w.Has(dataKey("b"), new(superversion.Lookups)); !has || err != nil {
				t.Fatalf("a writer sees the newest commit: %v, %v", has, err)
			}
			ended := false
			go func() { ok(t, end(w)); ended = true }()
			synctest.Wait()
			if ended {
				t.Errorf("%s returns before what it has read is durable", name)
			}
			close(slow)
			synctest.Wait()
			if !ended {
				t.Errorf("%s does not return", name)
			}
			wantWords(t, e, "a", "b")
			wantWords(t, mustOpen(t, disk.CrashKeepNone(), calm()), "a", "b")
			ok(t, e.Close())
		})
	}
}
