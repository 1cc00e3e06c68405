package ship

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/retry"
)

// commitPause is how long files wait for commits, before an object of the log is made for nothing
// but that they set off: while a new writer has one object on its way, its first commit would have
// to wait for that one. If a commit is due that only files bring, they do not wait: no other one
// may come before it.
const commitPause = 50 * time.Millisecond

// cargo is the files of one version on their way to the store.
//
// Those of this epoch set off once a log object counts that was prepared when they existed. A copy
// of the running machine has the same claim, and makes other files of the same numbers: only one of
// the two gets such an object into the log. What both have, they had before the machine was copied.
type cargo struct {
	changed atomic.Bool // there is a newer version than the one that is held

	mu     sync.Mutex
	held   *engine.Held      // nil if there is none
	after  uint64            // how many log objects had been prepared when it was taken
	since  time.Time         // when it was taken
	files  []dataFile        // what the store lacks of it
	free   bool              // none of them is of this epoch, so none has to wait
	stored bool              // all its files are in the store
	busy   bool              // they are being stored
	sent   map[dataFile]bool // files that are in the store, and perhaps not in the version there

	ripe  <-chan time.Time // has an item once the files have waited for long enough, the loop's
	tries int              // how often in a row no file could be stored, storeHeld's
}

// edit returns what leads from a version to the one whose files are stored; nil if there is none.
func (c *cargo) edit(from *manifest.Version) *manifest.Edit {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stored {
		return nil
	}
	return from.EditTo(c.held.Version)
}

// filesWait reports whether files wait for a log object, and whether they have waited for commits
// for long enough. It is for the loop. A database that is being closed stores no more files.
func (s *Shipper) filesWait() (wait, isDue bool) {
	c := &s.cargo
	c.mu.Lock()
	defer c.mu.Unlock()
	wait = c.held != nil && !c.busy && !c.stored && !c.free && s.prepared == c.after &&
		!s.closing.Load()
	return wait, wait && time.Since(c.since) >= commitPause
}

// release lets the files go. They are not being stored any more.
func (c *cargo) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.letGoLocked()
}

func (c *cargo) letGoLocked() {
	if c.held != nil {
		c.held.Release()
	}
	c.held, c.files, c.stored = nil, nil, false
}

// load takes the files of the newest version, unless others are on their way, and begins to store
// them once they may. It lets files go if the log has led to their version.
func (s *Shipper) load(ctx context.Context) {
	s.writing.Lock()
	there := s.writer.State().Version
	s.writing.Unlock()
	c := &s.cargo
	c.mu.Lock()
	defer c.mu.Unlock()
	s.deliveredLocked(there)
	if !c.busy && c.held == nil && c.changed.Swap(false) {
		c.held, c.after, c.since = s.engine.Hold(), s.prepared, time.Now()
		c.stored = there.EditTo(c.held.Version) == nil
		c.files = filesBeyond(c.held.Version, there)
		if c.free = !slices.ContainsFunc(c.files, s.isOwn); !c.free {
			c.ripe = time.After(commitPause)
		}
		s.deliveredLocked(there)
	}
	if c.busy || c.held == nil || c.stored || !c.free && s.counted <= c.after {
		return
	}
	if s.whyEnded() != nil {
		return // nobody would delete them
	}
	c.busy = true
	held, files := c.held, c.files
	s.running.Go(func() { s.storeHeld(ctx, held, files) })
}

// storeHeld tries to store the files of the version that is held; one call at a time. If it cannot,
// it waits before the next try, which asks whether this is still the writer: while the store did
// not answer, another one may have deleted what this one has left, and does so once.
func (s *Shipper) storeHeld(ctx context.Context, held *engine.Held, files []dataFile) {
	c := &s.cargo
	var err error
	if c.tries > 0 {
		err = s.confirmOnce(ctx)
	}
	if err == nil || errors.Is(err, history.ErrMoved) { // the log has gone on, so the store answers
		err = s.storeFiles(ctx, held, files)
	}
	if c.tries++; err != nil {
		s.note(err)
		retry.Sleep(ctx, retry.BackOff(c.tries), nil)
	} else {
		c.tries = 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy, c.stored = false, err == nil; err != nil && c.changed.Load() {
		c.letGoLocked() // the newer version may need fewer files
	}
	poke(s.wake)
}

// isOwn reports whether a file was made under this shipper's claim.
func (s *Shipper) isOwn(d dataFile) bool { return d.number>>history.EpochShift == s.epoch }

// deliveredLocked lets files go if the log has led to their version.
func (s *Shipper) deliveredLocked(there *manifest.Version) {
	c := &s.cargo
	if c.stored && there.EditTo(c.held.Version) == nil {
		s.collector.delivered(there)
		poke(s.stock.due)
		c.letGoLocked()
		clear(c.sent)
	}
}
