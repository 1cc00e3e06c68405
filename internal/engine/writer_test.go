package engine

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// largeWords are what writeLarge writes: more than three pieces that are streamed. It is immutable.
var largeWords = func() (words []string) {
	for i := range 16 {
		words = append(words, string(bytes.Repeat([]byte{byte('a' + i)}, streamBytes/5)))
	}
	return words
}()

// writeLarge begins a transaction and writes largeWords in it.
func writeLarge(t testing.TB, e *Engine) *Writer {
	t.Helper()
	w, err := e.Begin()
	ok(t, err)
	for _, word := range largeWords {
		w.Put(dataKey("large %s", word[:1]), []byte(word), 0)
	}
	return w
}

// watched returns a file system, and how to wait until so many bytes were written to logs.
func watched(disk vfs.FS) (files vfs.FS, wait func(bytes int)) {
	var mu sync.Mutex
	var written int
	changed := sync.NewCond(&mu)
	match := is(faultfs.WriteAt, ".log")
	files = faultfs.New(disk, func(op faultfs.Op) error {
		if match(op) {
			mu.Lock()
			defer mu.Unlock()
			written += op.Bytes
			changed.Broadcast()
		}
		return nil
	})
	return files, func(bytes int) {
		mu.Lock()
		defer mu.Unlock()
		for written < bytes {
			changed.Wait()
		}
	}
}

func TestWriter_streamsBeforeItCommits(t *testing.T) {
	disk := memfs.NewCrashable()
	files, wait := watched(disk)
	e := mustOpen(t, files, calm())
	mustCommit(t, e, "first")
	w := writeLarge(t, e)
	wait(streamBytes)
	wantWords(t, e, "first")
	wantWords(t, mustOpen(t, disk.CrashKeepAll(), calm()), "first")
	ok(t, w.Commit())
	want := slices.Insert(slices.Clone(largeWords), 0, "first")
	wantWords(t, e, want...)
	wantWords(t, mustOpen(t, disk.CrashKeepNone(), calm()), want...)
}

func TestWriter_isAtomicWhereverItIsCut(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	disk := memfs.NewCrashable()
	var mu sync.Mutex
	var crashed []*memfs.FS
	files := faultfs.New(disk, func(op faultfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if op.Kind.Mutates() {
			crashed = append(crashed, disk.Crash(rng), disk.CrashKeepAll())
		}
		return nil
	})
	e := mustOpen(t, files, calm())
	mustCommit(t, e, "first")
	crashed = nil
	ok(t, writeLarge(t, e).Commit())
	mu.Lock()
	defer mu.Unlock()
	for _, dead := range crashed {
		e, err := Open(unflushed(dead), "db", calm())
		ok(t, err)
		if n := len(wordsOf(t, e)); n != 1 && n != 1+len(largeWords) {
			t.Errorf("%d values of a transaction with %d are left", n-1, len(largeWords))
		}
		_ = e.Close() // which cannot flush
	}
	if len(crashed) < 8 {
		t.Errorf("%d crashes are too few", len(crashed))
	}
}

func TestWriter_rollsBackWhatItStreamed(t *testing.T) {
	disk := memfs.NewCrashable()
	files, wait := watched(disk)
	e := mustOpen(t, files, calm())
	mustCommit(t, e, "first")
	for range 3 {
		w := writeLarge(t, e)
		wait(streamBytes)
		w.Rollback()
		wantWords(t, e, "first")
	}
	mustCommit(t, e, "later")
	wantWords(t, e, "first", "later")
	for _, dead := range []*memfs.FS{disk.CrashKeepAll(), disk.CrashKeepNone()} {
		wantWords(t, mustOpen(t, dead, calm()), "first", "later")
	}
}

// TestWriter_rollsBackWhatWaitsToBeStreamed holds the writing of the first piece until all of the
// transaction waits behind it.
func TestWriter_rollsBackWhatWaitsToBeStreamed(t *testing.T) {
	disk := memfs.NewCrashable()
	var slow atomic.Bool
	hold, writing := make(chan struct{}), make(chan struct{})
	e := mustOpen(t, faultfs.New(disk, func(op faultfs.Op) error {
		if is(faultfs.WriteAt, ".log")(op) && slow.Swap(false) {
			close(writing)
			<-hold
		}
		return nil
	}), calm())
	mustCommit(t, e, "first")
	w, err := e.Begin()
	ok(t, err)
	slow.Store(true)
	w.Put(dataKey("piece"), make([]byte, streamBytes), 0)
	<-writing
	for _, word := range largeWords {
		w.Put(dataKey("large %s", word[:1]), []byte(word), 0)
	}
	close(hold)
	w.Rollback()
	mustCommit(t, e, "later", "latest")
	wantWords(t, mustOpen(t, disk.CrashKeepNone(), calm()), "first", "later", "latest")
}

// wantNoSpace checks that err is of a full disk and of nothing worse.
func wantNoSpace(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, vfs.ErrNoSpace) || errors.Is(err, ErrPoisoned) {
		t.Errorf("error %v, want ErrNoSpace and not ErrPoisoned", err)
	}
}

func TestCommit_onAFullDiskFailsUntilThereIsSpace(t *testing.T) {
	disk := memfs.NewCrashable()
	quota := faultfs.NewQuota(64 << 10)
	e := mustOpen(t, faultfs.New(disk, quota.Hook), calm())
	mustCommit(t, e, "first")
	for range 3 {
		err := tryCommit(e, dataKey("large"), make([]byte, 128<<10))
		wantNoSpace(t, err)
		wantWords(t, e, "first")
	}
	if n := e.Stats().NoSpace; n != 3 {
		t.Errorf("%d commits count as without space, want 3", n)
	}
	mustCommit(t, e, "small")
	quota.Add(16 << 20)
	large := string(make([]byte, 128<<10))
	ok(t, tryCommit(e, dataKey("large"), []byte(large)))
	for _, dead := range []*memfs.FS{disk.CrashKeepAll(), disk.CrashKeepNone()} {
		wantWords(t, mustOpen(t, dead, calm()), "first", large, "small")
	}
}

func TestCommit_withNoSpaceForALogFailsUntilThereIs(t *testing.T) {
	quota := faultfs.NewQuota(1 << 20)
	disk := memfs.NewCrashable()
	e := mustOpen(t, faultfs.New(disk, quota.Hook), calm())
	quota.Add(-1 << 30)
	wantNoSpace(t, tryCommit(e, dataKey("a"), nil))
	if logs := named(t, disk, ".log"); len(logs) > 0 {
		t.Errorf("%v are left of a commit that failed", logs)
	}
	quota.Add(1 << 30)
	mustCommit(t, e, "b")
	wantWords(t, mustOpen(t, disk.CrashKeepNone(), calm()), "b")
}

func TestWriter_onAFullDiskUndoesWhatItStreamed(t *testing.T) {
	disk := memfs.NewCrashable()
	quota := faultfs.NewQuota(3 * streamBytes)
	e := mustOpen(t, faultfs.New(disk, quota.Hook), calm())
	mustCommit(t, e, "first")
	w := writeLarge(t, e)
	if !w.streamed {
		t.Error("nothing was streamed, so that nothing is tested")
	}
	wantNoSpace(t, w.Commit())
	if n := e.Stats().NoSpace; n != 1 {
		t.Errorf("%d commits count as without space, want 1", n)
	}
	wantWords(t, e, "first")
	quota.Add(64 << 20)
	mustCommit(t, e, "later")
	wantWords(t, mustOpen(t, disk.CrashKeepNone(), calm()), "first", "later")
	ok(t, writeLarge(t, e).Commit())
	want := slices.Concat([]string{"first"}, largeWords, []string{"later"})
	wantWords(t, mustOpen(t, disk.CrashKeepNone(), calm()), want...)
}
