package engine

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/pick"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// spilling is calm options with which a transaction leaves memory every few entries.
func spilling() Options {
	o := calm()
	o.Tuning.SpillBytes, o.Tuning.YoungRuns = 4<<10, 1000
	return o
}

// shuffled puts so many words in no order and returns them in order.
func shuffled(t testing.TB, w *Writer, n int) []string {
	t.Helper()
	words := make([]string, n)
	for i := range n {
		words[i] = fmt.Sprintf("%05d", i*7919%n)
		ok(t, w.Put(dataKey("%s", words[i]), []byte(words[i]), 0))
	}
	slices.Sort(words)
	return slices.Compact(words)
}

func TestSpill_leavesTransactionsOfAQuarterOfTheLimitInMemory(t *testing.T) {
	e := mustOpen(t, memfs.New(), Options{})
	w, err := e.Begin()
	ok(t, err)
	value := make([]byte, 1<<20)
	for i := range 31 {
		ok(t, w.Put(dataKey("%d", i), value, 0))
	}
	if w.spill != nil {
		t.Error("a transaction of 31 MiB goes to tables")
	}
	ok(t, w.Commit())
	ok(t, e.Close())
}

// A memtable that waits for its flush takes room only until then.
func TestSpill_waitsForTheRoomOfASealedMemtable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memfs.NewCrashable()
		files := faultfs.New(disk, func(op faultfs.Op) error {
			if is(faultfs.Sync, tableSuffix)(op) {
				<-time.After(time.Minute)
			}
			return nil
		})
		o := calm()
		o.Tuning.MemtableBytes, o.Tuning.SpillBytes, o.Tuning.UnspilledBytes = 1, 1, 1<<20
		e := mustOpen(t, files, o)
		put := func(part string) *Writer {
			w, err := e.Begin()
			ok(t, err)
			for i := range 700 {
				ok(t, w.Put(dataKey("%s%03d", part, i), make([]byte, 1<<10), 0))
			}
			return w
		}
		ok(t, put("a").Commit())
		w := put("b")
		if w.spill != nil || e.Stats().Flushes != 1 {
			t.Errorf("after %d flushes, the transaction is in tables: %t", e.Stats().Flushes, w.spill != nil)
		}
		ok(t, w.Commit())
		if n := len(wordsIn(t, mustOpen(t, disk.CrashKeepNone(), calm()).state.Load())); n != 1400 {
			t.Errorf("%d entries are durable", n)
		}
		ok(t, e.Close())
	})
}

func TestSpill_mergesItsOwnRuns(t *testing.T) {
	disk := memfs.NewCrashable()
	e := mustOpen(t, disk, spilling())
	mustCommit(t, e, "00000", "zzzzz")
	w, err := e.Begin()
	ok(t, err)
	words := shuffled(t, w, 20_000)
	s := w.Snapshot()
	if got := wordsIn(t, s); !slices.Equal(got, append(slices.Clone(words), "zzzzz")) {
		t.Errorf("the transaction sees %d words", len(got))
	}
	if n := len(w.spill.own()); n > defaultOwnRuns+1 {
		t.Errorf("the transaction has %d runs", n)
	}
	ok(t, w.Commit())
	stats := e.Stats()
	if stats.YoungRuns > defaultOwnRuns+2 || stats.MergedBytes == 0 {
		t.Errorf("after the commit: %+v", stats)
	}
	if files := named(t, disk, tableSuffix); len(files) != stats.Tables {
		t.Errorf("there are %d files of tables, want %d", len(files), stats.Tables)
	}
	want := append(words, "zzzzz")
	wantWords(t, e, want...)
	wantWords(t, mustOpen(t, disk.CrashKeepNone(), calm()), want...)
	if got := wordsIn(t, s); len(got) != len(want) {
		t.Errorf("a snapshot from before the commit has %d words", len(got))
	}
	ok(t, e.Close())
}

func TestSpill_leavesNothingAfterARollback(t *testing.T) {
	disk := memfs.NewCrashable()
	e := mustOpen(t, disk, spilling())
	mustCommit(t, e, "a")
	ok(t, e.Flush())
	before := named(t, disk, tableSuffix)
	w, err := e.Begin()
	ok(t, err)
	shuffled(t, w, 20_000)
	w.Rollback()
	if after := named(t, disk, tableSuffix); !slices.Equal(after, before) {
		t.Errorf("tables %v are left of %v", after, before)
	}
	wantWords(t, e, "a")
	ok(t, e.Close())
}

// Compactions of own runs that fail leave them as they are.
func TestSpill_commitsWithoutItsMerges(t *testing.T) {
	disk := memfs.NewCrashable()
	files, broken := failing(disk, errBroken, is(faultfs.Open, tableSuffix))
	e := mustOpen(t, files, spilling())
	mustCommit(t, e, "a", "zzzzz")
	ok(t, e.Flush())
	w, err := e.Begin()
	ok(t, err)
	broken.Store(true)
	words := shuffled(t, w, 20_000)
	broken.Store(false)
	if n := len(w.spill.own()); n <= 2*defaultOwnRuns {
		t.Errorf("the transaction has only %d runs", n)
	}
	ok(t, w.Commit())
	if s := e.Stats(); len(named(t, disk, tableSuffix)) != s.Tables {
		t.Errorf("there are tables %v, want %d", named(t, disk, tableSuffix), s.Tables)
	}
	wantWords(t, e, append(words, "a", "zzzzz")...)
	ok(t, e.Close())
}

// TestDiscard_keepsWhatWasToBeMoved fails to record compactions that move tables.
func TestDiscard_keepsWhatWasToBeMoved(t *testing.T) {
	disk := memfs.New()
	files, broken := failing(disk, errBroken, is(faultfs.SyncDir, ""))
	o := calm()
	o.Tuning.TableBytes = 1 << 10
	e := mustOpen(t, files, o)
	mustCommit(t, e, "0", "z")
	ok(t, e.Flush())
	var want []string
	for i := range 200 {
		want = append(want, fmt.Sprintf("b%04d", i))
	}
	mustCommit(t, e, want...)
	ok(t, e.Flush())
	before := named(t, disk, tableSuffix)
	broken.Store(true)
	next := pick.IntoBottom(e.state.Load().Levels.Version)
	if err := e.compact(next, false, func() bool { return false }); err == nil {
		t.Fatal("the compaction did not fail")
	}
	if after := named(t, disk, tableSuffix); !slices.Equal(after, before) {
		t.Errorf("tables %v are left of %v", after, before)
	}
	broken.Store(false)
	ok(t, e.compact(next, false, func() bool { return false }))
	var kept int
	for _, name := range named(t, disk, tableSuffix) {
		if slices.Contains(before, name) {
			kept++
		}
	}
	if kept == 0 {
		t.Error("no table was moved, so that nothing is tested")
	}
	wantWords(t, e, append(append([]string{"0"}, want...), "z")...)
	ok(t, e.Close())
}

func TestSpill_waitsUntilTheMemtableIsFull(t *testing.T) {
	o := calm()
	o.Tuning.MemtableBytes, o.Tuning.SpillBytes = 4<<20, 0
	e := mustOpen(t, memfs.New(), o)
	spilled := func(bytes int) (spilled bool) {
		w, err := e.Begin()
		ok(t, err)
		for ; bytes > 0; bytes -= 1 << 10 {
			ok(t, w.Put(dataKey("%d", bytes), make([]byte, 1<<10-entryOverhead-10), 0))
		}
		spilled = w.spill != nil
		ok(t, w.Commit())
		return spilled
	}
	if spilled(2 << 20) {
		t.Error("a transaction that fits into the empty memtable went to tables")
	}
	if !spilled(3<<20 + 512<<10) {
		t.Error("a transaction beside a large one stayed in memory")
	}
	if spilled(3 << 20) { // the memtable is empty again
		t.Error("a transaction of less than a memtable went to tables")
	}
	if !spilled(5 << 20) {
		t.Error("a transaction of more than a memtable stayed in memory")
	}
	ok(t, e.Close())
}

func TestWriter_countsTheMemoryOfAnOpenTransaction(t *testing.T) {
	for _, spilled := range []bool{false, true} {
		o := calm()
		if spilled {
			o.Tuning.SpillBytes = 1 << 20
		}
		e := mustOpen(t, memfs.New(), o)
		mustCommit(t, e, "a")
		before := e.Stats().MemtableBytes
		for _, end := range []func(*Writer) error{
			func(w *Writer) error { w.Rollback(); return nil }, (*Writer).Commit,
		} {
			w, err := e.Begin()
			ok(t, err)
			for i := range 4000 {
				ok(t, w.Put(dataKey("%d", i), make([]byte, 1<<10), 0))
			}
			if now := e.Stats().MemtableBytes; now < before+(2<<20) {
				t.Errorf("spilled %t: an open transaction of 4 MB counts for %d bytes", spilled, now-before)
			}
			ok(t, end(w))
			if now := e.Stats().MemtableBytes; spilled && now > before+(1<<20) {
				t.Errorf("%d bytes are left of a transaction in tables", now)
			}
		}
		ok(t, e.Close())
	}
}

// Close, which holds appending, reads where the log has the values of the shared memtable. Here
// that happens as soon as the tables are removed of a transaction that was streamed before it
// spilled. With the race detector, this fails if the rest of the rollback does not hold appending.
func TestSpill_isRolledBackWhileNobodyReadsTheMemtable(t *testing.T) {
	var e *Engine
	var rollingBack atomic.Bool
	read := make(chan bool, 1)
	readLogOffset := func(spins chan<- bool) {
		spins <- true
		for !e.appending.TryLock() {
		}
		defer e.appending.Unlock()
		var c memtable.Cursor
		c.Init(e.appending.root)
		c.First()
		_, inLog := c.LogOffset()
		read <- inLog
	}
	files := faultfs.New(memfs.New(), func(op faultfs.Op) error {
		if is(faultfs.Remove, tableSuffix)(op) && rollingBack.Swap(false) {
			spins := make(chan bool)
			go readLogOffset(spins)
			<-spins
		}
		return nil
	})
	o := spilling()
	o.Tuning.SpillBytes = 2 * streamBytes
	e = mustOpen(t, files, o)
	mustCommit(t, e, "a")
	w, err := e.Begin()
	ok(t, err)
	for i := 0; w.spill == nil; i++ {
		ok(t, w.Put(dataKey("b %03d", i), make([]byte, streamBytes/4), 0))
	}
	if !w.streamed {
		t.Fatal("nothing was streamed, so that nothing is tested")
	}
	rollingBack.Store(true)
	w.Rollback()
	if !<-read {
		t.Error("the log does not have the committed value")
	}
	wantWords(t, e, "a")
	ok(t, e.Close())
}

// Where buckets are filled one after the other, only the first part is taken for one among others.
func TestSpill_writesPartsThatFollowEachOtherAsTheyStay(t *testing.T) {
	e := mustOpen(t, memfs.New(), spilling())
	w, err := e.Begin()
	ok(t, err)
	for i := range 2000 {
		ok(t, w.Put(fmt.Appendf(keyspace.AppendPrefix(nil, uint64(i/20)), "%05d", i), nil, 0))
	}
	ok(t, w.spill.wait())
	if own := w.spill.own(); len(own) > 1 || len(w.spill.edit.AddBottom) == 0 {
		t.Errorf("the transaction has %d young runs and %d bottom tables", len(own),
			len(w.spill.edit.AddBottom))
	}
	ok(t, w.Commit())
	ok(t, e.Close())
}

// Later parts of a transaction lie among the keys of the first one, if these are of two buckets: a
// compaction will rewrite it, so it is not written as if it stayed.
func TestSpill_writesTheFirstPartForACompaction(t *testing.T) {
	for _, buckets := range []uint64{1, 2} {
		e := mustOpen(t, memfs.New(), spilling())
		w, err := e.Begin()
		ok(t, err)
		for i := range 2000 {
			key := fmt.Appendf(keyspace.AppendPrefix(nil, uint64(i)%buckets), "%05d", i)
			ok(t, w.Put(key, []byte("value"), 0))
		}
		ok(t, w.spill.wait())
		if stays := len(w.spill.edit.AddBottom) > 0; stays != (buckets == 1) {
			t.Errorf("with keys of %d buckets, tables join the bottom run: %t", buckets, stays)
		}
		ok(t, w.Commit())
		ok(t, e.Close())
	}
}

// What was committed before a load is complete.
func TestLoad_writesWhatWasCommittedAsItStays(t *testing.T) {
	e := mustOpen(t, memfs.New(), spilling())
	w, err := e.Begin()
	ok(t, err)
	for i := range uint64(20) {
		key := fmt.Appendf(keyspace.AppendPrefix(nil, i%2), "%d", i)
		ok(t, w.Put(key, []byte("value"), 0))
	}
	ok(t, w.Commit())
	l, err := e.BeginLoad(t.Context())
	ok(t, err)
	ok(t, l.w.spill.wait())
	if len(l.w.spill.edit.AddBottom) == 0 {
		t.Error("nothing joins the bottom run")
	}
	ok(t, l.Rollback())
	ok(t, e.Close())
}
