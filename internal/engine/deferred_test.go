package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/pick"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

const (
	deferredValues = 60
	deferredKB     = 5 * deferredValues // of all values in deferring's database
)

// deferringOptions are calm ones with which Close compresses only a small memtable.
func deferringOptions() Options {
	o := calm()
	o.ValueThreshold = 1 << 10
	o.Tuning.CloseBytes, o.Tuning.DeferredBytes = 64<<10, 10<<10
	return o
}

// deferredValue is text, but each tenth is random.
func deferredValue(i int) []byte {
	value := make([]byte, 5<<10)
	_, _ = rand.NewChaCha8([32]byte{byte(i)}).Read(value)
	if i%10 > 0 {
		text := fmt.Appendf(nil, "%x is what people write about %d; ", value[:30], i)
		value = bytes.Repeat(text, len(value)/len(text)+1)[:len(value)]
	}
	return value
}

// deferring returns a closed database with deferred values.
func deferring(t *testing.T) vfs.FS {
	t.Helper()
	files := memfs.New()
	e := mustOpen(t, files, deferringOptions())
	for i := range deferredValues {
		ok(t, tryCommit(e, dataKey("%04d", i*7%deferredValues), deferredValue(i*7%deferredValues)))
	}
	ok(t, e.Close())
	if deferredOf(e) < deferredKB<<10/2 || len(named(t, files, ".log")) == 0 {
		t.Fatalf("%d bytes are deferred, of %d KiB", deferredOf(e), deferredKB)
	}
	return files
}

func deferredOf(e *Engine) uint64 { return pick.DeferredBytes(e.state.Load().Levels.Version) }

func wantDeferredValues(t *testing.T, e *Engine) {
	t.Helper()
	for i := range deferredValues {
		if got, _ := get(t, e, dataKey("%04d", i)); got != string(deferredValue(i)) {
			t.Errorf("value %d is not what was put", i)
		}
	}
}

// wantSmall checks that no text lies in files as it is.
func wantSmall(t *testing.T, files vfs.FS, e *Engine) {
	t.Helper()
	if n := deferredOf(e); n > 0 {
		t.Errorf("%d bytes are deferred", n)
	}
	for name, data := range image(t, files) {
		if filepath.Ext(name) != ".log" && bytes.Count(data, []byte("what people write")) > 100 {
			t.Errorf("%s holds text as it is", name)
		}
	}
	if s := e.Stats(); s.TableBytes > deferredKB<<10/4 {
		t.Errorf("tables have %d bytes", s.TableBytes)
	}
	wantDeferredValues(t, e)
}

func TestClose_leavesDeferredValuesToOpeningsThatLastLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := deferring(t)
		was := image(t, files)
		for range 100 {
			e := mustOpen(t, files, deferringOptions())
			wantDeferredValues(t, e)
			ok(t, e.Close())
		}
		wantImage(t, files, was)
		o := deferringOptions()
		o.Tuning.IdleAfter = time.Second
		e := mustOpen(t, files, o)
		<-time.After(time.Minute)
		ok(t, e.Close())
		wantSmall(t, files, mustOpen(t, files, Options{ReadOnly: true}))
	})
}

func TestClose_leavesABackupWithDeferredValuesOne(t *testing.T) {
	o, target := deferringOptions(), memfs.New()
	o.ReadOnly = true
	source := mustOpen(t, deferring(t), o)
	ok(t, source.Backup(t.Context(), target, "db", false))
	e := mustOpen(t, target, deferringOptions())
	was := image(t, target)
	wantDeferredValues(t, e)
	ok(t, e.Close())
	wantImage(t, target, was)
	ok(t, source.Backup(t.Context(), target, "db", false))
}

func TestClose_compressesASmallMemtable(t *testing.T) {
	files := deferring(t)
	e := mustOpen(t, files, deferringOptions())
	before := deferredOf(e)
	ok(t, tryCommit(e, dataKey("other"), deferredValue(1)))
	ok(t, e.Close())
	if now := deferredOf(e); now != before {
		t.Errorf("%d bytes are deferred, of %d before a small value", now, before)
	}
	again := mustOpen(t, files, deferringOptions())
	for i := range 40 {
		ok(t, tryCommit(again, dataKey("%04d", i), deferredValue(i)))
	}
	ok(t, again.Close())
	if now := deferredOf(again); now < before+200<<10 {
		t.Errorf("%d bytes are deferred, of %d before 200 KiB", now, before)
	}
	wantDeferredValues(t, mustOpen(t, files, deferringOptions()))
}

// Sessions that write much and are too short for compactions leave a bounded amount.
func TestClose_compressesOnceMuchIsDeferred(t *testing.T) {
	files := memfs.New()
	for session := range 10 {
		e := mustOpen(t, files, deferringOptions())
		for i := range deferredValues {
			ok(t, tryCommit(e, dataKey("%04d/%d", i, session), deferredValue(i)))
		}
		ok(t, e.Close())
		if n := deferredOf(e); n > deferredMost*10<<10+deferredKB<<10 {
			t.Fatalf("%d bytes are deferred after %d sessions", n, session+1)
		}
	}
	e := mustOpen(t, files, deferringOptions())
	for i := range deferredValues {
		for session := range 10 {
			if got, _ := get(t, e, dataKey("%04d/%d", i, session)); got != string(deferredValue(i)) {
				t.Fatalf("value %d of session %d is not what was put", i, session)
			}
		}
	}
	ok(t, e.Close())
}

// Close leaves values in the log that are too small to lie outside of tables for long, whether they
// shrink or not.
func TestClose_leavesSmallValuesInTheLogForNow(t *testing.T) {
	for name, of := range map[string]Compression{"auto": CompressionAuto, "zstd": CompressionZstd} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				files, o := memfs.New(), deferringOptions()
				o.Compression = of
				e := mustOpen(t, files, o)
				value := func(i int) []byte { return deferredValue(i)[:200+i%500] }
				check := func(e *Engine) {
					t.Helper()
					for i := range 1000 {
						if got, _ := get(t, e, dataKey("%04d", i)); got != string(value(i)) {
							t.Fatalf("value %d is not what was put", i)
						}
					}
				}
				for i := range 1000 {
					ok(t, tryCommit(e, dataKey("%04d", i*7%1000), value(i*7%1000)))
				}
				ok(t, e.Close())
				if n := deferredOf(e); n < 1000*200 {
					t.Fatalf("%d bytes are deferred", n)
				}
				check(mustOpen(t, files, Options{ReadOnly: true}))
				o.Tuning.IdleAfter = time.Second
				e = mustOpen(t, files, o)
				check(e)
				<-time.After(time.Minute)
				check(e)
				if s := e.Stats(); s.ValueBytes > 0 || s.YoungRuns > 0 {
					t.Errorf("%d bytes are outside of tables, %d young runs", s.ValueBytes, s.YoungRuns)
				}
				ok(t, e.Close())
				if logs := named(t, files, ".log"); len(logs) > 0 {
					t.Errorf("%v are left", logs)
				}
			})
		})
	}
}

func TestClose_leavesOnlyLargeValuesInTheLogIfNothingIsCompressed(t *testing.T) {
	files, o := memfs.New(), deferringOptions()
	o.Compression = CompressionNone
	e := mustOpen(t, files, o)
	for i := range 500 {
		ok(t, tryCommit(e, dataKey("small %04d", i), deferredValue(i)[:200]))
	}
	for i := range deferredValues {
		ok(t, tryCommit(e, dataKey("%04d", i), deferredValue(i)))
	}
	ok(t, e.Close())
	e = mustOpen(t, files, o)
	if s := e.Stats(); s.ValueBytes != deferredKB<<10 {
		t.Errorf("%d bytes are outside of tables, want %d KiB", s.ValueBytes, deferredKB)
	}
	wantDeferredValues(t, e)
	for i := range 500 {
		if got, _ := get(t, e, dataKey("small %04d", i)); got != string(deferredValue(i)[:200]) {
			t.Fatalf("small value %d is not what was put", i)
		}
	}
	ok(t, e.Close())
}

// Large values that do not shrink lie outside of tables that are not compressed, too.
func TestFlush_defersNothingThatDoesNotShrink(t *testing.T) {
	e := mustOpen(t, memfs.New(), deferringOptions())
	ok(t, tryCommit(e, dataKey("%04d", 0), []byte("small")))
	ok(t, tryCommit(e, dataKey("%04d", 50), []byte("small")))
	ok(t, e.Flush())
	for i := range 100 {
		value := deferredValue(i + 1)[:500]
		if i%50 == 0 {
			value = deferredValue(i) // random
		}
		ok(t, tryCommit(e, dataKey("%04d", i), value))
	}
	ok(t, e.Flush())
	version := e.state.Load().Levels.Version
	if n := len(version.Young); n != 1 || version.Young[0].Tables[0].Compressed ||
		len(version.Young[0].Tables[0].Values) == 0 {
		t.Fatalf("%d young runs, and the first is not as it has to be to test something", n)
	}
	if next, found := e.picker().Next(version); found && next.Why == "deferred" || deferredOf(e) > 0 {
		t.Errorf("%d bytes are deferred, in table %d", deferredOf(e), next.OnlyTable)
	}
	ok(t, e.Close())
}

func TestCompaction_compressesDeferredValuesInAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := deferring(t)
		o := deferringOptions()
		o.Tuning.IdleAfter = time.Second
		e := mustOpen(t, files, o)
		<-time.After(time.Minute)
		wantSmall(t, files, e)
		ok(t, e.Close())
	})
}

func TestCompaction_compressesDeferredValuesBetweenCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := deferring(t)
		o := deferringOptions()
		o.Tuning.IdleAfter = time.Second
		e := mustOpen(t, files, o)
		for range 2*maxWaits + 10 {
			ok(t, tryCommit(e, dataKey("other"), []byte("value")))
			<-time.After(time.Second / 2)
		}
		wantSmall(t, files, e)
		ok(t, e.Close())
	})
}

func TestCompact_compressesDeferredValues(t *testing.T) {
	files := deferring(t)
	e := mustOpen(t, files, deferringOptions())
	ok(t, e.Compact(context.Background()))
	wantSmall(t, files, e)
}

func TestCompaction_leavesDeferredValuesIfNothingIsCompressed(t *testing.T) {
	files := deferring(t)
	o := deferringOptions()
	o.Compression, o.Tuning.IdleAfter = CompressionNone, time.Nanosecond
	e := mustOpen(t, files, o)
	ok(t, e.Compact(context.Background()))
	wantDeferredValues(t, e)
	if s := e.Stats(); s.ValueBytes != deferredKB<<10 {
		t.Errorf("%d bytes of values are outside of tables, want all %d KiB", s.ValueBytes, deferredKB)
	}
}

func TestStats_countDeferredValuesAsPending(t *testing.T) {
	e := mustOpen(t, deferring(t), Options{ReadOnly: true})
	s := e.Stats()
	if want := deferredOf(e) + s.TableBytes; s.PendingBytes < want {
		t.Errorf("%d bytes are pending, want %d at least", s.PendingBytes, want)
	}
}

// One value that cannot be read keeps those of its log segment as they are, and other compactions
// go on.
func TestCompaction_setsDamagedDeferredValuesAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := deferring(t)
		name := named(t, files, ".log")[0]
		data := content(t, files, name)
		data[bytes.Index(data, deferredValue(33))+100] ^= 1
		put(t, files, name, data)
		o := deferringOptions()
		o.Tuning.IdleAfter = time.Second
		e := mustOpen(t, files, o)
		<-time.After(time.Minute)
		snapshot, err := e.Snapshot(0)
		ok(t, err)
		_, _, err = snapshot.Get(dataKey("%04d", 33), new(superversion.Lookups))
		if !errors.Is(err, corrupt.Err) {
			t.Errorf("the damaged value: %v", err)
		}
		if got, _ := get(t, e, dataKey("%04d", 5)); got != string(deferredValue(5)) {
			t.Error("another value is not what was put")
		}
		if s := e.Stats(); s.YoungRuns > 0 {
			t.Errorf("%d young runs are left", s.YoungRuns)
		}
		ok(t, e.Close())
	})
}

// A flush whose memtable is not the last one leaves the rest of its large values in the log.
func TestFlush_defersLargeValuesWhenAnotherMemtableWaits(t *testing.T) {
	begun, waits := make(chan struct{}), make(chan struct{})
	var tables atomic.Int64
	files := faultfs.New(memfs.New(), func(op faultfs.Op) error {
		if op.Kind == faultfs.Create && filepath.Ext(op.Name) == tableSuffix && tables.Add(1) == 2 {
			close(begun)
			<-waits
		}
		return nil
	})
	o := deferringOptions()
	o.Tuning.MemtableBytes, o.Tuning.SampleBytes = 128<<10, 1<<10
	e := mustOpen(t, files, o)
	ok(t, tryCommit(e, dataKey("%04d", 0), []byte("small")))
	ok(t, tryCommit(e, dataKey("%04d", deferredValues), []byte("small")))
	ok(t, e.Flush()) // what follows lies within
	i := 0
	fill := func() {
		for before := e.Stats().Flushes + uint64(len(e.state.Load().Sealed)); i < deferredValues &&
			e.Stats().Flushes+uint64(len(e.state.Load().Sealed)) == before; i++ {
			ok(t, tryCommit(e, dataKey("%04d", i*7%deferredValues), deferredValue(i*7%deferredValues)))
		}
	}
	fill()
	<-begun
	fill()
	close(waits)
	waitFor(e, func() bool { return len(e.mu.sealed) == 0 })
	if n := deferredOf(e); n < 64<<10 || n > 128<<10 {
		t.Errorf("%d bytes are deferred, of two memtables of 128 KiB", n)
	}
	for ; i < deferredValues; i++ {
		ok(t, tryCommit(e, dataKey("%04d", i*7%deferredValues), deferredValue(i*7%deferredValues)))
	}
	wantDeferredValues(t, e)
}
