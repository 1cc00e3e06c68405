package torture

import (
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/cryptfs"
)

// workload is a small program that uses the database, to be crashed.
type workload struct {
	name     string
	options  stoat.Options
	tuning   engine.Tuning
	parallel bool // commits come from several goroutines
	run      func(r *runner) error
}

// plain returns what is on a disk as the database sees it: decrypted, if the workload has a key.
func (w workload) plain(disk vfs.FS) vfs.FS {
	if len(w.options.Key) == 0 {
		return disk
	}
	key, err := cryptfs.NewKey(w.options.Key)
	if err != nil {
		panic(err)
	}
	return cryptfs.New(disk, key)
}

// Sizes so small that seals, flushes, compactions and new manifests happen all the time: at once
// with eager, only when due with lazy. A transaction of SpillBytes goes to tables: a few entries
// suffice with eager or lazy; with large or roomy only the largest transactions do.
var (
	eager = engine.Tuning{
		MemtableBytes: 1 << 10, TableBytes: 1 << 10, BlockBytes: 128, YoungRuns: 2, OwnRuns: 2,
		SampleBytes: 1 << 10, SpillBytes: 512,
		JournalBytes: 200, IdleAfter: time.Nanosecond, PartBytes: 1 << 10,
		Passed: 1,
	}
	lazy = engine.Tuning{
		MemtableBytes: 2 << 10, TableBytes: 4 << 10, BlockBytes: 512, YoungRuns: 2,
		SampleBytes: 1 << 10, SpillBytes: 1 << 10,
		JournalBytes: 1 << 10, IdleAfter: time.Hour,
		Passed: 3,
	}
	// scattered makes log segments and value files of a few values, and tolerates no garbage.
	scattered = engine.Tuning{
		MemtableBytes: 4 << 10, TableBytes: 2 << 10, BlockBytes: 256, YoungRuns: 2, OwnRuns: 2,
		SampleBytes: 1 << 10, SpillBytes: 2 << 10,
		JournalBytes: 1 << 10, IdleAfter: time.Nanosecond, ValueBytes: 1 << 10, Garbage: 1,
		DeferredBytes: 500, CloseBytes: 4 << 10, PartBytes: 4 << 10,
		Passed: 1,
	}
	// hasty never compresses what is in memory when it closes, as long as little is deferred.
	hasty = engine.Tuning{
		MemtableBytes: 32 << 10, TableBytes: 2 << 10, BlockBytes: 256, YoungRuns: 2,
		SampleBytes: 1 << 10, JournalBytes: 200, IdleAfter: time.Nanosecond, ValueBytes: 2 << 10,
		Garbage: 1, DeferredBytes: 500, CloseBytes: 1, PartBytes: 2 << 10,
		Passed: 1,
	}
	// unspilled keeps transactions of some kilobytes in memory and compacts at once.
	unspilled = engine.Tuning{
		MemtableBytes: 32 << 10, TableBytes: 2 << 10, BlockBytes: 256, YoungRuns: 2,
		JournalBytes: 1 << 10, IdleAfter: time.Nanosecond, ValueBytes: 2 << 10, Garbage: 1,
		Passed: 1,
	}
	// large sends a transaction of 700 KB to the log first and then to tables, larger only to the log.
	large = engine.Tuning{
		MemtableBytes: 1200 << 10, SpillBytes: 600 << 10, TableBytes: 256 << 10, YoungRuns: 2,
	}
	larger = engine.Tuning{
		MemtableBytes: 4 << 20, SpillBytes: 2 << 20, TableBytes: 256 << 10, YoungRuns: 2,
	}
	roomy    = engine.Tuning{IdleAfter: time.Hour}
	unsynced = stoat.Options{Sync: stoat.SyncNever}
	outside  = stoat.Options{ValueThreshold: 64} // values of 64 bytes and more go outside of tables

	unsyncedOutside = stoat.Options{Sync: stoat.SyncNever, ValueThreshold: 64}

	encrypted         = stoat.Options{ValueThreshold: 64, Key: make([]byte, 32)}
	unsyncedEncrypted = stoat.Options{Sync: stoat.SyncNever, Key: make([]byte, 32)}
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
	{name: "sessions", tuning: hasty, run: sessions},
	{name: "sessions-unsynced", options: unsyncedOutside, tuning: hasty, run: sessions},
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
	{name: "parts", options: outside, tuning: scattered, run: parts},
	{name: "parts-encrypted", options: encrypted, tuning: eager, run: parts},
	{name: "spills", options: outside, tuning: scattered, run: spills},
	{name: "spills-unsynced", options: unsynced, tuning: scattered, run: spills},
	{name: "encrypted", options: encrypted, tuning: scattered, run: outsideValues},
	{name: "encrypted-reopens", options: encrypted, tuning: lazy, run: reopens},
	{name: "encrypted-unsynced", options: unsyncedEncrypted, tuning: eager, run: churn},
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
