// Package commit takes transactions from the memtable to "durable and visible", and shows commits
// to followers in their order.
//
// A [Pipeline] takes a commit through three steps: append its frames to the log, sync the log,
// publish the tree that the commit makes. To share syncs, a waiting committer that finds none in
// progress leads: it gathers the commits of concurrent callers, writes and syncs everything
// appended so far, publishes the newest tree that this covers, and wakes the committers that it
// covers and the next leader. Meanwhile others append for that leader. Trees are published in
// commit order, and with syncs on never before they are durable (Invariant I1).
//
// A [Follower] gets the newest commits from copies that the pipeline keeps while anybody follows,
// and older ones from the log segments in the folder, without a lock. A slow follower delays no
// commit; if it falls behind what is kept and logged, it ends with [ErrLagged].
//
// The package starts no goroutine, opens no segment for writing and knows no policy: its [Config]
// says how to publish, how to fail and who runs what is to run in the background.
//
// Its two mutexes, that of the pipeline and that of the copies, are never held together.
package commit

import (
	"context"
	"fmt"
	"math"
	"runtime/trace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/wal"
)

// Config is what a pipeline needs from the database that it serves.
type Config struct {
	Volatile  bool      // there is no log: a commit is visible as soon as it is appended
	Reach     wal.Reach // how far a commit must get before it is visible: Written or Durable
	KeptBytes int64     // how much of the newest commits is kept while anybody follows
	Withheld  bool      // followers see what was published once it is passed to [Pipeline.Show]

	// Publish makes root, the tree with all commits up to the given one, what readers see. It is
	// called in commit order, with the pipeline's mutex held unless Volatile, so it must not call
	// back.
	Publish func(commit uint64, root memtable.Root)
	// Owned returns an error if the directory or its lock is no longer the database's. It is called
	// after a sync of the log, which has checked the log's own name.
	Owned func() error
	// Poison ends all writing because of cause, and returns the error for those who wait.
	Poison func(cause error) error
	// Poisoned returns why all writing has ended, or nil. It is called with the mutex held.
	Poisoned func() error
	// Spawn runs fn in the background. It is called with the mutex held.
	Spawn func(fn func())
	// Clock returns the time since some fixed moment.
	Clock func() time.Duration
}

// Pipeline takes commits from "appended to the log" to "durable and visible".
//
// The appender calls NeedsLog, StartLog, LogSize, LogNameIsDurable, Reserve, Stream, Append,
// Rollback, Skip, Adopt and Follow, one at a time. All other methods are safe for concurrent use.
//
// A large transaction is streamed: it hands over frames before it ends, which are written but not
// synced, so the disk works while the transaction goes on. That saves a seventh of the time of a
// transaction of 2 MB.
type Pipeline struct {
	config   Config
	Syncs    atomic.Uint64 // counts writes of the log, synced or not; commits share them
	LogBytes atomic.Uint64 // counts bytes of frames given to the log

	streamed [][]byte      // payloads that the appender's transaction has streamed
	newest   atomic.Uint64 // the newest appended commit
	visible  atomic.Uint64 // the newest published commit
	shown    atomic.Uint64 // the newest one that followers see, if commits are withheld
	recent   recent

	mu      sync.Mutex
	log     *wal.Segment // of the active memtable; nil until its first commit; set by the appender
	queue   []appended   // not yet published, in commit order
	written uint64       // the newest commit that the operating system has
	synced  uint64       // the newest commit that is durable
	err     error        // why nothing more will be written

	leading   bool         // a leader gathers, writes or syncs
	taken     uint64       // the newest commit that it takes along
	turn      int          // the number of its turn, or of the last one
	turns     [2]sync.Cond // signal the end of this turn and of the next, by number modulo 2
	gathering gathering
}

// appended is a commit in the log's queue and the tree that it makes.
type appended struct {
	commit uint64
	root   memtable.Root
}

// New returns a pipeline without a log, for a database without commits.
func New(config Config) *Pipeline {
	p := &Pipeline{config: config}
	p.turns[0].L, p.turns[1].L = &p.mu, &p.mu
	p.recent.limit = config.KeptBytes
	return p
}

// Newest returns the newest commit that was appended. It may not be visible yet.
func (p *Pipeline) Newest() uint64 { return p.newest.Load() }

// StartLog sets the log segment for the commits that follow.
func (p *Pipeline) StartLog(log *wal.Segment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = log
}

// NeedsLog reports whether a log segment must be started before the next commit.
func (p *Pipeline) NeedsLog() bool { return p.log == nil && !p.config.Volatile }

// LogSize returns the size of the log segment with all that was appended, 0 if there is none.
func (p *Pipeline) LogSize() int64 {
	if p.log == nil {
		return 0
	}
	return p.log.Size()
}

// LogNameIsDurable records that the log's file name, if there is a log, has become durable.
func (p *Pipeline) LogNameIsDurable() {
	if p.log != nil {
		p.log.NameIsDurable()
	}
}

// Reserve makes room for frames of size bytes in the log, which must have been started, so that a
// full disk fails a commit before anything of it is written.
func (p *Pipeline) Reserve(size int64) error {
	if p.config.Volatile {
		return nil
	}
	err := p.log.Reserve(size)
	if failed := p.log.Err(); failed != nil {
		return p.config.Poison(failed)
	}
	return err
}

// Stream takes over what edit has written since the last Stream, and has it written to the log in
// the background, so little is left to do at the commit. The log must have room for it.
func (p *Pipeline) Stream(edit *memtable.Edit) {
	if p.config.Volatile {
		return
	}
	p.streamed = append(p.streamed, edit.Pending()...)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.takeLocked(edit, p.newest.Load()+1, moreFollow)
	if p.leading || p.err != nil {
		return // the current leader may take the frames along; if not, the next one does
	}
	p.beginTurnLocked()
	p.config.Spawn(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.takeTurnLocked(min(p.config.Reach, wal.Started)) // without syncs, only write
	})
}

// Append makes edit the newest commit, and returns its number and its tree. It becomes visible when
// [Pipeline.Wait] returns. The log must have room for it.
func (p *Pipeline) Append(edit *memtable.Edit) (commit uint64, root memtable.Root) {
	commit = p.newest.Load() + 1
	p.recent.addEdit(commit, p.streamed, edit)
	p.streamed = nil
	if p.config.Volatile {
		root = edit.Commit()
		p.publish(commit, root)
	} else {
		p.mu.Lock()
		p.takeLocked(edit, commit, theLast)
		root = edit.Commit()
		p.queue = append(p.queue, appended{commit, root})
		p.mu.Unlock()
	}
	p.newest.Store(commit) // not before it is in the queue, where Sync looks for it
	return commit, root
}

// ends says whether frames are the last of their commit.
type ends bool

const (
	moreFollow ends = false
	theLast    ends = true
)

// takeLocked moves the frames of edit to the log's queue.
func (p *Pipeline) takeLocked(edit *memtable.Edit, commit uint64, end ends) {
	start := p.log.Size()
	p.log.Append(edit.TakeFrames(start), commit, bool(end))
	p.LogBytes.Add(uint64(p.log.Size() - start))
}

// Rollback writes what the appender's transaction has streamed, so that the caller may reuse its
// memory. It does not sync.
func (p *Pipeline) Rollback() {
	p.streamed = nil
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waitLeaderLocked()
	if p.log != nil {
		p.leadLocked(wal.Written) // a failure shows in the next commit
		p.log.Abort()
	}
}

// Skip records that commit, the newest, is durable and visible without the log. Nothing may be
// queued.
func (p *Pipeline) Skip(commit uint64) {
	p.streamed = nil
	p.recent.add(commit, nil)
	p.mu.Lock()
	p.written, p.synced = commit, commit
	p.mu.Unlock()
	p.newest.Store(commit) // not before it counts as synced, or Sync would look for it in the log
	p.show(commit)
}

// EndLog waits for the leader, then returns the log segment and forgets it; nil if there is none.
func (p *Pipeline) EndLog() *wal.Segment {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waitLeaderLocked()
	log := p.log
	p.log = nil
	return log
}

// Written waits for the leader, then returns how many bytes of the log segment are written and the
// newest commit in them; ok is false if there is no segment, or none that can be relied on.
func (p *Pipeline) Written() (size int64, through uint64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waitLeaderLocked()
	if p.log == nil || p.log.Err() != nil {
		return 0, 0, false
	}
	size, through = p.log.Written()
	return size, through, true
}

func (p *Pipeline) waitLeaderLocked() {
	for p.leading {
		p.turns[p.turn%2].Wait()
	}
}

// Wait returns when commit is visible, leading if nobody does.
func (p *Pipeline) Wait(commit uint64) error { return p.wait(commit, p.config.Reach) }

// Sync returns when all commits appended so far are durable, and visible.
func (p *Pipeline) Sync() error { return p.wait(p.newest.Load(), wal.Durable) }

// SyncThrough is Sync for the commits up to the given one. One that is in tables is durable before
// it is appended.
func (p *Pipeline) SyncThrough(commit uint64) error {
	return p.wait(min(commit, p.newest.Load()), wal.Durable)
}

func (p *Pipeline) wait(commit uint64, reach wal.Reach) error {
	if p.config.Volatile {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.coveredLocked(commit, reach):
			return nil
		case p.err != nil:
			return p.err
		case p.leading && commit <= p.taken:
			p.turns[p.turn%2].Wait()
		case p.leading:
			p.turns[(p.turn+1)%2].Wait()
		default:
			p.leadLocked(reach)
			if !p.coveredLocked(commit, reach) && p.err == nil {
				p.err = p.config.Poison(
					fmt.Errorf("the log was written, but not up to commit %d", commit))
			}
		}
	}
}

// coveredLocked reports whether commit has got as far as reach says.
func (p *Pipeline) coveredLocked(commit uint64, reach wal.Reach) bool {
	return p.synced >= commit || reach == wal.Written && p.written >= commit
}

// leadLocked takes everything appended so far as far as reach says, and publishes what may be seen
// then. It releases the mutex meanwhile.
func (p *Pipeline) leadLocked(reach wal.Reach) {
	p.beginTurnLocked()
	p.takeTurnLocked(reach)
}

// beginTurnLocked makes the caller the leader. Until it has said what it takes along, everybody
// waits for the end of its turn.
func (p *Pipeline) beginTurnLocked() {
	p.turn++
	p.leading, p.taken = true, math.MaxUint64
}

// takeTurnLocked is leadLocked for a leader whose turn has begun.
func (p *Pipeline) takeTurnLocked(reach wal.Reach) {
	if reach == wal.Durable && reach == p.config.Reach {
		p.gatherLocked()
	}
	if err := p.config.Poisoned(); err != nil {
		p.err = err
		p.endTurnLocked()
		return
	}
	p.taken = 0
	if n := len(p.queue); n > 0 {
		p.taken = p.queue[n-1].commit
	}
	log := p.log
	p.mu.Unlock()
	region := trace.StartRegion(context.Background(), "stoat.write")
	start := p.config.Clock()
	through, err := log.Write(reach)
	if err == nil && reach == wal.Durable {
		err = p.config.Owned()
	}
	took := p.config.Clock() - start
	region.End()
	p.Syncs.Add(1)
	if err != nil {
		err = p.config.Poison(err)
	}
	p.mu.Lock()
	if reach == wal.Durable {
		p.gathering.callers, p.gathering.syncTime = p.newest.Load()-p.synced, took
	}
	if err != nil {
		p.err = err
	} else {
		p.coverLocked(through, reach)
	}
	if through > p.taken { // what was appended while the mutex was released waits for the next turn
		p.turns[(p.turn+1)%2].Broadcast()
	}
	p.endTurnLocked()
}

// endTurnLocked wakes the committers that the leader took along, and the next leader.
func (p *Pipeline) endTurnLocked() {
	p.leading = false
	current, next := &p.turns[p.turn%2], &p.turns[(p.turn+1)%2]
	current.Broadcast()
	if p.err != nil {
		next.Broadcast() // nobody leads any more
	} else {
		next.Signal()
	}
}

// coverLocked records that all commits up to through have got as far as reach says and, if that is
// far enough, makes the newest of them visible.
func (p *Pipeline) coverLocked(through uint64, reach wal.Reach) {
	p.written = max(p.written, through)
	if reach == wal.Durable {
		p.synced = max(p.synced, through)
	}
	if reach < p.config.Reach {
		return
	}
	n := 0
	for n < len(p.queue) && p.queue[n].commit <= through {
		n++
	}
	if n == 0 {
		return
	}
	p.publish(p.queue[n-1].commit, p.queue[n-1].root)
	rest := copy(p.queue, p.queue[n:])
	clear(p.queue[rest:])
	p.queue = p.queue[:rest]
}
