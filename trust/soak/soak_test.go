package soak

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
)

var (
	soakFor  = flag.Duration("soak.for", 2*time.Second, "how long to keep all banks busy")
	soakSeed = flag.Uint64("soak.seed", 1, "seed of the banks' operations")
)

const (
	// memoryLimit is the memory limit of Go's runtime.
	memoryLimit = 256 << 20
	// heapSlack is how much the heap may grow from beginning to end.
	heapSlack = 8 << 20
)

// setting is a kind of bank.
type setting struct {
	name    string
	options stoat.Options
	tuning  engine.Tuning
	pad     int
}

func settings() []setting {
	sizes := tuned.Sizes()
	unsynced := stoat.Options{Sync: stoat.SyncNever, MemoryLimit: 16 << 20}
	outside, small := unsynced, unsynced
	outside.ValueThreshold = 64
	small.MemoryLimit = 2 << 20
	return []setting{
		{name: "eager", options: unsynced, tuning: sizes[0], pad: 16},
		{name: "reclaiming", options: outside, tuning: sizes[1], pad: 200},
		{name: "lazy", options: small, tuning: sizes[2], pad: 400},
		{name: "roomy-outside", options: outside, tuning: sizes[3], pad: 2000},
		{name: "synced", options: stoat.Options{ValueThreshold: 64}, tuning: sizes[3], pad: 100},
		{name: "default", pad: 4000},
	}
}

// TestBank_neverLosesMoney keeps banks of several kinds busy, one after another, and checks for
// what they leave behind when they are closed.
func TestBank_neverLosesMoney(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(memoryLimit))
	all := settings()
	var transfers int64
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "db")
			before := look(dir)
			transfers += s.run(t, dir, *soakFor/time.Duration(len(all)))
			before.wantBack(t, dir)
		})
	}
	t.Logf("trust: %d bank transfers", transfers)
}

// run keeps a bank busy, closes it, reopens it and adds up its accounts.
func (s setting) run(t *testing.T, dir string, d time.Duration) (transfers int64) {
	t.Helper()
	db, err := tuned.Open(vfs.OS(), dir, &s.options, s.tuning)
	if err != nil {
		t.Fatal(err)
	}
	b := &bank{db: db, pad: s.pad}
	if err := b.open(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	err = errors.Join(b.run(ctx, *soakSeed), db.Close())
	if err != nil {
		t.Fatalf("%v\nreproduce with -run TestBank/%s -soak.seed %d -soak.for %v", err, s.name, *soakSeed,
			*soakFor)
	}
	stats := db.Stats()
	t.Logf("%d transfers, %d audits, %d flushes, %d compactions", b.transfers.Load(), b.audits.Load(),
		stats.Flushes, stats.Merges)
	db, err = tuned.Open(vfs.OS(), dir, &s.options, s.tuning)
	if err != nil {
		t.Fatal(err)
	}
	sum := func(tx *stoat.Tx) error { return b.sum(tx, false) }
	if err := errors.Join(db.View(sum), check(db), db.Close()); err != nil {
		t.Fatalf("after reopening: %v", err)
	}
	return b.transfers.Load()
}

// check verifies a database if it has a method for that.
func check(db *stoat.DB) error {
	if c, ok := any(db).(interface {
		Check(ctx context.Context) error
	}); ok {
		return c.Check(context.Background())
	}
	return nil
}

// footprint is the resources that a process uses.
type footprint struct {
	goroutines int
	open       int // open files in a folder; 0 if the system does not report it
	mapped     int // mapped files, likewise
	heap       uint64
}

func look(dir string) footprint {
	runtime.GC()
	runtime.GC() // objects freed by the first run's cleanups
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	f := footprint{goroutines: runtime.NumGoroutine(), heap: m.HeapAlloc}
	names, _ := filepath.Glob("/proc/self/fd/*")
	for _, name := range names {
		if to, err := os.Readlink(name); err == nil && strings.HasPrefix(to, dir+"/") {
			f.open++
		}
	}
	if maps, err := os.ReadFile("/proc/self/maps"); err == nil {
		f.mapped = strings.Count(string(maps), dir+"/")
	}
	return f
}

// wantBack waits until usage is no higher than before, which takes Go's collector a few rounds, and
// fails the test if it stays higher.
func (f footprint) wantBack(t *testing.T, dir string) {
	t.Helper()
	var now footprint
	for range 100 {
		now = look(dir)
		if now.goroutines <= f.goroutines && now.open <= f.open && now.mapped <= f.mapped &&
			now.heap <= f.heap+heapSlack {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	t.Errorf("before: %+v, after: %+v", f, now)
}
