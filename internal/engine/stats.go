package engine

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/pick"
	"github.com/stoatdb/stoat/internal/tools/backup"
	"github.com/stoatdb/stoat/internal/vfs"
)

// counters holds what the engine has done since it was opened, and how it stands.
type counters struct {
	flushes, compactions    atomic.Uint64
	committedBytes          atomic.Uint64 // bytes of the keys and values of commits
	flushed, compactedBytes atomic.Uint64 // bytes written to tables and value files
	backups                 backup.Meter
	checked                 atomic.Uint64 // bytes of files verified by Check
	failures, noSpace       atomic.Uint64 // of jobs; and of jobs and commits, for lack of space
}

// countNoSpace counts an error that is for lack of space; nil and other errors do not count.
func (c *counters) countNoSpace(err error) {
	if errors.Is(err, vfs.ErrNoSpace) {
		c.noSpace.Add(1)
	}
}

// jobFailed counts a flush or a compaction that will be tried again.
func (c *counters) jobFailed(err error) {
	c.failures.Add(1)
	c.countNoSpace(err)
}

// Stats describes an engine at one moment.
type Stats struct {
	Commits uint64 // transactions committed since the database was created
	Syncs   uint64 // writes of the log since opening, synced or not; concurrent commits share them
	Flushes uint64 // memtables written into tables since opening
	Merges  uint64 // compactions since opening

	Failures uint64 // flushes and compactions that failed since opening
	NoSpace  uint64 // commits, flushes and compactions that found no space since opening

	CommittedBytes uint64        // keys and values of what was committed since opening
	LogBytes       uint64        // written to the log since opening
	FlushedBytes   uint64        // written to tables and value files but by compactions, since opening
	MergedBytes    uint64        // written to tables and value files by compactions, since opening
	CheckedBytes   uint64        // of files that Check has verified since opening
	Delay          time.Duration // for which commits were held back since opening, in sum

	BackupFiles     uint64 // files copied to backups since opening
	BackupBytes     uint64 // their size so far
	BackupKept      uint64 // files that were in backups already
	BackupKeptBytes uint64 // their size, as far as they were compared

	Entries     uint64 // entries in tables and memtables, older ones of the same key included
	Tombstones  uint64 // those of Entries in tables that say a key is gone
	YoungRuns   int    // runs that wait to be compacted
	DroppedRuns int    // ranges of dropped buckets whose contents are not all removed yet

	Tables         int    // table files
	TableBytes     uint64 // their size
	RawBytes       uint64 // keys and values in them, before compression
	ValueFiles     int    // files that tables point into
	ValueFileBytes uint64 // their size
	ValueBytes     uint64 // values in them that tables point to
	// PendingBytes is tables of young runs, deferred values, garbage in value files, and what is
	// deleted with whole ranges and buckets.
	PendingBytes uint64
	LiveBytes    uint64 // about what compactions will leave: the largest run with its values

	MemtableBytes int64 // memory of memtables
	CacheBytes    int64 // memory of decoded blocks
	MemoryLimit   int64 // of both together
}

// Stats returns the current numbers, of a closed engine without what was deleted at once.
func (e *Engine) Stats() Stats {
	state := e.state.Load()
	s := Stats{
		Commits:         e.commits.Newest(),
		Syncs:           e.commits.Syncs.Load(),
		Flushes:         e.flushes.Load(),
		Merges:          e.compactions.Load(),
		Failures:        e.failures.Load(),
		NoSpace:         e.noSpace.Load(),
		CommittedBytes:  e.committedBytes.Load(),
		LogBytes:        e.commits.LogBytes.Load(),
		FlushedBytes:    e.flushed.Load(),
		MergedBytes:     e.compactedBytes.Load(),
		CheckedBytes:    e.checked.Load(),
		Delay:           time.Duration(e.pace.delayed.Load()),
		BackupFiles:     e.backups.Files.Load(),
		BackupBytes:     e.backups.Bytes.Load(),
		BackupKept:      e.backups.Kept.Load(),
		BackupKeptBytes: e.backups.KeptBytes.Load(),
		Entries:         uint64(state.Mem.Len()),
		MemtableBytes:   e.memory.memtables(),
		CacheBytes:      e.memory.cache.Bytes(),
		MemoryLimit:     e.memory.limit + e.memory.extra.Load(),
	}
	for _, root := range state.Sealed {
		s.Entries += uint64(root.Len())
	}
	s.addVersion(state.Levels.Version)
	if e.options.Compression != CompressionNone {
		s.PendingBytes += pick.DeferredBytes(state.Levels.Version)
	}
	e.asJob(func() {
		deleted, dropped := e.deletedBy(state)
		s.DroppedRuns += dropped
		s.PendingBytes += state.Levels.Garbage(deleted, e.closed.Load).Bottom
	})
	return s
}

func (s *Stats) addVersion(v *manifest.Version) {
	s.YoungRuns, s.DroppedRuns = len(v.Young), len(v.Dropped)
	bottom := v.Bottom
	front, begun := v.Front()
	for i, r := range v.Young {
		if begun && i == front.At { // the bottom run to be
			bottom.Tables = slices.Concat(r.Tables, bottom.Tables)
			continue
		}
		s.addRun(r)
		s.PendingBytes += r.Bytes()
	}
	s.addRun(bottom)
	for _, f := range v.ValueFiles {
		s.ValueFiles++
		s.ValueFileBytes += f.Size
		s.ValueBytes += f.Live
		s.PendingBytes += f.Garbage()
	}
}

func (s *Stats) addRun(r manifest.Run) {
	bytes := uint64(0)
	for _, t := range r.Tables {
		s.Tables++
		s.TableBytes += t.Size
		s.RawBytes += t.RawBytes
		s.Entries += t.Entries
		s.Tombstones += t.Tombstones
		bytes += t.Size
		for _, share := range t.Values {
			bytes += share.Bytes
		}
	}
	s.LiveBytes = max(s.LiveBytes, bytes)
}
