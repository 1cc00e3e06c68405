// Package engine runs the database: it orders commits, publishes superversions, schedules flushes
// and compactions, installs their edits, and recovers.
//
// It is the only package that starts goroutines, and it holds the database mutex. What it adds to
// the packages below is order: which state follows which, what is durable when, and who waits for
// whom. Readers take no lock: a superversion is one atomic load. Writers take turns with the writer
// lock. Background goroutines exist only while there is work for them.
//
// The fields that a lock guards stand under it in Engine. Lock order: writer, appending,
// installing, the mutexes of package commit, mu. No file is read or written under the last two. The
// end of a method's name says which lock its caller holds: AsWriter the writer lock, Appending
// appending, Installing installing, Locked mu. No lock is needed while a database is opened, when
// nobody else has it, nor for what only jobs change once Close has waited for them.
package engine

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat/internal/commit"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/pick"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/wal"
)

// Engine is an open database. Safe for concurrent use.
type Engine struct {
	store
	options Options
	lineage atomic.Pointer[lineage] // never older than what readers see
	lock    vfs.Lock                // nil when read-only

	current  atomic.Pointer[superversion.Superversion] // what readers see; nil once closed
	state    atomic.Pointer[superversion.Superversion] // the same, but kept after closing
	readers  readers
	buckets  atomic.Uint64 // see BucketsChanged; written with the writer lock
	closed   atomic.Bool
	clearing atomic.Bool // a goroutine does what Passed asks for
	poisoned atomic.Pointer[poison]
	counters
	pace     pace
	rest     rest
	withheld withheld

	writer struct { // held by a transaction, or a job that may change the active memtable
		writerLock
		standing standing // how far what is on disk can be relied on
		marked   bool     // the folder has the mark of an unfinished backup
	}
	appending struct { // held to append to the log or the memtable, or to keep others from it
		sync.Mutex
		mem       *memtable.Memtable // the active memtable; replaced only with the writer lock, too
		root      memtable.Root      // its tree with all appended commits
		logNumber uint64             // of its log segment; 0 if it has none
	}
	commits *commit.Pipeline // its appender holds appending

	installing struct { // held while an edit is recorded and published
		sync.Mutex
		journal   *manifest.Journal // nil until the first edit
		journalAt uint64            // number of the newest manifest file
		copied    error             // why a copy of the manifest was read; nil if none was
		edits     int               // in the manifest, behind the version that it starts with
		logs      []uint64          // live log segments besides the active one, oldest first
		garbage   []garbage         // to be removed
		pinned    map[string]int    // files that backups copy, and how many; garbage until then
		evicted   map[string]bool   // files that Evict removes just now
	}
	evicting  sync.Mutex    // held by Evict; before appending and installing
	undeleted atomic.Bool   // installing.garbage has files whose removal failed
	numbers   atomic.Uint64 // the next file number

	mu struct { // held for moments, and when state and current are written
		sync.Mutex
		moved      sync.Cond   // something below, or the state, has changed
		sealed     []sealed    // memtables on their way to tables, oldest first
		flushing   bool        // a goroutine flushes
		compacting bool        // a goroutine compacts
		trying     bool        // a flush is under way
		attempts   int         // flushes that have ended, well or not
		stalled    error       // why the last flush failed; nil after a success
		roomless   int         // writers that wait for room for another memtable
		wake       *time.Timer // looks at what to compact at wakeAt; nil if that was never needed
		wakeAt     uint64      // in milliseconds since 1970
		running    []*running  // jobs, in the order in which they began
	}
	yield     atomic.Bool // the compacting goroutine is to stop, because Compact waits
	lookAgain atomic.Bool // there may be something to compact that it has not seen

	damaged atomic.Pointer[pick.Damaged] // what compactions leave alone for a while

	hurry   chan struct{}  // holds an item: a failed flush is to be tried again at once
	due     chan struct{}  // holds an item: a compaction cannot wait until nobody commits
	stop    chan struct{}  // closed by Close
	jobs    sync.WaitGroup // the background goroutines
	closing sync.Once
}

// newEngine returns an engine that starts with s. It runs no jobs until they are started.
func newEngine(o Options, s recovered) *Engine {
	e := &Engine{store: s.store, options: o, lock: s.lock}
	e.lineage.Store(&lineage{branch: s.branch})
	e.writer.standing, e.writer.marked = s.standing, s.marked
	e.appending.mem = newMemtable()
	e.commits = e.newPipeline()
	e.commits.Skip(s.lastCommit)
	e.rest.engine = e
	e.installing.journalAt, e.installing.edits = s.journalAt, s.edits
	e.installing.copied = s.copied
	e.numbers.Store(s.nextNumber)
	e.hurry, e.due, e.stop = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{})
	e.mu.moved.L = &e.mu.Mutex
	e.mu.sealed = s.replayed
	first := &superversion.Superversion{Levels: s.levels, Commit: s.lastCommit}
	for _, full := range s.replayed {
		e.installing.logs = append(e.installing.logs, full.log)
		first.Sealed = slices.Insert(first.Sealed, 0, full.root)
	}
	if o.Shipper != nil && o.Shipper.Withholds() {
		e.withheld.begin(s.lastCommit)
	}
	e.state.Store(first)
	e.current.Store(first)
	e.balanceLocked() // nobody else has the engine yet
	return e
}

// newPipeline returns the way of commits to the log and to readers.
func (e *Engine) newPipeline() *commit.Pipeline {
	reach := wal.Durable
	if e.options.NoSync {
		reach = wal.Written
	}
	start := time.Now()
	return commit.New(commit.Config{
		Volatile: e.options.Volatile, Reach: reach, KeptBytes: e.options.recentBytes(),
		Withheld: e.options.Shipper != nil && e.options.Shipper.Withholds(),
		Publish:  e.publishRoot,
		Owned:    func() error { return vfs.Owned(e.folder, e.lock) },
		Poison:   e.poison,
		Poisoned: e.whyPoisoned,
		Spawn:    e.jobs.Go,
		Clock:    func() time.Duration { return time.Since(start) },
	})
}

// newMemtable returns an empty memtable whose arena leaves room for the headers of the log.
func newMemtable() *memtable.Memtable { return memtable.New(wal.HeaderBytes) }

// publishLocked makes a changed copy of the state the newest, in one step for readers.
func (e *Engine) publishLocked(change func(next *superversion.Superversion)) {
	next := *e.state.Load()
	change(&next)
	e.storeLocked(&next)
	e.mu.moved.Broadcast()
}

// publishRoot makes root, the memtable with all commits up to the given one, what readers see.
func (e *Engine) publishRoot(commit uint64, root memtable.Root) {
	e.mu.Lock()
	defer e.mu.Unlock()
	next := *e.state.Load()
	next.Mem, next.Commit = root, commit
	e.storeLocked(&next)
}

// storeLocked replaces the state; a closed engine shows it to nobody new, and one that withholds
// commits not yet.
func (e *Engine) storeLocked(next *superversion.Superversion) {
	e.state.Store(next)
	if !e.withheld.keep(next) && !e.closed.Load() {
		e.current.Store(next)
	}
}

func (e *Engine) nextNumber() uint64 { return e.numbers.Add(1) - 1 }

// Sync returns when everything committed so far is durable.
func (e *Engine) Sync() error {
	if err := e.writable(); err != nil {
		if errors.Is(err, ErrReadOnly) {
			return nil
		}
		return err
	}
	return e.commits.Sync()
}

// SyncThrough returns when the commits up to the given one, which was made, are durable. It works
// on a closed engine, too.
func (e *Engine) SyncThrough(commit uint64) error { return e.commits.SyncThrough(commit) }
