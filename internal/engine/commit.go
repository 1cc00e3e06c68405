package engine

import (
	"fmt"
	"sync"

	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/wal"
)

// pipeline takes commits from "appended to the log" to "durable and visible".
//
// Plainly: a commit is appended, the log is synced, the commit's tree is published, and the caller
// returns. To share syncs, whoever finds none in progress leads: it writes and syncs all that was
// appended so far, publishes the newest tree that is covered, and wakes the rest. While it does,
// others append for the next leader. Two invariants survive: trees are published in commit order,
// and (with syncs on) never before they are durable.
//
// A large transaction leads before it ends, too, but syncs nothing: it only makes the system begin,
// so that the disk works while the transaction goes on. That saves a seventh of the time of 2 MB.
type pipeline struct {
	mu      sync.Mutex
	changed sync.Cond // on mu; something below has changed

	log     *wal.Segment // of the active memtable; nil until its first commit; set under e.turn
	queue   []appended   // not yet published, in commit order
	written uint64       // newest commit that the system has
	synced  uint64       // newest commit that is durable
	leading bool         // somebody writes or syncs, or replaces log
	err     error        // why nothing more will be written
}

// appended is a commit in the log's queue, with the tree that it makes.
type appended struct {
	commit uint64
	root   memtable.Root
}

// append hands over the last frames of a commit. The caller holds e.turn, so that commits come in
// order.
func (p *pipeline) append(frames [][]byte, commit uint64, root memtable.Root) {
	p.mu.Lock()
	p.log.Append(frames, commit, true)
	p.queue = append(p.queue, appended{commit, root})
	p.mu.Unlock()
}

// stream hands over frames of a transaction that goes on, and has them written meanwhile, so that
// little is left to do when it commits. The caller holds e.turn.
func (e *Engine) stream(frames [][]byte, commit uint64) {
	p := &e.pipeline
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log.Append(frames, commit, false)
	if p.leading || p.err != nil {
		return // who leads now may or may not take them along; the next one does
	}
	p.leading = true
	e.jobs.Go(func() {
		p.mu.Lock()
		e.leadLocked(min(e.reach(), wal.Started))
		p.mu.Unlock()
	})
}

// abandon returns when no frame of a transaction that is rolled back is needed any more. The caller
// holds the writer lock.
func (e *Engine) abandon() {
	p := &e.pipeline
	p.mu.Lock()
	defer p.mu.Unlock()
	p.await()
	if p.log != nil {
		e.leadLocked(e.reach()) // a failure shows in the next commit
		p.log.Abort()
	}
}

// skip records that the given commit, the newest, is durable without the log. The caller holds
// e.turn, and nothing is in the queue.
func (p *pipeline) skip(commit uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written, p.synced = commit, commit
}

// await returns when nobody leads. The caller holds the mutex.
func (p *pipeline) await() {
	for p.leading {
		p.changed.Wait()
	}
}

// wait returns when commit is written (and durable, if sync is set), leading if nobody does.
func (e *Engine) wait(commit uint64, sync bool) error {
	p := &e.pipeline
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.synced >= commit || !sync && p.written >= commit:
			return nil
		case p.err != nil:
			return p.err
		case p.leading:
			p.changed.Wait()
		default:
			reach := wal.Written
			if sync {
				reach = wal.Durable
			}
			e.leadLocked(reach)
			if covered := p.synced >= commit || !sync && p.written >= commit; !covered && p.err == nil {
				p.err = e.poison(fmt.Errorf("the log was written, but not up to commit %d", commit))
			}
		}
	}
}

// leadLocked takes everything appended so far as far as reach says, and publishes what may be seen
// then. The caller holds the pipeline's mutex, which is released meanwhile.
func (e *Engine) leadLocked(reach wal.Reach) {
	p := &e.pipeline
	if poison := e.poisoned.Load(); poison != nil {
		p.err, p.leading = poison, false
		p.changed.Broadcast()
		return
	}
	p.leading = true
	log := p.log
	p.mu.Unlock()
	through, err := log.Flush(reach)
	if err == nil && reach == wal.Durable {
		err = vfs.Owned(e.folder, e.lock)
	}
	e.syncs.Add(1)
	err = e.poison(err)
	p.mu.Lock()
	p.leading = false
	if err != nil {
		p.err = err
	} else {
		e.coverLocked(through, reach)
	}
	p.changed.Broadcast()
}

// reach returns how far a commit has to get before it may be seen.
func (e *Engine) reach() wal.Reach {
	if e.options.NoSync {
		return wal.Written
	}
	return wal.Durable
}

// coverLocked records that all commits up to through have got so far in the log and, if that is far
// enough, makes the newest of them what readers see.
func (e *Engine) coverLocked(through uint64, reach wal.Reach) {
	p := &e.pipeline
	p.written = max(p.written, through)
	if reach == wal.Durable {
		p.synced = max(p.synced, through)
	}
	if reach < e.reach() {
		return
	}
	n := 0
	for n < len(p.queue) && p.queue[n].commit <= through {
		n++
	}
	if n == 0 {
		return
	}
	e.publishRoot(p.queue[n-1].root, p.queue[n-1].commit)
	rest := copy(p.queue, p.queue[n:])
	clear(p.queue[rest:])
	p.queue = p.queue[:rest]
}
