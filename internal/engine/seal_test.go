package engine

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// tiny is calm options with which each commit has a memtable of its own.
func tiny() Options {
	o := calm()
	o.Tuning.MemtableBytes = 1
	return o
}

func TestBegin_sealsAFullMemtable(t *testing.T) {
	disk := memfs.NewCrashable()
	e := mustOpen(t, unflushed(disk), tiny())
	mustCommit(t, e, "a", "b", "c")
	if logs := named(t, disk, ".log"); len(logs) != 3 {
		t.Errorf("logs %v, want one for each memtable", logs)
	}
	s, err := e.Snapshot(0)
	ok(t, err)
	if s.Mem.Len() != 1 || len(s.Sealed) != 2 {
		t.Errorf("%d entries in the memtable and %d sealed ones", s.Mem.Len(), len(s.Sealed))
	}
	wantWords(t, e, "a", "b", "c")
	wantWords(t, mustOpen(t, disk.CrashKeepNone(), calm()), "a", "b", "c")
}

func TestSeal_keepsWhatIsNewerAboveWhatIsOlder(t *testing.T) {
	disk := memfs.NewCrashable()
	e := mustOpen(t, unflushed(disk), tiny())
	for i := range maxSealed {
		ok(t, tryCommit(e, dataKey("key"), fmt.Append(nil, i)))
	}
	mustCommit(t, e, "other")
	newest := fmt.Sprint(maxSealed - 1)
	wantWords(t, e, newest, "other")
	again := mustOpen(t, disk.CrashKeepNone(), calm())
	wantWords(t, again, newest, "other")
	ok(t, again.Flush())
	wantWords(t, again, newest, "other")
}

func TestSeal_makesCommitsDurableThatWereNot(t *testing.T) {
	disk := memfs.NewCrashable()
	o := tiny()
	o.NoSync = true
	e := mustOpen(t, unflushed(disk), o)
	mustCommit(t, e, "a", "b", "c")
	wantWords(t, mustOpen(t, disk.CrashKeepNone(), calm()), "a", "b")
}

func TestSync_makesCommitsDurableThatWereNot(t *testing.T) {
	disk := memfs.NewCrashable()
	o := calm()
	o.NoSync = true
	e := mustOpen(t, disk, o)
	mustCommit(t, e, "a", "b")
	ok(t, e.Sync())
	wantWords(t, mustOpen(t, disk.CrashKeepNone(), calm()), "a", "b")
}

func TestBegin_tellsWhyThereIsNoRoom(t *testing.T) {
	files, broken := failing(memfs.New(), errBroken, is(faultfs.Create, tableSuffix))
	e := mustOpen(t, files, tiny())
	broken.Store(true)
	var err error
	for n := 0; err == nil; n++ {
		if err = tryCommit(e, dataKey("%d", n), []byte("x")); n > maxSealed+1 {
			t.Fatalf("%d memtables are sealed, at most %d are to be", n, maxSealed)
		}
	}
	if !errors.Is(err, errBroken) || errors.Is(err, ErrPoisoned) {
		t.Errorf("a writer without room gets %v, want the flush's error", err)
	}
	broken.Store(false)
	waitFor(e, func() bool { return len(e.mu.sealed) == 0 })
	mustCommit(t, e, "y")
}

func TestMemtables_takeNoMoreThanHalfOfTheLimitBeforeTheirFlush(t *testing.T) {
	const limit, commitBytes, chunks = 16 << 20, 128 << 10, 2 << 20 // of two arenas, begun
	files, broken := failing(memfs.New(), errBroken, is(faultfs.Create, tableSuffix))
	o := calm()
	o.MemoryLimit = limit
	e := mustOpen(t, files, o)
	broken.Store(true)
	var err error
	var most int64
	for n := 0; err == nil; n++ {
		most = max(most, e.Stats().MemtableBytes)
		if most > limit/2+chunks {
			t.Fatalf("memtables take %d bytes of %d", most, limit)
		}
		err = tryCommit(e, dataKey("%d", n), make([]byte, commitBytes))
	}
	if most < limit/2-chunks {
		t.Errorf("a commit fails when memtables take %d bytes of %d: %v", most, limit, err)
	}
}

func TestFlush_leavesNothingInMemory(t *testing.T) {
	disk := memfs.NewCrashable()
	e := mustOpen(t, disk, calm())
	mustCommit(t, e, "a", "b")
	ok(t, e.Flush())
	ok(t, e.Flush())
	if s := e.Stats(); s.Flushes != 1 || s.MemtableBytes != 0 || s.Tables != 1 {
		t.Errorf("after the flush: %+v", s)
	}
	waitFor(e, func() bool { return true })
	if logs := named(t, disk, ".log"); len(logs) > 0 {
		t.Errorf("%v are left", logs)
	}
	wantWords(t, e, "a", "b")
	wantWords(t, mustOpen(t, disk.CrashKeepNone(), calm()), "a", "b")
}

func TestFlush_afterTroubleIsTriedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files, broken := failing(memfs.New(), errBroken, is(faultfs.Create, tableSuffix))
		e := mustOpen(t, files, calm())
		mustCommit(t, e, "a")
		broken.Store(true)
		for range 5 { // the pauses grow
			if err := e.Flush(); !errors.Is(err, errBroken) {
				t.Errorf("Flush gives %v", err)
			}
		}
		broken.Store(false)
		start := time.Now()
		ok(t, e.Flush())
		if waited := time.Since(start); waited > 0 {
			t.Errorf("Flush waited %v for the next attempt", waited)
		}
		ok(t, e.Close())
	})
}

func TestSeal_forgetsALogOfRollbacks(t *testing.T) {
	disk := memfs.New()
	o := calm()
	o.Tuning.MemtableBytes = 4 * streamBytes
	e := mustOpen(t, disk, o)
	for range 20 {
		writeLarge(t, e).Rollback()
		if bytes := e.logBytes(); bytes > 2*rolledBackShare*o.Tuning.MemtableBytes {
			t.Fatalf("the log has %d bytes, none of them of a commit", bytes)
		}
	}
	if logs := named(t, disk, ".log"); len(logs) > 1 {
		t.Errorf("logs %v, want one", logs)
	}
	mustCommit(t, e, "a")
	writeLarge(t, e).Rollback()
	mustCommit(t, e, "b")
	ok(t, e.Close())
	wantWords(t, mustOpen(t, disk, calm()), "a", "b")
}

func TestSeal_goesOnIfTheLogCannotBeTrimmed(t *testing.T) {
	disk := memfs.NewCrashable()
	e := mustOpen(t, faultfs.New(disk, func(op faultfs.Op) error {
		if is(faultfs.Truncate, ".log")(op) {
			return errBroken
		}
		return nil
	}), calm())
	mustCommit(t, e, "a")
	ok(t, e.Flush())
	mustCommit(t, e, "b")
	wantWords(t, e, "a", "b")
	wantWords(t, mustOpen(t, disk.CrashKeepNone(), calm()), "a", "b")
}
