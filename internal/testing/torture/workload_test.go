package torture

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/model"
	"github.com/stoatdb/stoat/internal/testing/torture/crash"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
)

// workload is a small program that uses the database, for crashing.
type workload struct {
	name     string
	options  stoat.Options
	tuning   engine.Tuning
	parallel bool // commits from several goroutines
	run      func(r *runner) error
}

// Sizes so small that sealing, flushing, compacting and new manifests happen all the time, at once
// or only when due. A transaction that writes as much as SpillBytes goes to tables: a handful of
// entries do when eager or lazy, and none but the largest when large or roomy.
var (
	eager = engine.Tuning{
		MemtableBytes: 1 << 10, TableBytes: 1 << 10, BlockBytes: 128, YoungRuns: 2, OwnRuns: 2,
		SampleBytes: 1 << 10, SpillBytes: 512,
		JournalBytes: 200, IdleAfter: time.Nanosecond,
		Passed: 1,
	}
	lazy = engine.Tuning{
		MemtableBytes: 2 << 10, TableBytes: 4 << 10, BlockBytes: 512, YoungRuns: 2,
		SampleBytes: 1 << 10, SpillBytes: 1 << 10,
		JournalBytes: 1 << 10, IdleAfter: time.Hour,
		Passed: 3,
	}
	// scattered has log segments and value files of a few values, and any garbage is too much.
	scattered = engine.Tuning{
		MemtableBytes: 4 << 10, TableBytes: 2 << 10, BlockBytes: 256, YoungRuns: 2, OwnRuns: 2,
		SampleBytes: 1 << 10, SpillBytes: 2 << 10,
		JournalBytes: 1 << 10, IdleAfter: time.Nanosecond, ValueBytes: 1 << 10, Garbage: 1,
		DeferredBytes: 500, CloseBytes: 1 << 10,
		Passed: 1,
	}
	// unspilled lets transactions of some kilobytes stay in memory, and compactions at once.
	unspilled = engine.Tuning{
		MemtableBytes: 32 << 10, TableBytes: 2 << 10, BlockBytes: 256, YoungRuns: 2,
		JournalBytes: 1 << 10, IdleAfter: time.Nanosecond, ValueBytes: 2 << 10, Garbage: 1,
		Passed: 1,
	}
	// large makes a transaction of 700 KB go to the log first and then to tables, larger to the
	// log.
	large = engine.Tuning{
		MemtableBytes: 1200 << 10, SpillBytes: 600 << 10, TableBytes: 256 << 10, YoungRuns: 2,
	}
	larger = engine.Tuning{
		MemtableBytes: 4 << 20, SpillBytes: 2 << 20, TableBytes: 256 << 10, YoungRuns: 2,
	}
	roomy    = engine.Tuning{IdleAfter: time.Hour}
	unsynced = stoat.Options{Sync: stoat.SyncNever}
	outside  = stoat.Options{ValueThreshold: 64} // values of 64 bytes and more are outside of tables

	unsyncedOutside = stoat.Options{Sync: stoat.SyncNever, ValueThreshold: 64}
)

var workloads = []workload{
	{name: "puts", tuning: roomy, run: puts},
	{name: "puts-unsynced", options: unsynced, tuning: roomy, run: puts},
	{name: "transactions", tuning: lazy, run: transactions},
	{name: "transactions-unsynced", options: unsynced, tuning: lazy, run: transactions},
	{name: "transactions-in-memory", tuning: unspilled, run: transactions},
	{name: "overwrites", tuning: eager, run: overwrites},
	{name: "buckets", tuning: eager, run: nestedBuckets},
	{name: "sequences", tuning: lazy, run: sequences},
	{name: "large-values", tuning: lazy, run: largeValues},
	{name: "large-values-unsynced", options: unsynced, tuning: lazy, run: largeValues},
	{name: "huge-transactions", tuning: larger, run: hugeTransactions},
	{name: "huge-transactions-unsynced", options: unsynced, tuning: larger, run: hugeTransactions},
	{name: "huge-transactions-in-tables", tuning: large, run: hugeTransactions},
	{name: "aborts", tuning: eager, run: aborts},
	{name: "flushes", tuning: roomy, run: flushes},
	{name: "churn", tuning: eager, run: churn},
	{name: "churn-unsynced", options: unsynced, tuning: eager, run: churn},
	{name: "reopens", tuning: lazy, run: reopens},
	{name: "reopens-unsynced", options: unsynced, tuning: eager, run: reopens},
	{name: "random", tuning: lazy, run: randomTransactions},
	{name: "random-unsynced", options: unsynced, tuning: eager, run: randomTransactions},
	{name: "random-in-memory", options: outside, tuning: unspilled, run: randomTransactions},
	{name: "random-outside", options: unsyncedOutside, tuning: scattered, run: randomTransactions},
	{name: "ranges", tuning: eager, run: ranges},
	{name: "ranges-in-memory", options: unsyncedOutside, tuning: unspilled, run: ranges},
	{name: "queues", tuning: eager, run: queues},
	{name: "queues-unsynced", options: unsyncedOutside, tuning: unspilled, run: queues},
	{name: "expiry", tuning: unspilled, run: expiry},
	{name: "expiry-outside", options: unsyncedOutside, tuning: scattered, run: expiry},
	{name: "outside", options: outside, tuning: scattered, run: outsideValues},
	{name: "outside-unsynced", options: unsyncedOutside, tuning: scattered, run: outsideValues},
	{name: "outside-in-memory", options: outside, tuning: unspilled, run: outsideValues},
	{name: "compactions", options: outside, tuning: scattered, run: compactions},
	{name: "compactions-unsynced", options: unsyncedOutside, tuning: roomy, run: compactions},
	{name: "spills", options: outside, tuning: scattered, run: spills},
	{name: "spills-unsynced", options: unsynced, tuning: scattered, run: spills},
	{name: "loads", options: outside, tuning: scattered, run: loads},
	{name: "loads-unsynced", options: unsynced, tuning: eager, run: loads},
	{name: "loads-lazy", options: unsyncedOutside, tuning: lazy, run: loads},
	{
		name: "parallel-loads", options: unsyncedOutside, tuning: lazy, parallel: true,
		run: parallelLoads,
	},
	{name: "backups", options: outside, tuning: scattered, run: backups},
	{name: "backups-unsynced", options: unsyncedOutside, tuning: unspilled, run: backups},
	{name: "events", tuning: lazy, run: events},
	{name: "events-unsynced", options: unsyncedOutside, tuning: scattered, run: events},
	{name: "parallel", tuning: lazy, parallel: true, run: parallel},
	{
		name: "parallel-spills", options: outside, tuning: unspilled, parallel: true,
		run: parallelSpills,
	},
}

// errStop ends a workload early, because the database accepts no more writes.
var errStop = errors.New("the workload is over")

// runner runs a workload and keeps its timeline.
type runner struct {
	workload
	seed uint64
	fs   vfs.FS
	db   *stoat.DB
	line *timeline
	// tolerate says of a failed call whether the workload goes on (nil), ends (errStop) or has
	// found a bug (anything else).
	tolerate func(error) error
}

// start opens the database, runs the workload and closes the database.
func (r *runner) start() error {
	if err := r.open(); err != nil {
		return err
	}
	err := r.run(r)
	if err == nil {
		return r.close()
	}
	if r.db == nil { // it could not be opened again
		return err
	}
	if closeErr := r.db.Close(); closeErr != nil && !errors.Is(err, errStop) {
		err = errors.Join(err, closeErr)
	}
	return err
}

func (r *runner) open() (err error) {
	r.tuning.Now = r.line.clock.Now
	if r.db, err = tuned.Open(r.fs, "db", &r.options, r.tuning); err == nil {
		return nil
	}
	if err = r.tolerate(err); err == nil {
		err = errStop
	}
	return err
}

// close closes the database, which makes everything durable.
func (r *runner) close() error { return r.durable(r.db.Close) }

func (r *runner) flush() error { return r.durable(r.db.Flush) }

func (r *runner) sync() error { return r.durable(r.db.Sync) }

func (r *runner) compact() error {
	return r.durable(func() error { return r.db.Compact(context.Background()) })
}

// durable calls fn, which makes durable all that was acknowledged before.
func (r *runner) durable(fn func() error) error {
	if err := r.line.Sync(fn); err != nil {
		return r.tolerate(err)
	}
	return nil
}

// reopen closes the database, opens it again, and wants to find everything.
func (r *runner) reopen() error {
	if err := r.close(); err != nil {
		return err
	}
	if err := r.open(); err != nil {
		return err
	}
	p := r.line.Promised(crash.All)
	got, err := dumpDB(r.db)
	if err != nil {
		return r.tolerate(err)
	}
	_, err = r.line.match(got, p, r.line.clock)
	return err
}

// update commits a transaction and notes it in the timeline.
func (r *runner) update(fn func(t twin) error) error {
	commit := 0
	err := r.db.Update(func(tx *stoat.Tx) error {
		next := r.line.Newest().Clone()
		if err := fn(twinOf(tx, next)); err != nil {
			return errors.Join(tx.Err(), err)
		}
		commit = r.line.Commit(next)
		return nil
	})
	if err == nil {
		r.line.Ack(commit, r.options.Sync == stoat.SyncAlways)
		return nil
	}
	if commit > 0 && !errors.Is(err, stoat.ErrPoisoned) {
		r.line.Settle(commit - 1) // it must not be seen
	}
	return r.tolerate(err)
}

var errAbort = errors.New("rolled back on purpose")

// abort does a transaction and rolls it back.
func (r *runner) abort(fn func(t twin) error) error {
	err := r.db.Update(func(tx *stoat.Tx) error {
		if err := fn(twinOf(tx, r.line.Newest().Clone())); err != nil {
			return errors.Join(tx.Err(), err)
		}
		return errAbort
	})
	if errors.Is(err, errAbort) {
		return nil
	}
	return r.tolerate(err)
}

// generator returns what makes the workload's random operations.
func (r *runner) generator() *generator { return newGenerator(r.seed, r.line.clock) }

// recovered opens a database on fs, and returns it with what is in it by the clock.
func recovered(
	fs vfs.FS, w workload, clock *model.Clock,
) (*stoat.DB, *model.Bucket, error) {
	w.tuning.Now = clock.Now
	db, err := tuned.Open(fs, "db", &w.options, w.tuning)
	if err != nil {
		return nil, nil, fmt.Errorf("open: %w", err)
	}
	got, err := dumpDB(db)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("read: %w", err), db.Close())
	}
	return db, got, nil
}
