// Package tail keeps a replica of a database at the end of its log in a store.
//
// A [Tail] opens the replica with what is in the store, in a few round trips, and then asks for the
// next log object again and again. Commits go into the replica's memory, and the edits of files
// change what it reads from the store. If a part of the log is missing, it goes on from a newer
// state, which the replica shows in one step: so readers see states of the database in their order,
// however many they miss. Nothing is ever written to the store, so whoever writes to the database
// does not notice.
//
// One goroutine follows the log; it ends with [Tail.Close]. What goes wrong is tried again, without
// end, while the replica shows what it has.
package tail

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/remote/internal/clonestore"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/internal/retry"
	"github.com/stoatdb/stoat/remote/objstore"
)

const (
	// pauseShare of a pause, as a divisor, is by how much the next one is longer while nothing
	// happens.
	pauseShare = 4
	// lookEvery is how often a tail that finds nothing asks for a newer state.
	lookEvery = time.Minute
)

// Config says how to follow a log.
type Config struct {
	Poll, PollMax time.Duration // between two looks at the log: at first, and if nothing happens

	// AtOnce says that TakeOver is called at once, and that nobody reads before. So claims in the log
	// need no look back, the first try need not look at the log again, and its caller is told what
	// fails rather than waiting for a store to recover.
	AtOnce bool

	// Replica opens the replica of a database, given the id of the first object of its log.
	Replica func(database, first [16]byte) (*engine.Replica, error)
	// Claimed is called with all claims, in their order, before the replica shows what the writer of
	// the newest one has made.
	Claimed func(history.Claims)
}

// Tail follows the log of a database. Its exported methods are safe for concurrent use.
type Tail struct {
	config   Config
	store    objstore.Store
	follower *history.Follower
	replica  *engine.Replica
	claimed  object.ID // the newest claim of the state whose branches the replica knows
	attached bool      // the newest state has an origin
	behind   bool      // the replica is not at the follower's state
	looked   time.Time // when the newest state was asked for
	touched  time.Time // when the last try ended

	stop    context.CancelFunc
	running sync.WaitGroup
	wake    chan struct{} // holds an item: look at the log now
	waiting atomic.Int64  // how many wait for a position
	gone    atomic.Bool   // a file is missing, so a newer state may be stored

	mu      sync.Mutex
	moved   chan struct{} // closed when something below, or what the replica shows, has changed
	current time.Time     // when the replica had all of the log
	failed  error         // of the last try; nil after a success
	ended   bool

	claimSince  time.Time // since when the role of the writer is being taken; zero if it is not
	claimFailed error     // of the last try of that
}

// Open opens the replica of the database in the log's store, and follows it until Close. If there
// is none, the error matches objstore.ErrNotExist. Afterwards the context has no effect.
func Open(ctx context.Context, log *history.Log, c Config) (*Tail, error) {
	t := &Tail{
		config: c, store: log.Store, moved: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	t.looked = time.Now()
	t.current, t.touched = t.looked, t.looked
	var end uint64
	var err error
	if t.follower, end, err = log.Open(ctx); err != nil {
		return nil, err
	}
	if c.AtOnce {
		t.follower.ToClaim()
	}
	if t.replica, err = c.Replica(t.follower.State().Database, t.follower.First()); err != nil {
		return nil, err
	}
	err = t.reset(ctx)
	for more := true; err == nil && more && t.follower.State().Number < end; {
		more, err = t.step(ctx)
	}
	if err == nil {
		err = clonestore.Lend(ctx, log, t.follower.State()) // before anybody is shown it
	}
	if err != nil {
		return nil, errors.Join(err, t.replica.Close())
	}
	t.resume()
	return t, nil
}

// resume follows the log in the background, until pause.
func (t *Tail) resume() {
	ctx, stop := context.WithCancel(context.Background())
	t.stop = stop
	t.running.Go(func() { t.loop(ctx) })
}

// pause ends that for now.
func (t *Tail) pause() {
	t.stop()
	t.running.Wait()
}

// Close ends following. It does not close the replica.
func (t *Tail) Close() {
	t.pause()
	t.close()
}

func (t *Tail) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		t.ended = true
		t.moveLocked()
	}
}

// loop follows the log until ctx ends.
func (t *Tail) loop(ctx context.Context) {
	pause, tries := t.config.Poll, 0
	sleep(ctx, pause, t.wake)
	for ctx.Err() == nil {
		began := time.Now()
		more, err := t.step(ctx)
		if err == nil && !more && (t.gone.Swap(false) || tries > 0 || t.isDue(began)) {
			more, err = t.jump(ctx)
			t.looked = began
		}
		t.touched = time.Now()
		if ctx.Err() != nil {
			return
		}
		t.note(began, more, err)
		switch {
		case err != nil:
			tries++
			sleep(ctx, min(retry.BackOff(tries), t.config.PollMax), t.wake)
		case more:
			tries, pause = 0, t.config.Poll
		default:
			tries = 0
			if woken := sleep(ctx, pause, t.wake); woken || t.waiting.Load() > 0 {
				pause = t.config.Poll
			} else {
				pause = min(pause+pause/pauseShare, t.config.PollMax)
			}
		}
	}
}

// isDue reports whether to ask for a newer state: the next log object may have been deleted. That
// is likely if this process has not run for a while.
func (t *Tail) isDue(now time.Time) bool {
	return now.Sub(t.looked) > lookEvery || now.Sub(t.touched) > 2*t.config.PollMax
}

// isCurrent reports whether the replica has had all of the log a moment ago: then a claim needs no
// look at the log before, as it is not likely that the number after that has been deleted.
func (t *Tail) isCurrent(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed == nil && now.Sub(t.current) <= 2*t.config.PollMax
}

// step reads the next object of the log, and makes the replica show what it says. It reports
// whether there may be more.
func (t *Tail) step(ctx context.Context) (more bool, err error) {
	if t.behind {
		if _, err := t.follower.Jump(ctx); err != nil {
			return false, err
		}
		return true, t.reset(ctx)
	}
	before := t.follower.State()
	o, moved, err := t.follower.Next(ctx)
	after := t.follower.State()
	switch {
	case err != nil || !moved:
		return false, err
	case o != nil:
		t.behind = true // unless all of it can be applied
		err := t.apply(o, after)
		t.behind = err != nil
		return true, err
	case after.ID != before.ID:
		return true, t.reset(ctx)
	}
	return true, nil // void
}

// jump goes on from the newest state if that is ahead.
func (t *Tail) jump(ctx context.Context) (moved bool, err error) {
	moved, err = t.follower.Jump(ctx)
	if moved && err == nil {
		err = t.reset(ctx)
	}
	return moved, err
}

// reset makes the replica show the follower's state, whatever it shows.
func (t *Tail) reset(ctx context.Context) error {
	s := t.follower.State()
	t.behind = true
	t.setBranch(s)
	t.setOrigin(s)
	err := t.replica.Reset(s.Version, func(apply func(uint64, []byte) error) error {
		return t.follower.Commits(ctx, apply)
	})
	t.behind = err != nil
	return err
}

// apply makes the replica show what an object says, which leads to a state.
func (t *Tail) apply(o *object.Log, s *object.State) error {
	t.setBranch(s)
	t.setOrigin(s)
	installed := false
	for _, part := range o.Parts {
		switch {
		case part.Commits != nil:
			for i, batch := range part.Commits.Batches {
				commit := part.Commits.First + uint64(i)
				if commit <= t.replica.Visible() {
					continue // it came with tables
				}
				if err := t.replica.Apply(commit, batch); err != nil {
					return fmt.Errorf("log object %d: %w", o.Number, err)
				}
			}
		case part.Edit != nil && !installed:
			// The version at the end of the object includes what later parts say.
			t.replica.Install(s.Version)
			installed = true
		}
	}
	return nil
}

// setBranch tells the replica the branch of a state, if there was another claim.
func (t *Tail) setBranch(s *object.State) {
	if len(s.Claims) == 0 || s.Claims[len(s.Claims)-1].ID == t.claimed {
		return
	}
	t.claimed = s.Claims[len(s.Claims)-1].ID
	t.config.Claimed(s.Claims)
	ended := make([]engine.Ended, len(s.Ends))
	for i, b := range s.Ends {
		ended[i] = engine.Ended{Branch: b.Branch, Last: b.End}
	}
	t.replica.SetBranch(s.Version.Branch, ended)
}

// setOrigin notes whether the database is a clone that needs its parent. Once it does not, its own
// store has all files.
func (t *Tail) setOrigin(s *object.State) {
	if t.attached && s.Origin == nil {
		clonestore.Return(t.store)
	}
	t.attached = s.Origin != nil
}
