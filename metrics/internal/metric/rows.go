package metric

import (
	"errors"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/remote"
)

// counter returns a row that only grows.
func counter[S any](name string, unit Unit, help string, value func(*S) float64) row[S] {
	return row[S]{Metric{name: name, Unit: unit, Counter: true, Help: help}, value}
}

// gauge returns a row that goes up and down.
func gauge[S any](name string, unit Unit, help string, value func(*S) float64) row[S] {
	return row[S]{Metric{name: name, Unit: unit, Help: help}, value}
}

// stateRows are read from the error of [stoat.DB.Err].
func stateRows() []row[error] {
	return []row[error]{
		gauge("open", "", "1 while the database is open; once it is closed, 0 and the only metric.",
			func(err *error) float64 { return flag(!errors.Is(*err, stoat.ErrClosed)) }),
		gauge("poisoned", "", "1 if writing has stopped after a failed write, 0 if not.",
			func(err *error) float64 { return flag(errors.Is(*err, stoat.ErrPoisoned)) }),
	}
}

// statsRows has a row for each field of [stoat.Stats].
func statsRows() []row[stoat.Stats] { return slices.Concat(workRows(), sizeRows()) }

// workRows are what was done.
func workRows() []row[stoat.Stats] {
	type s = stoat.Stats
	return []row[s]{
		counter("commits", "", "Transactions committed since the database was created.",
			func(s *s) float64 { return float64(s.Commits) }),
		counter("log_writes", "", "Writes of the log, which concurrent commits share.",
			func(s *s) float64 { return float64(s.Syncs) }),
		counter("flushes", "", "Memtables written into tables.",
			func(s *s) float64 { return float64(s.Flushes) }),
		counter("compactions", "", "Compactions that succeeded.",
			func(s *s) float64 { return float64(s.Merges) }),
		counter("background_failures", "", "Flushes and compactions that failed; they are tried again.",
			func(s *s) float64 { return float64(s.Failures) }),
		counter("no_space_failures", "",
			"Commits, flushes and compactions that failed because the device or the quota was full.",
			func(s *s) float64 { return float64(s.NoSpace) }),
		counter("commit_delay", Seconds,
			"Time for which commits were delayed so that flushes and compactions keep up.",
			func(s *s) float64 { return s.Delay.Seconds() }),

		counter("committed", Bytes, "Keys and values committed, and keys deleted.",
			func(s *s) float64 { return float64(s.CommittedBytes) }),
		counter("log_written", Bytes, "Bytes written to the log.",
			func(s *s) float64 { return float64(s.LogBytes) }),
		counter("flushed", Bytes, "Bytes written by flushes, large transactions and loads.",
			func(s *s) float64 { return float64(s.FlushedBytes) }),
		counter("compacted", Bytes, "Bytes written by compactions.",
			func(s *s) float64 { return float64(s.MergedBytes) }),
		counter("checked", Bytes, "Bytes of files verified by checks.",
			func(s *s) float64 { return float64(s.CheckedBytes) }),
		counter("backup_files", "", "Files copied or linked by backups.",
			func(s *s) float64 { return float64(s.BackupFiles) }),
		counter("backup", Bytes, "Bytes copied or linked by backups.",
			func(s *s) float64 { return float64(s.BackupBytes) }),
		counter("backup_kept_files", "", "Files that were in the backup already.",
			func(s *s) float64 { return float64(s.BackupKept) }),
		counter("backup_kept", Bytes, "Bytes of files that were in the backup already.",
			func(s *s) float64 { return float64(s.BackupKeptBytes) }),
	}
}

// sizeRows are what there is.
func sizeRows() []row[stoat.Stats] {
	type s = stoat.Stats
	return []row[s]{
		gauge("entries", "", "Entries, including older ones of the same key.",
			func(s *s) float64 { return float64(s.Entries) }),
		gauge("tombstones", "", "Entries in tables that mark a key as deleted.",
			func(s *s) float64 { return float64(s.Tombstones) }),
		gauge("young_runs", "", "Sorted runs that wait to be compacted.",
			func(s *s) float64 { return float64(s.YoungRuns) }),
		gauge("dropped_ranges", "", "Ranges of dropped buckets whose contents still take space.",
			func(s *s) float64 { return float64(s.DroppedRuns) }),
		gauge("tables", "", "Table files.",
			func(s *s) float64 { return float64(s.Tables) }),
		gauge("table_size", Bytes, "Size of the table files.",
			func(s *s) float64 { return float64(s.TableBytes) }),
		gauge("table_raw", Bytes, "Size of the keys and values in tables, before compression.",
			func(s *s) float64 { return float64(s.RawBytes) }),
		gauge("value_files", "", "Files with large values, including log segments that serve as such.",
			func(s *s) float64 { return float64(s.ValueFiles) }),
		gauge("value_file_size", Bytes, "Size of the files with large values.",
			func(s *s) float64 { return float64(s.ValueFileBytes) }),
		gauge("value_file_live", Bytes, "Large values that tables point to; the rest is garbage.",
			func(s *s) float64 { return float64(s.ValueBytes) }),
		gauge("compaction_pending", Bytes, "Work left for compactions.",
			func(s *s) float64 { return float64(s.PendingBytes) }),
		gauge("settled_size", Bytes, "What compactions would leave of the files, roughly.",
			func(s *s) float64 { return float64(s.LiveBytes) }),

		gauge("memtable", Bytes, "Memory of memtables.",
			func(s *s) float64 { return float64(s.MemtableBytes) }),
		gauge("cache", Bytes, "Memory of decoded blocks.",
			func(s *s) float64 { return float64(s.CacheBytes) }),
		gauge("memory_limit", Bytes, "Limit of the memory of memtables and decoded blocks together.",
			func(s *s) float64 { return float64(s.MemoryLimit) }),
	}
}

// remoteRows has rows for [remote.Status].
func remoteRows() []row[remote.Status] {
	type s = remote.Status
	return []row[s]{
		gauge("remote_epoch", "", "Epoch of this writer; a later writer has a higher one.",
			func(s *s) float64 { return float64(s.Epoch) }),
		gauge("remote_newest_commit", "", "The newest commit of the database.",
			func(s *s) float64 { return float64(s.Commit) }),
		gauge("remote_shipped_commit", "", "The newest commit that the store has, with all before it.",
			func(s *s) float64 { return float64(s.Shipped) }),
		gauge("remote_lag", Seconds, "For how long the oldest commit that the store lacks has waited.",
			func(s *s) float64 { return s.Lag.Seconds() }),
		counter("remote_requests", "", "Requests to the store.",
			func(s *s) float64 { return float64(s.Requests) }),
		counter("remote_sent", Bytes, "Bytes sent to the store.",
			func(s *s) float64 { return float64(s.Bytes) }),
		gauge("remote_local_size", Bytes, "Size of the tables and value files in the folder.",
			func(s *s) float64 { return float64(s.LocalBytes) }),
		gauge("remote_stored_size", Bytes, "Size of those that are only in the store.",
			func(s *s) float64 { return float64(s.RemoteBytes) }),
		gauge("remote_failing", "", "1 if the last request to ship failed, 0 if not.",
			func(s *s) float64 { return flag(s.Failed != nil) }),
		gauge("remote_uncollected", "", "1 if the last try to delete what nobody needs failed, 0 if not.",
			func(s *s) float64 { return flag(s.Uncollected != nil) }),
		gauge("remote_unevicted", "", "1 if the last try to keep the folder's limit failed, 0 if not.",
			func(s *s) float64 { return flag(s.Unevicted != nil) }),
		gauge("remote_unfilled", "", "1 if a file was ever not fetched into the cache, 0 if not.",
			func(s *s) float64 { return flag(s.Unfilled != nil) }),
		gauge("remote_unfilled_time", Seconds,
			"When a file was not fetched into the cache, the last time, since 1970; 0: never.",
			func(s *s) float64 { return stamp(s.UnfilledAt) }),
		gauge("remote_ended", "", "1 if nothing is shipped any more, 0 if it is.",
			func(s *s) float64 { return flag(s.Ended != nil) }),
	}
}

// readerRows has rows for [remote.ReaderStatus].
func readerRows() []row[remote.ReaderStatus] {
	type s = remote.ReaderStatus
	return []row[s]{
		gauge("remote_reader_age", Seconds, "For how long there may be newer commits in the store.",
			func(s *s) float64 { return s.Age.Seconds() }),
		counter("remote_reader_requests", "", "Requests to the store.",
			func(s *s) float64 { return float64(s.Requests) }),
		counter("remote_reader_received", Bytes, "Bytes received from the store.",
			func(s *s) float64 { return float64(s.Bytes) }),
		gauge("remote_reader_taking_over", "", "1 while it tries to become the writer, 0 otherwise.",
			func(s *s) float64 { return flag(!s.TakingOver.IsZero()) }),
		gauge("remote_reader_failing", "", "1 if the last look at the store failed, 0 if not.",
			func(s *s) float64 { return flag(s.Failed != nil) }),
	}
}
