package torture

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/model"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// TestWatch_randomHistories runs loops over changes beside a random history. For any bucket, range
// and start: the snapshot at the start plus the changes since must equal the range after each
// commit. Loops that lag start over. Time stands still, so nothing expires.
func TestWatch_randomHistories(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()>>16 + 1
	}
	var sum outcomes
	for i := range uint64(8) {
		w := newWatched(t, seed+i)
		w.play()
		w.check()
		if t.Failed() {
			t.Fatalf("again with go test ./internal/testing/torture -run TestWatch_randomHistories -seed %d",
				seed+i)
		}
		sum.checked += w.checked
		sum.lagged += w.lagged
		sum.orphaned += w.orphaned
		sum.closed += w.closed
	}
	t.Logf("%+v", sum)
	if sum.checked == 0 || sum.lagged == 0 || sum.orphaned == 0 || sum.closed == 0 {
		t.Errorf("seed %d: the histories are too tame: %+v", seed, sum)
	}
}

// outcomes counts how loops ended.
type outcomes struct{ checked, lagged, orphaned, closed int }

// watched is a database with a history, and copies that loops over its changes maintain.
type watched struct {
	t    *testing.T
	seed uint64
	db   *stoat.DB
	line *timeline
	stop chan struct{} // closed at the end of the history

	mu     sync.Mutex
	states map[stoat.Position]*model.Bucket
	copies []mirror
	outcomes
}

// mirror is a range of a bucket as a loop knows it at a position.
type mirror struct {
	path string // one letter per bucket
	r    stoat.Range
	at   stoat.Position
	has  map[string]string
}

func newWatched(t *testing.T, seed uint64) *watched {
	rng := rand.New(rand.NewPCG(seed, 3))
	w := &watched{t: t, seed: seed, line: newTimeline(), stop: make(chan struct{})}
	var err error
	if options, tuning := randomOptions(rng), randomTuning(rng, w.line.clock); rng.IntN(4) == 0 {
		w.db, err = tuned.OpenMemory(options, tuning)
	} else {
		w.db, err = tuned.Open(memfs.New(), "db", options, tuning)
	}
	ok(t, err)
	w.states = map[stoat.Position]*model.Bucket{w.db.Position(): w.line.Newest()}
	return w
}

// play runs the history with loops beside it and closes the database.
func (w *watched) play() {
	var loops sync.WaitGroup
	for i := range uint64(4) {
		loops.Go(func() {
			rng := rand.New(rand.NewPCG(w.seed, 4+i))
			for w.follow(rng) {
			}
		})
	}
	p := newGenerator(w.seed, model.NewClock())
	for range 120 {
		if err := w.step(p); err != nil {
			w.t.Error(err)
			break
		}
		state := w.line.Newest()
		w.mu.Lock()
		w.states[w.db.Position()] = state
		w.mu.Unlock()
	}
	close(w.stop)
	ok(w.t, w.db.Close())
	loops.Wait()
}

// step does one thing that may commit.
func (w *watched) step(p *generator) error {
	switch p.rng.IntN(20) {
	case 0:
		return w.db.Flush()
	case 1:
		next := w.line.Newest().Clone()
		begin := func() *model.Bucket { return next }
		return p.loading(p.rng.IntN(20), p.key).into(w.db, begin, func(next *model.Bucket) {
			w.line.Commit(next)
		})
	}
	return playCommit(w.db, w.line, p)
}

// follow reads a random range and follows its changes until the loop ends. It reports whether there
// is more to follow.
func (w *watched) follow(rng *rand.Rand) (more bool) {
	m := mirror{path: []string{"", "", "a", "b", "ab"}[rng.IntN(5)]}
	if m.path == "" && rng.IntN(2) == 0 {
		m.r.Start = []byte(fmt.Sprint(rng.IntN(100)))
	}
	if rng.IntN(2) == 0 {
		m.r.End = []byte("long")
	}
	err := m.read(w.db)
	pause(rng)
	if err != nil {
		return w.ended(m, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for c, err := range w.db.WatchBucket(ctx, m.names(), m.r, m.at) {
		if err != nil {
			m.at = max(m.at, c.Position)
			return w.ended(m, err)
		}
		if c.Position <= m.at {
			w.t.Errorf("a change of %d comes after %d", c.Position, m.at)
		}
		m.apply(c)
		if !c.Last {
			continue
		}
		m.at = c.Position
		orphaned := m.path != "" && c.Kind == stoat.ChangeDeleteRange && len(m.has) == 0
		if rng.IntN(4) == 0 && !orphaned { // a new bucket may have the name by then
			w.keep(m)
			pause(rng)
		}
		if rng.IntN(200) == 0 {
			cancel()
		}
	}
	w.t.Error("the loop ends without an error")
	return false
}

// ended records why a loop ended and reports whether there is more to follow.
func (w *watched) ended(m mirror, err error) (more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case errors.Is(err, stoat.ErrClosed):
		if m.has != nil {
			w.copies = append(w.copies, m)
		}
		w.closed++
		return false
	case errors.Is(err, stoat.ErrLagged):
		w.lagged++
	case errors.Is(err, stoat.ErrBucketNotFound):
		w.orphaned++
	case !errors.Is(err, context.Canceled):
		w.t.Errorf("the loop over %q ends with %v", m.path, err)
		return false
	}
	select {
	case <-w.stop:
		return false
	default:
		return true
	}
}

// keep keeps a copy of a mirror for check.
func (w *watched) keep(m mirror) {
	m.has = maps.Clone(m.has)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.copies = append(w.copies, m)
}

// check compares all copies with the states of the database.
func (w *watched) check() {
	for _, m := range w.copies {
		b := w.states[m.at]
		if b == nil {
			w.t.Errorf("a loop tells of position %d, which is that of no commit", m.at)
			return
		}
		for _, name := range m.path {
			if b = b.Bucket(string(name)); b == nil {
				w.t.Errorf("bucket %q was told of at %d, where there is none", m.path, m.at)
				return
			}
		}
		want := map[string]string{}
		for _, e := range b.Scan(string(m.r.Start), string(m.r.End), false, 0) {
			want[e.Key] = e.Value
		}
		if !maps.Equal(m.has, want) {
			w.t.Errorf("%q, %s at %d: %d keys were told of, want %d or other values",
				m.path, describe(m.r), m.at, len(m.has), len(want))
			return
		}
		w.checked++
	}
}

func (m *mirror) names() (names [][]byte) {
	for _, name := range m.path {
		names = append(names, []byte(string(name)))
	}
	return names
}

// read reads the range from a snapshot.
func (m *mirror) read(db *stoat.DB) error {
	return db.View(func(tx *stoat.Tx) (err error) {
		var s stoat.KeySpace = tx
		for _, name := range m.names() {
			if s, err = s.Bucket(name); err != nil {
				return err
			}
		}
		m.at, m.has = tx.Position(), map[string]string{}
		for key, value := range s.Scan(m.r) {
			m.has[string(key)] = string(value)
		}
		return nil
	})
}

// apply applies a change.
func (m *mirror) apply(c stoat.Change) {
	switch c.Kind {
	case stoat.ChangePut:
		m.has[string(c.Key)] = string(c.Value)
	case stoat.ChangeDelete:
		delete(m.has, string(c.Key))
	case stoat.ChangeDeleteRange:
		for key := range m.has {
			if key >= string(c.Key) && (c.End == nil || key < string(c.End)) {
				delete(m.has, key)
			}
		}
	}
}

// pause yields a random number of times.
func pause(rng *rand.Rand) {
	for range rng.IntN(4) * rng.IntN(1000) {
		runtime.Gosched()
	}
}

// TestWatch_survivesACrash crashes the disk at its operations. Every change that a loop has
// returned must be there after recovery.
func TestWatch_survivesACrash(t *testing.T) {
	told := new(told)
	disk := memfs.NewCrashable()
	db, err := tuned.Open(told.crashing(t, disk), "db", nil, lazy)
	ok(t, err)
	var loop sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	from := db.Position()
	loop.Go(func() { told.follow(t, ctx, db, from) })
	for i := range 40 {
		ok(t, db.Put([]byte(fmt.Sprint(i)), []byte(strings.Repeat("x", 50))))
		for told.newest.Load() == nil {
			runtime.Gosched()
		}
	}
	cancel()
	loop.Wait()
	ok(t, db.Close())
	if told.crashes == 0 || told.newest.Load() == nil {
		t.Error("there was no crash, or nothing was told")
	}
}

// toldOf is the newest change that a loop has returned.
type toldOf struct {
	key string
	at  stoat.Position
}

// told records what a loop has returned, and crashes the disk beside it.
type told struct {
	newest atomic.Pointer[toldOf]

	mu      sync.Mutex // one crash at a time
	crashes int
}

// follow records the changes of the root bucket.
func (d *told) follow(t *testing.T, ctx context.Context, db *stoat.DB, from stoat.Position) {
	for {
		for c, err := range db.Watch(ctx, stoat.Range{}, from) {
			if err == nil {
				d.newest.Store(&toldOf{string(c.Key), c.Position})
			} else if !errors.Is(err, stoat.ErrLagged) {
				if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				return
			}
			from = c.Position
		}
	}
}

// crashing returns a file system that crashes a copy of the disk before each operation.
func (d *told) crashing(t *testing.T, disk *memfs.FS) vfs.FS {
	return faultfs.New(disk, func(op faultfs.Op) error {
		newest := d.newest.Load()
		if newest == nil || !op.Kind.Mutates() {
			return nil
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.crashes++
		return newest.survives(disk.CrashKeepNone())
	})
}

// survives checks that the database on the disk has the change.
func (c *toldOf) survives(disk *memfs.FS) error {
	db, err := tuned.Open(disk, "db", nil, lazy)
	if err != nil {
		return err
	}
	_, err = db.Get([]byte(c.key))
	if at := db.Position(); err == nil && at < c.at {
		err = fmt.Errorf("the newest position is %d, and %d was told", at, c.at)
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("after a crash, %q is lost: %w", c.key, err)
	}
	return nil
}
