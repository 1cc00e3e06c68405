package ship

import (
	"context"
	"fmt"
	"math"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/internal/retry"
	"github.com/stoatdb/stoat/remote/objstore"
)

// collector is what is known of objects that can be deleted.
type collector struct {
	bound atomic.Uint64 // the unlink bound to create; the log may have it already

	mu      sync.Mutex
	due     map[string]uint64 // files to delete, and the numbers at which they were retired
	fresh   map[string]bool   // files of this epoch that are stored, and in no version of the log yet
	failure error             // of the last collection; nil if it succeeded

	running chan struct{}   // holds an item during a collection; it guards what follows
	local   map[string]bool // files that the folder had when this writer claimed the role
	swept   bool            // orphans have been deleted
	last    uint64          // the end of the log after the last collection
	saved   *object.State   // the newest one that a collection has stored; nil if there is none
	next    time.Time       // no collection finds anything before; zero: a new object is needed, too
}

// Collect deletes what nobody needs who restores a commit of the retention, or a pinned one. It
// returns how many objects it has deleted.
//
// The unlink bound goes first: from then on, no new pin is of a position before it, and whoever
// takes over knows that this writer has had the role. So what is deleted afterwards, however late,
// is needed by nobody.
func (s *Shipper) Collect(ctx context.Context) (deleted int, err error) {
	c := &s.collector
	if err := c.begin(ctx); err != nil {
		return 0, err
	}
	defer c.end()
	defer func() { c.note(err) }()
	if s.mayFind() { // or else, each collection would leave objects for the next one
		if err := s.saveEnd(ctx); err != nil {
			return 0, err
		}
	}
	first, err := s.firstKept(ctx)
	if err != nil {
		return 0, err
	}
	if first > 0 {
		if deleted, err = s.collectBefore(ctx, first); err != nil {
			return deleted, err
		}
	}
	orphans, err := s.sweep(ctx)
	c.last = s.state().Number
	return deleted + orphans, err
}

// collectBefore deletes what only positions before state first need.
func (s *Shipper) collectBefore(ctx context.Context, first uint64) (deleted int, err error) {
	c := &s.collector
	c.retire(s.state().Retired, first)
	if err := s.raise(ctx, first); err != nil {
		return 0, err
	}
	now, err := s.firstKept(ctx) // there may be a new pin
	if err != nil || now == 0 {
		return 0, err
	}
	if now > first { // a later one is beyond the bound, and for the next collection
		c.next = time.Now()
	}
	first = min(first, now)
	state, err := s.log.StateAt(ctx, first)
	if err != nil {
		return 0, err
	}
	files := c.dueUpTo(first)
	for rest := files; len(rest) > 0; {
		n := min(len(rest), history.PageObjects)
		if err := s.log.Store.Delete(ctx, rest[:n]); err != nil {
			return deleted, fmt.Errorf("delete files that are retired: %w", err)
		}
		c.done(rest[:n])
		rest, deleted = rest[n:], deleted+n
	}
	n, err := s.log.Trim(ctx, state)
	return deleted + n, err
}

// firstKept returns the number of the newest state that is stored, at least as old as the retention
// asks for, and not after any pin; 0 if there is none.
func (s *Shipper) firstKept(ctx context.Context) (uint64, error) {
	states, err := s.log.StoredStates(ctx)
	if err != nil {
		return 0, err
	}
	pins, err := s.log.Pins(ctx)
	if err != nil {
		return 0, err
	}
	most := s.state().Number // if another writer has taken over, there may be later states
	for _, pin := range pins {
		most = min(most, pin.Number)
	}
	states = states[:sort.Search(len(states), func(i int) bool { return states[i].Number > most })]
	s.collector.next = time.Time{}
	now := time.Now()
	latest := now.Add(-s.config.Retention)
	after := sort.Search(len(states), func(i int) bool {
		var at uint64
		if err == nil {
			at, err = s.log.StateTime(ctx, states[i].Number)
		}
		made := madeAt(at, states[i].Stored, now)
		if err == nil && made.After(latest) {
			s.collector.next = made.Add(s.config.Retention)
		}
		return made.After(latest)
	})
	if err != nil || after == 0 {
		return 0, err
	}
	return states[after-1].Number, nil
}

// madeAt returns when a state was made, at the latest, given its own time in milliseconds since
// 1970, when it was stored, and what time it is. A time of the future is that of a clock that was
// ahead, or of a later one that was not, since times never go back: then the clock of the store
// tells, unless it is ahead, too.
func madeAt(at uint64, stored, now time.Time) time.Time {
	made := time.UnixMilli(int64(min(at, math.MaxInt64)))
	if made.After(now) && !stored.IsZero() && !stored.After(now) {
		return stored
	}
	return made
}

// tidy collects now and then while there may be something to delete, until ctx ends.
func (s *Shipper) tidy(ctx context.Context) {
	c := &s.collector
	for retry.Sleep(ctx, min(max(s.config.Retention/8, time.Second), time.Hour), nil) {
		if s.whyEnded() != nil || c.begin(ctx) != nil {
			return
		}
		due := time.Now().After(c.next) && s.mayFind()
		c.end()
		if due {
			_, _ = s.Collect(ctx) // Status has the error
		}
	}
}

// mayFind reports whether a collection may find something to delete, now or later. The caller holds
// collector.running.
func (s *Shipper) mayFind() bool {
	c, state := &s.collector, s.state()
	c.mu.Lock()
	defer c.mu.Unlock()
	return state.Number != c.last || !c.next.IsZero() || len(state.Retired) > 0 || len(c.due) > 0
}

// saveEnd stores the state at the end of the log, unless it is stored or differs from the last one
// by unlink bounds only: or else, each would lead to one more state, and that to one more bound.
func (s *Shipper) saveEnd(ctx context.Context) error {
	state, last := s.state(), s.collector.saved
	isSame := last != nil && state.Commit == last.Commit && state.Version == last.Version
	if isSame || state.Number <= s.saved.Load() {
		return nil
	}
	saved, err := s.log.Save(ctx, state)
	if saved {
		s.saved.Store(state.Number)
		s.collector.saved = state
	}
	return err
}

// state returns the state at the end of the log.
func (s *Shipper) state() *object.State {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.writer.State()
}

// raise has the loop create an unlink bound, unless the log has it.
func (s *Shipper) raise(ctx context.Context, bound uint64) error {
	s.collector.bound.Store(bound)
	return s.await(ctx, func() bool {
		poke(s.wake)
		return s.state().Bound >= bound
	})
}

// sweep deletes, once, what earlier writers have stored and no version names: after a crash, or
// because another one took over. Files of the folder may be named yet. It needs an object of this
// writer's in the log: after that, no folder of an earlier writer is accepted any more, so nobody
// else can name an earlier file. A writer that has made none makes one if there is such a file.
func (s *Shipper) sweep(ctx context.Context) (deleted int, err error) {
	if s.collector.swept {
		return 0, nil
	}
	if !s.hasActed() {
		left := 0
		_, err = s.eachOrphan(ctx, func(names []string) error {
			left += len(names)
			return nil
		})
		if err != nil || left == 0 {
			return 0, err
		}
		if err := s.act(ctx); err != nil {
			return 0, err
		}
	}
	all, err := s.eachOrphan(ctx, func(names []string) error {
		deleted += len(names)
		return s.log.Store.Delete(ctx, names)
	})
	if err != nil {
		return 0, fmt.Errorf("delete files that no version names: %w", err)
	}
	s.collector.swept = all
	return deleted, nil
}

// hasActed reports whether the log has an object of this writer's besides its claim.
func (s *Shipper) hasActed() bool {
	state := s.state()
	return state.ActedSince(len(state.Claims) - 1)
}

// act has the loop add an object to the log, unless there is one.
func (s *Shipper) act(ctx context.Context) error {
	s.acting.Store(true)
	defer s.acting.Store(false)
	return s.await(ctx, func() bool {
		poke(s.wake)
		return s.hasActed()
	})
}

// eachOrphan calls fn with the names of the files of earlier epochs that nobody needs, some at a
// time. It reports whether these are all that there are: while there is an old pin, it knows none.
func (s *Shipper) eachOrphan(
	ctx context.Context, fn func(names []string) error,
) (all bool, err error) {
	state := s.state()
	pins, err := s.log.Pins(ctx)
	if err != nil {
		return false, err
	}
	for _, pin := range pins {
		if pin.Number < state.Bound {
			return false, nil // the state does not know what this one needs
		}
	}
	known := s.known(state)
	err = history.EachObject(ctx, s.log.Store, history.DataPrefix, func(page []objstore.Object) error {
		var names []string
		for _, o := range page {
			_, number, ok := history.ParseData(o.Name)
			_, isKnown := known[o.Name]
			if ok && number>>history.EpochShift < s.epoch && !isKnown {
				names = append(names, o.Name)
			}
		}
		return fn(names)
	})
	return err == nil, err
}

// known is [history.Needed] with all files of earlier epochs that may be needed.
func (s *Shipper) known(state *object.State) map[string]int64 {
	names := history.Needed(state)
	for name := range s.collector.local {
		names[name] += 0
	}
	s.collector.mu.Lock()
	defer s.collector.mu.Unlock()
	for name := range s.collector.due {
		names[name] += 0
	}
	return names
}

// begin waits until no other collection runs, which may take as long as the store does not answer.
func (c *collector) begin(ctx context.Context) error {
	select {
	case c.running <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// end ends what begin has begun.
func (c *collector) end() { <-c.running }

// retire adds the files that were retired up to a number.
func (c *collector) retire(files []object.Retired, through uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range files {
		if r.At <= through {
			c.due[history.RetiredName(r)] = r.At
		}
	}
}

// store notes a file of this epoch that is about to be stored.
func (c *collector) store(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fresh[name] = true
}

// delivered notes the version in the log. Files that were stored for an earlier one, and are not in
// it, will be in none.
func (c *collector) delivered(v *manifest.Version) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.fresh) == 0 {
		return
	}
	named := history.FileSizes(v)
	for name := range c.fresh {
		if _, isNamed := named[name]; !isNamed {
			c.due[name] = 0
		}
	}
	clear(c.fresh)
}

// dueUpTo returns the names of files to delete that were retired up to a number.
func (c *collector) dueUpTo(n uint64) (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, at := range c.due {
		if at <= n {
			names = append(names, name)
		}
	}
	return names
}

// done forgets files that are deleted.
func (c *collector) done(names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range names {
		delete(c.due, name)
	}
}

// note records the outcome of a collection.
func (c *collector) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failure = err
}
