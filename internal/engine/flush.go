package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/trace"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat/internal/flush"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/superversion"
)

// effort says how much work a flush does itself, and how much it leaves to compactions.
type effort uint8

const (
	forNow effort = iota // tables are written for the time until they are compacted
	final                // the way that they stay until the database is opened again
	quick                // as fast as possible, whatever they take on disk
)

const (
	// pieceEntries is how many entries of a quick flush are worth a goroutine.
	pieceEntries = 4 << 10
	// closeSampleBytes, a quarter of the usual sample, decide on codecs while closing. That takes
	// half the time, and makes tables 2 % larger at most.
	closeSampleBytes = run.DefaultSampleBytes / 4
)

// Flush writes everything committed so far into tables.
func (e *Engine) Flush() error { return e.flush(context.Background()) }

// flush is Flush, except that it stops waiting when ctx ends.
func (e *Engine) flush(ctx context.Context) error {
	if err := e.writable(); err != nil {
		return err
	}
	if err := e.writer.lock(ctx, heldToFlush); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, e.wakeAll)()
	err := e.waitRoomAsWriter(ctx)
	if err == nil {
		err = e.sealAsWriter()
	}
	e.writer.unlock()
	if err != nil {
		return err
	}
	return e.waitFlushed(ctx)
}

// flushLoop flushes sealed memtables, oldest first, until none is left.
func (e *Engine) flushLoop() {
	for pause := retryMin; ; {
		oldest, ok := e.nextFlush()
		if !ok {
			e.renewManifestAtRest()
			return
		}
		err := e.flushOne(oldest, forNow)
		e.flushEnded(err)
		if err == nil || errors.Is(err, flush.ErrCancelled) {
			pause = retryMin
			continue
		}
		e.jobFailed(err)
		e.options.Logger.Warn("flush will be tried again", "dir", e.dir, "after", pause, "err", err)
		if e.sleep(pause, e.hurry) {
			pause = min(2*pause, retryMax)
		}
	}
}

// nextFlush returns the memtable to flush next. If there is none, or the engine is closed or
// poisoned, the flushing goroutine has ended.
func (e *Engine) nextFlush() (oldest sealed, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.mu.sealed) == 0 || e.poisoned.Load() != nil || e.closed.Load() {
		e.mu.flushing = false
		e.mu.moved.Broadcast()
		return sealed{}, false
	}
	e.mu.trying = true
	return e.mu.sealed[0], true
}

// flushEnded records how a flush went and wakes the writers that wait for room.
func (e *Engine) flushEnded(err error) {
	e.mu.Lock()
	e.mu.stalled, e.mu.trying = err, false
	e.mu.attempts++
	e.mu.moved.Broadcast()
	e.mu.Unlock()
}

// flushOne writes the oldest sealed memtable to tables and installs them.
func (e *Engine) flushOne(oldest sealed, effort effort) error {
	ctx := context.Background()
	defer trace.StartRegion(ctx, "stoat.flush").End()
	if trace.IsEnabled() {
		trace.Logf(ctx, e.dir, "%d entries", oldest.root.Len())
	}
	start := time.Now()
	job := e.flushJob(oldest, e.state.Load().Levels, effort)
	shown := &running{Job: Job{Bytes: uint64(oldest.bytes)}}
	job.Output.FS = meter{job.Output.FS, &shown.written}
	e.began(shown)
	defer e.ended(shown)
	if effort == forNow {
		job.Defer = e.behind
	}
	edit, err := job.Do()
	if err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	pop := func(next *superversion.Superversion) {
		// Copies, or the arrays behind the slices would keep the memtable reachable.
		e.mu.sealed = slices.Clone(e.mu.sealed[1:])
		next.Sealed = slices.Clone(next.Sealed[:len(next.Sealed)-1])
		e.endedLocked(shown)
		e.flushes.Add(1) // before those that wait for it go on
	}
	if err := e.install(edit, pop); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	e.options.Logger.Info("flushed", "dir", e.dir, "entries", oldest.root.Len(),
		"took", time.Since(start))
	return nil
}

func (e *Engine) flushJob(full sealed, levels *superversion.Levels, effort effort) flush.Job {
	compression := e.options.Compression
	young := compression == CompressionZstd || effort == final && compression == CompressionAuto
	job := flush.Job{
		Root:           full.root,
		Levels:         levels,
		Far:            e.isFar,
		Output:         e.output(&e.flushed),
		CompressYoung:  young,
		CompressBottom: compression != CompressionNone,
		Reach:          e.options.Tuning.DeferredBytes,
		LastCommit:     full.lastCommit,
		Quick:          effort == quick,
		Pieces:         min(runtime.GOMAXPROCS(0), full.root.Len()/pieceEntries),
		Together:       together,
	}
	if effort == forNow {
		job.Cancelled = e.closed.Load
	}
	if full.log > 0 {
		job.LogNumber = full.log + 1
		job.Log = manifest.ValueFile{Number: full.log, Size: uint64(full.logBytes), Log: true}
	}
	return job
}

// together calls do for each number below n, each in a goroutine, and returns when all have
// returned.
func together(n int, do func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

// output returns what the outputs of all jobs have in common. The bytes that they write are added
// to count.
func (e *Engine) output(count *atomic.Uint64) run.Config {
	sample := e.options.Tuning.SampleBytes
	if e.closed.Load() {
		sample = min(sample, closeSampleBytes)
	}
	return run.Config{
		FS:          meter{e.folder, count},
		Dir:         e.dir,
		Database:    e.database,
		NextNumber:  e.nextNumber,
		TableBytes:  e.options.Tuning.TableBytes,
		BlockBytes:  e.options.Tuning.BlockBytes,
		SampleBytes: sample,
		Patterns:    e.options.Compression == CompressionAuto,
		Values: run.Values{
			Separate:  e.options.ValueThreshold,
			Shrink:    e.options.Compression != CompressionNone,
			FileBytes: e.options.Tuning.ValueBytes,
		},
	}
}
