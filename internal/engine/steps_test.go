package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

const (
	steppedValues = 300
	valuesSuffix  = ".values"
)

// inSteps are calm options with which large values are rewritten in many steps.
func inSteps() Options {
	o := calm()
	o.ValueThreshold = 1000
	o.Tuning.ValueBytes, o.Tuning.Garbage = 32<<10, 32<<10
	return o
}

// steppedValue returns a value that does not compress.
func steppedValue(i int) string {
	value := make([]byte, 4<<10)
	_, _ = rand.NewChaCha8([32]byte{byte(i), byte(i >> 8)}).Read(value) // which always succeeds
	return string(value)
}

// scattered returns the disk of a closed database whose values are in log segments, and in no
// order, except if it is compacted. Of three values, two are then deleted if some are.
func scattered(t testing.TB, compacts, deletes bool) *memfs.FS {
	t.Helper()
	disk := memfs.New()
	e := mustOpen(t, disk, inSteps())
	for n, i := range rand.Perm(steppedValues) {
		ok(t, tryCommit(e, dataKey("%04d", i), []byte(steppedValue(i))))
		if n%(steppedValues/10) == 0 {
			ok(t, e.Flush())
		}
	}
	if compacts {
		ok(t, e.Compact(t.Context()))
	}
	w, err := e.Begin()
	ok(t, err)
	for i := range steppedValues {
		if deletes && i%3 > 0 {
			ok(t, w.Delete(dataKey("%04d", i)))
		}
	}
	ok(t, w.Commit())
	ok(t, e.Close())
	return disk
}

// wantStepped checks the values of a database, of which two of three may be deleted.
func wantStepped(t testing.TB, e *Engine, deleted bool) {
	t.Helper()
	for i := range steppedValues {
		value, found := get(t, e, dataKey("%04d", i))
		if want := !deleted || i%3 == 0; found != want || want && value != steppedValue(i) {
			t.Fatalf("value %d of %d bytes is there: %v", i, len(value), found)
		}
	}
	ok(t, e.Check(t.Context(), true))
}

// ending is a hook that calls end before the file of the given index is made, of those with values
// in the order of their keys.
func ending(at int64, end func()) func(faultfs.Op) error {
	made := new(atomic.Int64)
	return func(op faultfs.Op) error {
		if is(faultfs.Create, valuesSuffix)(op) && made.Add(1) == at {
			end()
		}
		return nil
	}
}

// briefly opens a database that compacts, and closes it before a compaction makes its third value
// file, or when nothing is left to do. It reports which.
func briefly(t testing.TB, disk *memfs.FS) (done bool) {
	t.Helper()
	reached, closing, rests := make(chan struct{}), make(chan struct{}), make(chan struct{})
	o := inSteps()
	o.Tuning.IdleAfter = time.Nanosecond
	e := mustOpen(t, faultfs.New(disk, ending(3, func() { close(reached); <-closing })), o)
	go func() {
		defer close(rests)
		waitFor(e, func() bool { return e.closed.Load() || !e.mu.compacting && !e.mu.flushing })
	}()
	select {
	case <-reached:
	case <-rests:
		done = true
	}
	closed := make(chan error, 1)
	go func() { closed <- e.Close() }()
	waitFor(e, e.closed.Load)
	close(closing)
	ok(t, <-closed)
	<-rests
	return done
}

// A database that is never open for long is tidied, too.
func TestCompaction_ofValuesGoesOnInTheNextSession(t *testing.T) {
	const most = steppedValues * 4 / 32 // what is done in a session is no less than a file
	for name, garbage := range map[string]bool{"garbage": true, "values out of order": false} {
		t.Run(name, func(t *testing.T) {
			disk := scattered(t, garbage, garbage)
			sessions := 1
			for ; !briefly(t, disk); sessions++ {
				if sessions > most {
					t.Fatalf("it is not done after %d sessions", sessions)
				}
			}
			e := mustOpen(t, disk, Options{ReadOnly: true})
			wantStepped(t, e, garbage)
			size, live, logs := e.Stats().ValueFileBytes, uint64(steppedValues*4<<10), uint64(0)
			if garbage {
				live /= 3
			}
			for _, f := range e.Version().ValueFiles {
				if f.Log {
					logs += f.Live
				}
			}
			t.Logf("%d sessions, %d bytes, %d of %d in the log", sessions, size, logs, live)
			if sessions < 3 || size > live*3/2 || logs > live/4 {
				t.Errorf("after %d sessions, %d bytes take %d, and %d are in the log", sessions, live,
					size, logs)
			}
			ok(t, e.Close())
		})
	}
}

func TestCompact_thatIsEndedAgainAndAgainComesToItsEnd(t *testing.T) {
	for _, deletes := range []bool{false, true} {
		disk := scattered(t, false, deletes)
		var end context.CancelFunc
		for calls, err := 1, error(context.Canceled); err != nil; calls++ {
			ctx, cancel := context.WithCancel(t.Context())
			end = cancel
			e := mustOpen(t, faultfs.New(disk, ending(3, func() { end() })), inSteps())
			if err = e.Compact(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			cancel()
			if wantStepped(t, e, deletes); calls > steppedValues*4/32 {
				t.Fatalf("the end is not there after %d calls", calls)
			}
			ok(t, e.Close())
		}
		if logs := named(t, disk, ".log"); len(logs) > 0 {
			t.Errorf("log segments %v are left", logs)
		}
	}
}
