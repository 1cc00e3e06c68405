// Package ship copies a database to object storage while it is open.
//
// A [Shipper] is the writer of one database in one store. It claims the role when the database is
// opened ([engine.Shipper]). From then on it appends to the log what is committed, and stores
// files: first the files of a version, then, in the log, the edit that leads to it. Versions may be
// skipped, so a table that is merged away before it was stored never is. Now and then it collects:
// it deletes from the store what nobody needs any more.
//
// Commits share log objects: an object has what was committed when it was sent. If they are
// withheld, they are sent at once, several objects at a time, and acknowledged in their order. No
// lock of the database is held during a request.
//
// If the folder has a limit, files that the log names are evicted from it. If there is a cache to
// be filled, what the folder lacks is fetched into it. Each of these tasks has a goroutine, until
// [Shipper.Stop].
package ship

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat/internal/commit"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/retry"
)

var (
	// ErrStored reports that a new folder cannot become the database, because that is in the store.
	ErrStored = errors.New("the database is in the store already")
	// ErrApart reports that a folder has another history than the database in the store.
	ErrApart = errors.New("the folder does not continue the database in the store")
	// ErrUnshipped reports that commits are in the folder only.
	ErrUnshipped = errors.New("not everything is shipped")
)

// Config says how to ship.
type Config struct {
	Writer   string        // a name for people
	Interval time.Duration // commits wait at most this long before they are sent
	MaxLag   time.Duration // transactions wait while the oldest commit waits for longer than this
	Withhold bool          // commits are withheld until they are in the store
	Window   int           // how many log objects are sent at a time
	Uploads  int           // how many files are sent at a time
	Rate     int64         // how many bytes of files are sent in a second; 0: any number
	Local    int64         // how many bytes of files stay in the folder once stored; 0: any number
	Fetch    Fetch         // fetches files that are only in the store; nil: nobody does

	Retention time.Duration // for how long the store keeps what it takes to restore a commit
}

// stateEvery is how many log objects are stored between two states: a claimant reads half as many
// on average.
const stateEvery = 64

// pendingMax is of how many log objects the commits may be in memory only.
const pendingMax = 256

// Shipper ships one database. Its exported methods are safe for concurrent use.
type Shipper struct {
	log     *history.Log
	config  Config
	context context.Context // of opening
	epoch   uint64

	settled bool // the claim was made before the folder

	engine    *engine.Engine
	follower  *commit.Follower
	stop      context.CancelFunc
	running   sync.WaitGroup
	wake      chan struct{} // holds an item: there may be something to ship now
	hurry     chan struct{} // holds an item: commits need not wait for others
	answered  chan struct{} // holds an item: the outcome of a log object is known
	cargo     cargo         // files on their way
	closing   atomic.Bool   // no more files are stored
	adopting  sync.Mutex    // held while a file from before the claim is stored
	detaching atomic.Bool   // the log is to say that there are no origins any more
	acting    atomic.Bool   // the log is to get an object of this writer's
	throttle  throttle
	received  throttle // of what is fetched

	sent     []*shipment // log objects on their way, the loop's
	prepared uint64      // how many there have been, with those of the past, the loop's
	counted  uint64      // how many of them count, the loop's
	saving   atomic.Bool // a state is being stored
	saved    atomic.Uint64
	flushing atomic.Bool   // commits are brought to tables
	flushed  atomic.Uint64 // the newest commit that was
	group    group

	collector collector
	stock     stock

	due     atomic.Uint64 // commits up to this one do not wait for others any more
	shipped atomic.Uint64 // the newest commit in the log of the store
	lag     lag

	writing sync.Mutex // held for moments
	writer  *history.Writer

	mu     sync.Mutex
	moved  chan struct{} // closed when something below, or shipped, has changed
	ended  error         // why nothing is shipped any more
	failed error         // the error of the last try; nil after a success
}

// New returns a shipper, given the log in the store and the context of requests until the database
// is open. It does nothing before it claims.
func New(ctx context.Context, log *history.Log, config Config) *Shipper {
	s := &Shipper{log: log, config: config, context: ctx, moved: make(chan struct{})}
	s.wake, s.hurry = make(chan struct{}, 1), make(chan struct{}, 1)
	s.answered = make(chan struct{}, 1)
	s.throttle.rate, s.received.rate = config.Rate, config.Rate
	s.log.Failed = s.note
	s.collector.due, s.collector.fresh = map[string]uint64{}, map[string]bool{}
	s.collector.running = make(chan struct{}, 1)
	s.stock.due, s.stock.lacks = make(chan struct{}, 1), make(chan struct{}, 1)
	s.stock.lacking, s.stock.kept = map[uint64]bool{}, map[uint64]stuck{}
	return s
}

// Log returns the log in the store.
func (s *Shipper) Log() *history.Log { return s.log }

// Start begins to ship what the engine commits, which [Shipper.Claim] has claimed.
func (s *Shipper) Start(e *engine.Engine) error {
	follower, err := e.FollowLocal()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	s.engine, s.follower, s.stop = e, follower, stop
	s.shipped.Store(s.writer.State().Commit)
	s.lag.delivered(s.shipped.Load(), 0, time.Time{})
	s.group.taken.Store(s.shipped.Load())
	s.collector.last = s.writer.State().Number
	s.cargo.changed.Store(true)
	s.saved.Store(s.writer.Base())
	s.saveState(ctx, s.writer.State()) // or claims alone would let the log grow
	s.running.Go(func() { s.watch(ctx) })
	s.running.Go(func() { s.loop(ctx) })
	s.running.Go(func() { s.tidy(ctx) })
	s.beginStock(e.Version())
	if s.config.Local > 0 {
		s.running.Go(func() { s.keepLimit(ctx) })
	}
	if s.config.Fetch != nil {
		s.running.Go(func() { s.keepFilled(ctx) })
	}
	return nil
}

// watch has the loop ship what is committed: an interval after the first commit, or once its group
// is complete.
func (s *Shipper) watch(ctx context.Context) {
	for seen := s.shipped.Load(); ; {
		newest, err := s.follower.Wait(ctx, seen)
		if err != nil {
			return
		}
		s.lag.wait(newest, time.Now())
		if s.config.Interval == 0 {
			s.gather(ctx, newest)
		} else if !retry.Sleep(ctx, s.config.Interval, s.hurry) {
			return
		}
		seen = max(newest, s.engine.Local())
		s.expect(seen)
	}
}

// expect has the loop ship the commits up to the given one.
func (s *Shipper) expect(commit uint64) {
	for due := s.due.Load(); commit > due && !s.due.CompareAndSwap(due, commit); {
		due = s.due.Load()
	}
	poke(s.wake)
}

// loop ships until ctx ends, or somebody else has claimed the role.
func (s *Shipper) loop(ctx context.Context) {
	for tries := 0; ctx.Err() == nil; {
		s.load(ctx)
		if err := s.sendNew(ctx); err != nil && ctx.Err() == nil {
			s.note(err)
			tries++
			retry.Sleep(ctx, retry.BackOff(tries), s.answered)
		} else {
			tries = 0
			select {
			case <-ctx.Done():
			case <-s.wake:
			case <-s.answered:
			case <-s.cargo.ripe:
			}
		}
		if again, err := s.acknowledge(ctx); err != nil {
			return
		} else if again != nil {
			s.send(ctx, again)
		}
	}
}

// Admit implements [engine.Shipper].
func (s *Shipper) Admit(ctx context.Context) error {
	for {
		s.mu.Lock()
		ended, moved := s.ended, s.moved
		s.mu.Unlock()
		if ended != nil || s.lag.now() < s.config.MaxLag {
			return ended
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-moved:
		}
	}
}

// Installed implements [engine.Shipper].
func (s *Shipper) Installed() {
	s.cargo.changed.Store(true)
	poke(s.wake)
}

// Withholds implements [engine.Shipper].
func (s *Shipper) Withholds() bool { return s.config.Withhold }

// Wait returns when everything committed so far is in the store.
func (s *Shipper) Wait(ctx context.Context) error {
	target := s.engine.Local()
	err := s.await(ctx, func() bool {
		poke(s.hurry)
		s.expect(target)
		return s.shipped.Load() >= target
	})
	if err != nil && ctx.Err() != nil {
		err = errors.Join(ErrUnshipped, err)
	}
	return err
}

// await returns when something is true, which is asked again after each thing that was shipped.
func (s *Shipper) await(ctx context.Context, is func() bool) error {
	for {
		s.mu.Lock()
		ended, moved, failed := s.ended, s.moved, s.failed
		s.mu.Unlock()
		switch {
		case is():
			return nil
		case ended != nil:
			return ended
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), failed)
		case <-moved:
		}
	}
}

// Closing says that the engine is about to be closed. No more files are stored: they would not come
// to an end, and the next session stores them. Nor is a log object that they wait for.
func (s *Shipper) Closing() { s.closing.Store(true) }

// Stop ends shipping, with what the engine has committed last, which is closed without an error,
// until ctx ends. The error matches ErrUnshipped if the store does not have all commits. It must be
// called once.
func (s *Shipper) Stop(ctx context.Context) error {
	s.stop()
	s.running.Wait()
	defer s.follower.Close()
	defer s.cargo.release()
	defer s.engine.Abandon(engine.ErrClosed)
	s.mu.Lock()
	ended, failed := s.ended, s.failed
	s.mu.Unlock()
	var err error
	if ended == nil {
		err = s.finish(ctx)
		s.saveState(ctx, s.state()) // a short session may have had no time for it
		s.running.Wait()
	}
	s.end(engine.ErrClosed)
	if s.shipped.Load() < s.engine.Local() {
		return errors.Join(ErrUnshipped, ended, err, failed) // err says only that ctx has ended
	}
	return nil
}

// note records the outcome of a try, and wakes those that wait for it.
func (s *Shipper) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err
	s.moveLocked()
}

// end records that nothing is shipped any more.
func (s *Shipper) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended == nil {
		s.ended = err
	}
	s.moveLocked()
}

// whyEnded returns why nothing is shipped any more; nil while it is.
func (s *Shipper) whyEnded() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

func (s *Shipper) moveLocked() {
	close(s.moved)
	s.moved = make(chan struct{})
}

// Status is how far shipping has come.
type Status struct {
	Epoch   uint64        // of the claim
	Newest  uint64        // the newest commit of the database
	Shipped uint64        // the newest commit in the store
	Lag     time.Duration // how long the oldest commit that is not there has waited, at most
	Failed  error         // of the last try; nil if it succeeded

	Local, Remote uint64 // bytes of the files in the folder, and of those that are only in the store

	Uncollected error // of the last collection; nil if it succeeded
	Unevicted   error // of the last try to keep the limit of the folder; nil if it succeeded
	Unfilled    error // why a file was not fetched, the last one; nil if there was none
	UnfilledAt  time.Time
	Ended       error // why nothing is shipped any more
}

// Status returns how far shipping has come.
func (s *Shipper) Status() Status {
	s.mu.Lock() // for a moment: each transaction that writes takes it
	st := Status{
		Epoch: s.epoch, Shipped: s.shipped.Load(), Newest: s.engine.Local(),
		Lag: s.lag.now(), Failed: s.failed, Ended: s.ended,
	}
	s.mu.Unlock()
	s.collector.mu.Lock()
	st.Uncollected = s.collector.failure
	s.collector.mu.Unlock()
	local, elsewhere := s.stock.split(s.engine.Version())
	st.Local, st.Remote = uint64(bytesOf(local)), uint64(bytesOf(elsewhere))
	s.stock.addTo(&st)
	return st
}

// poke puts an item into a channel that holds one.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
