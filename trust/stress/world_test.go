package stress

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/hook"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/cryptstore"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// world is a database in a store, with all who use it.
type world struct {
	t       *testing.T
	rng     *rand.Rand
	seed    uint64
	chain   *Chain
	server  *faultstore.Server
	faults  int // one request in so many has a fault; 0: none
	options remote.Options
	key     []byte

	mu        sync.Mutex
	shipped   Mark                    // a state that the store has
	positions map[stoat.Position]Mark // states that the writers have shown
	pins      int
}

func newWorld(t *testing.T, seed uint64) *world {
	rng := rand.New(rand.NewPCG(seed, 9))
	w := &world{
		t: t, rng: rng, seed: seed, chain: New(seed), server: faultstore.NewServer(memstore.New()),
		positions: map[stoat.Position]Mark{},
	}
	if rng.IntN(2) == 0 {
		w.faults = 10 + rng.IntN(50)
	}
	if rng.IntN(3) == 0 {
		w.key = make([]byte, 32)
	}
	w.options = remote.Options{
		Interval: time.Millisecond, MaxLag: time.Minute, Patience: time.Minute,
		Durability: remote.Durability(rng.IntN(2)), Uploads: 1 + rng.IntN(4),
		FillCache: rng.IntN(2) == 0, Writer: "stress",
		Database: &stoat.Options{
			Key: w.key, MemoryLimit: 8 << 20, Sync: stoat.SyncMode(rng.IntN(2)),
			ValueThreshold: thresholds[rng.IntN(len(thresholds))],
			Compression:    stoat.Compression(rng.IntN(3)),
		},
	}
	if rng.IntN(3) > 0 {
		w.options.LocalBytes = []int64{1, 2 << 10, 8 << 10, 40 << 10}[rng.IntN(4)]
		w.options.CacheBytes = []int64{64 << 10, 1 << 20, 0}[rng.IntN(3)]
	}
	if rng.IntN(2) == 0 {
		w.options.Retention = *retention
	}
	return w
}

// client returns a store as a process sees it, on a server.
func (w *world) client(server *faultstore.Server, seed uint64) (objstore.Store, error) {
	rng := rand.New(rand.NewPCG(w.seed, seed))
	var mu sync.Mutex
	c := server.Client(func(faultstore.Request) faultstore.Fate {
		mu.Lock()
		defer mu.Unlock()
		if w.faults == 0 || rng.IntN(w.faults) > 0 {
			return faultstore.Answered
		}
		return faultstore.Fate(rng.IntN(int(faultstore.AnswerLost) + 1))
	})
	return w.sealed(c)
}

// sealed returns a store that encrypts if the database has a key.
func (w *world) sealed(c objstore.Store) (s objstore.Store, err error) {
	if w.key == nil {
		return c, nil
	}
	err = w.insist(func() error {
		s, err = cryptstore.Open(w.t.Context(), c, make([]byte, 32))
		return err
	})
	return s, err
}

// isFault reports whether an error is that of a request which was to fail.
func (w *world) isFault(err error) bool {
	return w.faults > 0 && !errors.Is(err, stoat.ErrCorrupt) &&
		(errors.Is(err, faultstore.ErrFailed) || errors.Is(err, objstore.ErrUnknown))
}

// insist calls fn until it fails for another reason than a fault, or succeeds.
func (w *world) insist(fn func() error) error {
	for {
		if err := fn(); !w.isFault(err) {
			return err
		}
	}
}

// tolerate returns nil for faults, of what is not made again.
func (w *world) tolerate(err error) error {
	if w.isFault(err) {
		return nil
	}
	return err
}

// open opens the database in a folder, or has a standby take over, unless that is nil.
func (w *world) open(
	ctx context.Context, store objstore.Store, standby *remote.Reader, o remote.Options,
	settings hook.Settings,
) (db *remote.DB, err error) {
	defer hook.Attach(&o, settings)()
	err = w.insist(func() error {
		if standby != nil {
			db, err = standby.TakeOver(ctx, "db", &o)
		} else {
			db, err = remote.Open(ctx, store, "db", &o)
		}
		return err
	})
	return db, err
}

// openReader opens a reader, with its cache on a disk or in memory.
func (w *world) openReader(
	ctx context.Context, rng *rand.Rand, store objstore.Store, disk vfs.FS, tuning engine.Tuning,
) (r *remote.Reader, err error) {
	o := remote.ReaderOptions{
		Poll: time.Millisecond, PollMax: 5 * time.Millisecond, Patience: time.Minute,
		CacheBytes: []int64{512 << 10, 0}[rng.IntN(2)],
		Database:   &stoat.Options{Key: w.key, MemoryLimit: 8 << 20},
	}
	dir := []string{"", "cache"}[rng.IntN(2)]
	defer hook.Attach(&o, hook.Settings{FS: disk, Tuning: tuning})()
	err = w.insist(func() error {
		r, err = remote.OpenReader(ctx, store, dir, &o)
		return err
	})
	return r, err
}

// know notes that the store has a state.
func (w *world) know(m Mark) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m.Number > w.shipped.Number || !w.chain.Descends(w.shipped, m) {
		w.shipped = m
	}
}

// known returns a state that the store has.
func (w *world) known() Mark {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shipped
}
