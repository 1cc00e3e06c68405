package torture

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/model"
	"github.com/stoatdb/stoat/internal/testing/torture/crash"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

var (
	seedFlag      = flag.Uint64("seed", 0, "seed of the first random history; 0 draws one")
	historiesFlag = flag.Int("histories", 30, "number of random histories; -short runs half")
)

// eachHistory runs as many histories as the flags say, divided by share, and returns how many.
func eachHistory(t *testing.T, share int, run func(seed uint64) error) int {
	t.Helper()
	seed, histories := *seedFlag, *historiesFlag
	if seed == 0 {
		seed = rand.Uint64()>>16 + 1
	}
	if testing.Short() {
		histories /= 2
	}
	histories = max(1, histories/share)
	for i := range uint64(histories) {
		if err := run(seed + i); err != nil {
			t.Fatalf("again with go test ./internal/testing/torture -run %s -seed %d -histories 1: %v",
				t.Name(), seed+i, err)
		}
	}
	return histories
}

// TestModel_randomHistories runs random histories on the database and the model at once.
func TestModel_randomHistories(t *testing.T) {
	t.Parallel()
	seen := newReuse()
	n := eachHistory(t, 1, func(seed uint64) error { return runHistory(seed, seen.logger()) })
	if n > 10 {
		seen.check(t)
	}
}

// history is one run of the database and the model.
type history struct {
	*generator
	fs        vfs.FS
	db        *stoat.DB
	ref       *model.DB
	logger    *slog.Logger
	snapshots []snapshot
}

// snapshot is a read transaction that stays open during writes.
type snapshot struct {
	tx  *stoat.Tx
	ref *model.Bucket
}

func runHistory(seed uint64, logger *slog.Logger) error {
	clock := model.NewClock()
	h := &history{
		generator: newGenerator(seed, clock), fs: memfs.New(), ref: model.New(clock), logger: logger,
	}
	if err := h.open(); err != nil {
		return err
	}
	for step := range 40 + h.rng.IntN(100) {
		if err := h.step(); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
	}
	if err := h.reopen(); err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	return h.db.Close()
}

// open opens the database with random options and sizes so small that everything happens often.
func (h *history) open() (err error) {
	options := randomOptions(h.rng)
	options.Logger = h.logger
	h.db, err = tuned.Open(h.fs, "db", options, randomTuning(h.rng, h.clock))
	if err != nil {
		return err
	}
	return h.compare()
}

func randomOptions(rng *rand.Rand) *stoat.Options {
	return &stoat.Options{
		Sync:        stoat.SyncMode(rng.IntN(2)),
		Compression: stoat.Compression(rng.IntN(3)),
		MemoryLimit: int64(rng.IntN(2)) * 64 << 10,
		// All values in tables, large ones outside by default, or those of 64 bytes and more outside.
		ValueThreshold: []int{-1, 0, 64, 64}[rng.IntN(4)],
	}
}

func randomTuning(rng *rand.Rand, clock *model.Clock) engine.Tuning {
	memtable := int64(1 << (10 + rng.IntN(8)))
	return engine.Tuning{
		MemtableBytes: memtable,
		SpillBytes:    memtable / 2 * int64(rng.IntN(2)), // 0 is the default, which spills less often
		TableBytes:    1 << (10 + rng.IntN(7)),
		BlockBytes:    1 << (6 + rng.IntN(8)),
		SampleBytes:   1 << (8 + rng.IntN(8)),
		ValueBytes:    1 << (8 + rng.IntN(8)),
		PartBytes:     1 << (9 + rng.IntN(8)) * int64(rng.IntN(2)),
		Garbage:       int64(rng.IntN(2)), // 1 byte, or the default, which is never reached
		DeferredBytes: int64(rng.IntN(2)) * 200,
		CloseBytes:    int64(rng.IntN(2)) * 500,
		YoungRuns:     1 + rng.IntN(4),
		OwnRuns:       1 + rng.IntN(4),
		JournalBytes:  1 << (6 + rng.IntN(8)),
		Passed:        1 + rng.IntN(8)*rng.IntN(2),
		IdleAfter:     time.Duration(1 + rng.IntN(2)*int(time.Second)),
		Now:           clock.Now,
	}
}

// step does one random thing.
func (h *history) step() error {
	switch op := h.rng.IntN(100); {
	case op < 55:
		return h.update()
	case op < 70:
		return h.view()
	case op < 78:
		return h.hold()
	case op < 88:
		return h.look()
	case op < 91:
		return h.load()
	case op < 94:
		return h.db.Flush()
	case op < 95:
		err := h.db.Compact(patient(1 + h.rng.IntN(100)))
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	case op < 96:
		return h.db.Sync()
	case op < 97:
		h.wait()
		return nil
	case op < 98:
		return h.compare()
	}
	return h.reopen()
}

var errAborted = errors.New("aborted by the test")

// update runs a write transaction and commits it, or rolls it back in one of two ways.
func (h *history) update() error {
	n := 1 + h.rng.IntN(8)
	if h.chance(5) {
		n = 200
	}
	switch {
	case h.chance(8):
		tx, err := h.db.Begin(true)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		return h.write(twinOf(tx, h.ref.Begin().Root()), n)
	case h.chance(8):
		err := h.db.Update(func(tx *stoat.Tx) error {
			if err := h.write(twinOf(tx, h.ref.Begin().Root()), n); err != nil {
				return err
			}
			return errAborted
		})
		if errors.Is(err, errAborted) {
			return nil
		}
		return err
	}
	ref, much := h.ref.Begin(), h.long && h.chance(20)
	err := h.db.Update(func(tx *stoat.Tx) error {
		root := twinOf(tx, ref.Root())
		if much {
			return errors.Join(h.writeMuch(root), h.write(root, n))
		}
		return h.write(root, n)
	})
	if err == nil {
		ref.Commit()
	}
	return err
}

func (h *history) view() error {
	return h.db.View(func(tx *stoat.Tx) error {
		return h.read(twinOf(tx, h.ref.Root()), 1+h.rng.IntN(10))
	})
}

// hold opens a snapshot for later reads.
func (h *history) hold() error {
	if len(h.snapshots) == 6 {
		return nil
	}
	tx, err := h.db.Begin(false)
	h.snapshots = append(h.snapshots, snapshot{tx, h.ref.Root()})
	return err
}

// look reads in a held snapshot and sometimes ends it.
func (h *history) look() error {
	if len(h.snapshots) == 0 {
		return nil
	}
	i := h.rng.IntN(len(h.snapshots))
	s := h.snapshots[i]
	if err := h.read(twinOf(s.tx, s.ref), 5); err != nil {
		return fmt.Errorf("in an older snapshot: %w", err)
	}
	if !h.chance(3) {
		return nil
	}
	h.snapshots = append(h.snapshots[:i], h.snapshots[i+1:]...)
	return s.finish()
}

// finish compares all of a snapshot with the model and ends it.
func (s snapshot) finish() error {
	got, err := dump(s.tx)
	if err != nil {
		return err
	}
	if d := model.Diff(got, s.ref); d != "" {
		return fmt.Errorf("an older snapshot: %s", d)
	}
	return s.tx.Rollback()
}

// compare compares everything committed with the model.
func (h *history) compare() error {
	got, err := dumpDB(h.db)
	if err != nil {
		return err
	}
	if d := model.Diff(got, h.ref.Root()); d != "" {
		return errors.New(d)
	}
	return nil
}

// reopen closes the database, checks all snapshots, which outlive it, and opens it again.
func (h *history) reopen() error {
	if err := h.compare(); err != nil {
		return err
	}
	if err := h.db.Close(); err != nil {
		return err
	}
	if err := clean(h.fs); err != nil {
		return err
	}
	for _, s := range h.snapshots {
		if err := s.finish(); err != nil {
			return fmt.Errorf("after Close: %w", err)
		}
	}
	h.snapshots = nil
	if err := h.open(); err != nil {
		return fmt.Errorf("reopen: %w", err)
	}
	return nil
}

// TestModel_readersSeeCommittedStates runs readers beside a writer. Each snapshot must be a state
// that was the newest at some time while it was taken.
func TestModel_readersSeeCommittedStates(t *testing.T) {
	t.Parallel()
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	line := newTimeline()
	db, err := tuned.Open(memfs.New(), "db", randomOptions(rng), randomTuning(rng, line.clock))
	ok(t, err)
	stop := startReaders(t, db, line)
	p := newGenerator(seed, line.clock)
	for range 300 {
		if err := playCommit(db, line, p); err != nil {
			t.Errorf("seed %d: %v", seed, err)
			break
		}
	}
	if stop(); t.Failed() {
		t.Logf("the seed is %d", seed)
	}
	ok(t, db.Close())
}

// TestModel_readersSeeCommittedStatesOfManyWriters runs readers beside several writers, some of
// whose transactions go to tables while others wait for a sync of the log.
func TestModel_readersSeeCommittedStatesOfManyWriters(t *testing.T) {
	t.Parallel()
	r := &runner{
		workload: workload{name: "parallel", options: outside, tuning: unspilled},
		line:     newTimeline(),
		tolerate: func(err error) error { return err },
	}
	r.fs = faultfs.New(memfs.New(), func(op faultfs.Op) error {
		if op.Kind == faultfs.Sync && strings.HasSuffix(op.Name, ".log") {
			letOthersRun(r.line)
		}
		return nil
	})
	ok(t, r.open())
	stop := startReaders(t, r.db, r.line)
	err := times(3, func(int) error { return parallelSpills(r) })
	stop()
	ok(t, err)
	ok(t, r.close())
}

// startReaders starts goroutines that read until stop is called, which waits for them.
func startReaders(t *testing.T, db *stoat.DB, line *timeline) (stop func()) {
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		line.readers.Add(1)
		readers.Go(func() {
			defer line.readers.Add(-1)
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := readOnce(db, line); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	return func() {
		close(done)
		readers.Wait()
	}
}

// letOthersRun delays a sync of the log until others have read several hundred times, so that other
// transactions commit meanwhile. It does nothing while there are no readers.
func letOthersRun(line *timeline) {
	enough := line.reads.Load() + 300
	for line.readers.Load() > 0 && line.reads.Load() < enough {
		runtime.Gosched()
	}
}

// readOnce takes a snapshot and checks that it is a state of its time. If time passes meanwhile,
// the state is undefined.
func readOnce(db *stoat.DB, line *timeline) error {
	clock := line.clock.Stopped()
	p := line.Promised(crash.All)
	tx, err := db.Begin(false)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	p.Newest = line.Begun()
	got, err := dump(tx)
	if err != nil {
		return err
	}
	line.reads.Add(1)
	if !line.clock.Now().Equal(clock.Now()) {
		return nil
	}
	_, err = line.match(got, p, clock)
	return err
}

// playCommit commits one random transaction and adds it to the timeline.
func playCommit(db *stoat.DB, line *timeline, p *generator) error {
	var commit int
	err := db.Update(func(tx *stoat.Tx) error {
		next := line.Newest().Clone()
		if err := p.write(twinOf(tx, next), 1+p.rng.IntN(6)); err != nil {
			return err
		}
		commit = line.Commit(next)
		return nil
	})
	if err == nil {
		line.Ack(commit, false)
	}
	return err
}
