package engine

import (
	"encoding/binary"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// withDropped returns an engine whose memtable drops so many buckets, none beside another, of which
// tables have a key each, and each of which has another within it.
func withDropped(t *testing.T, buckets int) *Engine {
	t.Helper()
	e := mustOpen(t, memfs.New(), calm())
	change := func(fn func(w *Writer, id uint64) error) {
		w, err := e.Begin()
		ok(t, err)
		for i := range buckets {
			ok(t, fn(w, uint64(100+4*i)))
		}
		ok(t, w.Commit())
	}
	change(func(w *Writer, id uint64) error {
		child := keyspace.AppendCatalog(nil, id)
		return w.Put(append(child, "in"...), binary.AppendUvarint(nil, id+2), 0)
	})
	ok(t, e.Flush())
	change(func(w *Writer, id uint64) error { return w.Put(keyspace.AppendDropped(nil, id), nil, 0) })
	return e
}

// allocated returns how many bytes fn allocates.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestStats_costGrowsNoFasterThanDroppedBuckets(t *testing.T) {
	const few, more = 300, 8
	var bytes [2]uint64
	for i, buckets := range []int{few, more * few} {
		e := withDropped(t, buckets)
		if n := e.Stats().DroppedRuns; n != 2*buckets {
			t.Errorf("%d buckets are dropped, want %d", n, 2*buckets)
		}
		bytes[i] = allocated(func() { e.Stats() })
		ok(t, e.Close())
	}
	if bytes[1] > 2*more*bytes[0] {
		t.Errorf("%d times the buckets take %d bytes instead of %d", more, bytes[1], bytes[0])
	}
}

func TestStats_countNoBucketThatWasMovedOutOfADroppedOne(t *testing.T) {
	const child = 8
	disk := memfs.NewCrashable()
	in := append(keyspace.AppendCatalog(nil, doomed), "in"...)
	e := mustOpen(t, disk, calm())
	ok(t, tryCommit(e, catalogKeyOf(doomed), binary.AppendUvarint(nil, doomed)))
	ok(t, tryCommit(e, in, binary.AppendUvarint(nil, child)))
	ok(t, e.Close())
	e = mustOpen(t, unflushed(disk), tiny())
	w, err := e.Begin()
	ok(t, err)
	ok(t, w.Delete(in))
	ok(t, w.Put(catalogKeyOf(child), binary.AppendUvarint(nil, child), 0))
	ok(t, w.Commit())
	w, err = e.Begin() // which seals that
	ok(t, err)
	ok(t, deletesAtOnce["a bucket"](w))
	ok(t, w.Commit())
	if s := e.state.Load(); len(s.Sealed) != 1 {
		t.Fatalf("%d memtables are sealed", len(s.Sealed))
	}
	if n := e.Stats().DroppedRuns; n != 1 {
		t.Errorf("%d buckets are dropped, want 1", n)
	}
}

func TestRest_readsNothingOnceTheEngineCloses(t *testing.T) {
	var watched atomic.Bool
	files := faultfs.New(memfs.New(), func(op faultfs.Op) error {
		if watched.Load() {
			t.Errorf("%v of %s", op.Kind, op.Name)
		}
		return nil
	})
	e := mustOpen(t, files, calm())
	fillBuckets(t, e, 20)
	ok(t, e.Close())
	e = mustOpen(t, files, calm()) // which has no table open
	w, err := e.Begin()
	ok(t, err)
	span := keyspace.Span{Start: bucketKey(doomed, 5), End: bucketKey(doomed, 15)}
	ok(t, w.DeleteRange(span))
	ok(t, w.Commit())
	watched.Store(true)
	e.closed.Store(true)
	e.rest.wants(waited{quiet: longPause, times: restWaits})
	e.Stats()
	watched.Store(false)
	e.closed.Store(false) // so that it can be
}

func TestClose_waitsForWhatReadsFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := mustOpen(t, memfs.New(), calm())
		reading, done := make(chan struct{}), make(chan error, 1)
		go e.asJob(func() { <-reading })
		synctest.Wait()
		go func() { done <- e.Close() }()
		synctest.Wait()
		if len(done) > 0 {
			t.Error("Close has not waited")
		}
		close(reading)
		ok(t, <-done)
		e.asJob(func() { t.Error("the engine is closed") })
	})
}
