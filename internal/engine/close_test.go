package engine

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func TestClose_leavesNothingToReplay(t *testing.T) {
	for name, use := range map[string]func(e *Engine){
		"nothing":    func(*Engine) {},
		"one commit": func(e *Engine) { mustCommit(t, e, "a") },
		"tables":     func(e *Engine) { mustCommit(t, e, "a"); ok(t, e.Flush()) },
		"tables and a log": func(e *Engine) {
			mustCommit(t, e, "a")
			ok(t, e.Flush())
			mustCommit(t, e, "b")
		},
		"an open write":     func(e *Engine) { mustCommit(t, e, "a"); _, _ = e.Begin() },
		"commits, no syncs": func(e *Engine) { e.options.NoSync = true; mustCommit(t, e, "a", "b") },
	} {
		t.Run(name, func(t *testing.T) {
			disk := memfs.NewCrashable()
			e := mustOpen(t, disk, calm())
			use(e)
			want := wordsOf(t, e)
			ok(t, e.Close())
			if logs := named(t, disk, ".log"); len(logs) > 0 {
				t.Errorf("%v are left", logs)
			}
			after := image(t, disk)
			again := mustOpen(t, disk, calm())
			wantWords(t, again, want...)
			ok(t, again.Close())
			wantImage(t, disk, after)
			wantWords(t, mustOpen(t, disk.CrashKeepNone(), calm()), want...)
		})
	}
}

func TestClose_leavesASmallDatabaseInOneTable(t *testing.T) {
	disk := memfs.New()
	e := mustOpen(t, disk, calm())
	mustCommit(t, e, "a", "c")
	ok(t, e.Flush())
	mustCommit(t, e, "b")
	ok(t, e.Flush())
	mustCommit(t, e, "bb")
	ok(t, e.Close())
	if tables := named(t, disk, tableSuffix); len(tables) != 1 {
		t.Errorf("tables %v, want one", tables)
	}
	wantWords(t, mustOpen(t, disk, calm()), "a", "b", "bb", "c")
}

func TestClose_compressesSomeMegabytes(t *testing.T) {
	disk := memfs.New()
	e := mustOpen(t, disk, Options{})
	w, err := e.Begin()
	ok(t, err)
	const values = 20_000
	for i := range values {
		ok(t, w.Put(dataKey("%05d", i), fmt.Appendf(nil, "the value of the key %05d, once", i), 0))
	}
	ok(t, w.Commit())
	ok(t, e.Close())
	v := e.state.Load().Levels.Version
	if len(v.Young)+len(v.ValueFiles) > 0 || e.Stats().TableBytes > 10*values {
		t.Errorf("%d young runs, value files %v, and %d bytes in tables",
			len(v.Young), v.ValueFiles, e.Stats().TableBytes)
	}
	if got, _ := get(t, mustOpen(t, disk, Options{ReadOnly: true}), dataKey("12345")); got !=
		"the value of the key 12345, once" {
		t.Errorf("%q", got)
	}
}

func TestClose_endsEverythingButReading(t *testing.T) {
	e := mustOpen(t, memfs.New(), calm())
	mustCommit(t, e, "a")
	before, err := e.Snapshot(0)
	ok(t, err)
	w, err := e.Begin()
	ok(t, err)
	w.Put(dataKey("b"), []byte("b"), 0)
	ok(t, e.Close())
	_, snapshotErr := e.Snapshot(0)
	for call, err := range map[string]error{
		"Commit of a begun transaction": w.Commit(),
		"Begin":                         tryCommit(e, dataKey("c"), nil),
		"Flush":                         e.Flush(),
		"Sync":                          e.Sync(),
		"Snapshot":                      snapshotErr,
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s gives %v, want ErrClosed", call, err)
		}
	}
	if got := strings.Join(wordsIn(t, before), ","); got != "a" {
		t.Errorf("the snapshot has %q", got)
	}
	ok(t, e.Close())
}

func TestClose_keepsSnapshotsWhoseTablesAreMergedAway(t *testing.T) {
	disk := killed(t)
	e := mustOpen(t, disk, calm())
	ok(t, e.Flush())
	snapshot, err := e.Snapshot(0)
	ok(t, err)
	before := named(t, disk, tableSuffix)
	ok(t, e.Close())
	after := named(t, disk, tableSuffix)
	if slices.Contains(after, before[0]) || slices.Contains(after, before[1]) {
		t.Fatalf("of the tables %v there are %v, so that nothing is tested", before, after)
	}
	runtime.GC()
	if got := strings.Join(wordsIn(t, snapshot), ","); got != strings.Join(allWords, ",") {
		t.Errorf("the snapshot has %q", got)
	}
}

func TestClose_endsTheWaitForAWriterThatNeverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := mustOpen(t, memfs.New(), calm())
		w, err := e.Begin()
		ok(t, err)
		waiting := make(chan error, 2)
		go func() { _, err := e.Begin(); waiting <- err }()
		go func() { waiting <- e.Flush() }()
		synctest.Wait()
		ok(t, e.Close())
		for range 2 {
			if err := <-waiting; !errors.Is(err, ErrClosed) {
				t.Errorf("error %v, want ErrClosed", err)
			}
		}
		w.Rollback()
	})
}

func TestClose_leavesNoLogOfARollback(t *testing.T) {
	disk := memfs.New()
	e := mustOpen(t, disk, calm())
	writeLarge(t, e).Rollback()
	ok(t, e.Close())
	if logs := named(t, disk, ".log"); len(logs) > 0 {
		t.Errorf("%v are left", logs)
	}
}

func TestClose_keepsSnapshotsOfTablesThatOthersRemove(t *testing.T) {
	disk := closed(t, "a", "c")
	e := mustOpen(t, disk, calm())
	snapshot, err := e.Snapshot(0) // it has opened no table yet
	ok(t, err)
	ok(t, e.Close())
	before := named(t, disk, tableSuffix)
	other := mustOpen(t, disk, calm())
	mustCommit(t, other, "b")
	ok(t, other.Close())
	if after := named(t, disk, tableSuffix); slices.Contains(after, before[0]) {
		t.Fatalf("of the tables %v there are %v, so that nothing is tested", before, after)
	}
	if got := strings.Join(wordsIn(t, snapshot), ","); got != "a,c" {
		t.Errorf("the snapshot has %q", got)
	}
}

func TestClose_opensFilesForReadersOnly(t *testing.T) {
	disk := closed(t, "a", "c")
	for _, c := range []struct {
		name  string
		use   func(e *Engine)
		opens bool
	}{
		{"nobody", func(*Engine) {}, false},
		{"a reader that has ended", func(e *Engine) { _, _ = e.Snapshot(3); e.Release(3) }, false},
		{"readers, one of which has ended", func(e *Engine) {
			_, _ = e.Snapshot(3)
			_, _ = e.Snapshot(3)
			e.Release(3)
		}, true},
		{"a writer", func(e *Engine) { _, _ = e.Begin() }, true},
	} {
		var opened atomic.Int64
		files := faultfs.New(disk, func(op faultfs.Op) error {
			if is(faultfs.Open, tableSuffix)(op) {
				opened.Add(1)
			}
			return nil
		})
		e := mustOpen(t, files, calm())
		c.use(e)
		if n := opened.Load(); n != 0 {
			t.Fatalf("%s: %d tables were opened before Close", c.name, n)
		}
		ok(t, e.Close())
		if got := opened.Load() > 0; got != c.opens {
			t.Errorf("%s: Close has opened %d tables", c.name, opened.Load())
		}
		readers := e.readers.any()
		if _, err := e.Snapshot(0); !errors.Is(err, ErrClosed) || e.readers.any() != readers {
			t.Errorf("%s: a snapshot after Close gives %v, and counts as a reader", c.name, err)
		}
	}
}

func TestClose_isNotAboutTidying(t *testing.T) {
	files, broken := failing(closed(t, "a", "c"), errBroken, is(faultfs.Open, tableSuffix))
	e := mustOpen(t, files, calm())
	mustCommit(t, e, "b")
	broken.Store(true)
	ok(t, e.Close())
	broken.Store(false)
	wantWords(t, mustOpen(t, files, calm()), "a", "b", "c")
}

func TestClose_thatCannotFlushLeavesTheLog(t *testing.T) {
	for name, closeBytes := range map[string]int64{"lasting": 1 << 20, "quick": 1} {
		t.Run(name, func(t *testing.T) {
			disk := memfs.NewCrashable()
			files, broken := failing(disk, vfs.ErrNoSpace, is(faultfs.Create, tableSuffix))
			o := calm()
			o.Tuning.CloseBytes = closeBytes
			e := mustOpen(t, files, o)
			mustCommit(t, e, "a", "b")
			broken.Store(true)
			wantNoSpace(t, e.Close())
			if logs := named(t, disk, ".log"); len(logs) != 1 {
				t.Errorf("logs %v, want one", logs)
			}
			ok(t, e.Close())
			wantWords(t, mustOpen(t, disk, calm()), "a", "b")
		})
	}
}

func TestClose_abandonsAFlush(t *testing.T) {
	begun, waits := make(chan struct{}), make(chan struct{})
	var tables atomic.Int64
	disk := memfs.NewCrashable()
	files := faultfs.New(disk, func(op faultfs.Op) error {
		if is(faultfs.Create, tableSuffix)(op) && tables.Add(1) == 1 {
			close(begun)
			<-waits
		}
		return nil
	})
	o := calm()
	o.Tuning.RestBytes, o.Tuning.RestAfter, o.Compression = 1, 1, CompressionNone
	e := mustOpen(t, files, o)
	words := ascendingWords("k", 5000) // so many that the flush asks whether it is to go on
	w, err := e.Begin()
	ok(t, err)
	for _, word := range words {
		ok(t, w.Put(dataKey("%s", word), []byte(word), 0))
	}
	ok(t, w.Commit())
	<-begun
	done := make(chan error)
	go func() { done <- e.Close() }()
	for !e.closed.Load() {
		runtime.Gosched()
	}
	close(waits)
	ok(t, <-done)
	if n := tables.Load(); n < 2 {
		t.Errorf("%d tables were written: the flush was not abandoned", n)
	}
	if left := named(t, disk, tableSuffix); len(left) != 1 {
		t.Errorf("tables %v, want one", left)
	}
	wantWords(t, mustOpen(t, disk.CrashKeepNone(), calm()), words...)
}

func TestClose_waitsForCommitsUnderWay(t *testing.T) {
	hold, syncing := make(chan struct{}), make(chan struct{})
	var slow atomic.Bool
	disk := memfs.NewCrashable()
	files := faultfs.New(disk, func(op faultfs.Op) error {
		if slow.Load() && op.Kind == faultfs.Sync && slow.Swap(false) {
			close(syncing)
			<-hold
		}
		return nil
	})
	e := mustOpen(t, files, calm())
	mustCommit(t, e, "0")
	slow.Store(true)
	done := make(chan error, 2)
	go func() { done <- tryCommit(e, dataKey("a"), []byte("a")) }()
	<-syncing
	go func() { done <- e.Close() }()
	for !e.closed.Load() {
		runtime.Gosched()
	}
	close(hold)
	ok(t, <-done)
	ok(t, <-done)
	wantWords(t, mustOpen(t, disk.CrashKeepNone(), calm()), "0", "a")
}

// race is a database that many goroutines use until it is closed.
type race struct {
	*Engine
	acknowledged [4]atomic.Int64 // commits of each writer
	done         sync.WaitGroup
}

// use calls fn until the database is closed.
func (r *race) use(t *testing.T, fn func() error) {
	r.done.Go(func() {
		for {
			if err := fn(); errors.Is(err, ErrClosed) {
				return
			} else if err != nil {
				t.Error(err)
				return
			}
		}
	})
}

// read checks that a snapshot stays the same.
func (r *race) read() error {
	s, err := r.Snapshot(0)
	if err != nil {
		return err
	}
	defer r.Release(0)
	count := func() (n int, err error) {
		var c superversion.Cursor
		c.Init(s, superversion.Scope{Lower: dataKey(""), Read: superversion.ReadValues})
		for ok := c.First(); ok; ok = c.Next() {
			n++
		}
		return n, c.Err()
	}
	before, err := count()
	if err != nil {
		return err
	}
	runtime.Gosched()
	if after, err := count(); err != nil || after != before {
		return fmt.Errorf("a snapshot had %d entries, then %d: %w", before, after, err)
	}
	return nil
}

func TestClose_racesWithEverything(t *testing.T) {
	for round := range 20 {
		disk := memfs.NewCrashable()
		o := Options{NoSync: round%2 == 0, Tuning: Tuning{MemtableBytes: 40 << 10, IdleAfter: 1}}
		r := &race{Engine: mustOpen(t, disk, o)}
		for writer := range r.acknowledged {
			r.use(t, func() error {
				n := &r.acknowledged[writer]
				word := fmt.Sprintf("%d %06d", writer, n.Load())
				err := tryCommit(r.Engine, dataKey("%s", word), []byte(word))
				if err == nil {
					n.Add(1)
				}
				return err
			})
		}
		r.use(t, r.Flush)
		r.use(t, r.Sync)
		r.use(t, r.read)
		r.use(t, func() error { r.Stats(); _, err := r.Snapshot(0); return err })
		for r.acknowledged[0].Load() < int64(round) && !t.Failed() {
			runtime.Gosched()
		}
		for range 3 {
			r.done.Go(func() {
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		r.done.Wait()
		if t.Failed() {
			return
		}
		e := mustOpen(t, disk.CrashKeepNone(), calm())
		for writer := range r.acknowledged {
			for i := range r.acknowledged[writer].Load() {
				if _, ok := get(t, e, dataKey("%d %06d", writer, i)); !ok {
					t.Fatalf("round %d: commit %d of writer %d is lost", round, i, writer)
				}
			}
		}
	}
}
