package stress

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

var (
	stressFor  = flag.Duration("stress.for", 2*time.Second, "how long each test uses databases")
	stressSeed = flag.Uint64("stress.seed", 0, "the first seed; 0: random")
	retention  = flag.Duration("stress.retention", 0,
		"what half of the stores keep; no reader may stop for as long; 0: seven days")
)

// seeds calls fn with one seed after the other, until time is up or a test has failed. fn returns
// how much was done.
func seeds(t *testing.T, fn func(seed uint64) int64) {
	t.Helper()
	seed, acts := *stressSeed, int64(0)
	if seed == 0 {
		seed = rand.Uint64() >> 20
	}
	for began := time.Now(); time.Since(began) < *stressFor; seed++ {
		if acts += fn(seed); t.Failed() {
			t.Fatalf("repeat with -stress.seed %d", seed)
		}
	}
	t.Logf("trust: %d operations beside others", acts)
}

func TestLocal_isSoundWhateverHappensAtOnce(t *testing.T) {
	seeds(t, func(seed uint64) (acts int64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		l := &local{
			t: t, rng: rng, chain: New(seed), disk: memfs.New(),
			options: &stoat.Options{Sync: stoat.SyncMode(rng.IntN(2)), MemoryLimit: 8 << 20},
		}
		if rng.IntN(3) == 0 {
			l.options.Key = make([]byte, 32)
		}
		l.options.ValueThreshold = thresholds[rng.IntN(len(thresholds))]
		l.options.Compression = stoat.Compression(rng.IntN(3))
		for range 4 {
			if acts += l.session(); t.Failed() {
				break
			}
		}
		return acts
	})
}

// thresholds is values of [stoat.Options.ValueThreshold]. It is immutable.
var thresholds = []int{0, 64, 200, -1}

// local is a database on a disk.
type local struct {
	t       *testing.T
	rng     *rand.Rand
	chain   *Chain
	disk    *memfs.FS
	options *stoat.Options
	floor   Mark // what the next opening must find
}

// session opens the database, uses it and closes it, half of the times while it is used.
func (l *local) session() (acts int64) {
	sizes := tuned.Sizes()
	db, err := tuned.Open(l.disk, "db", l.options, sizes[l.rng.IntN(len(sizes))])
	if err != nil {
		l.t.Errorf("open: %v", err)
		return 0
	}
	var closing atomic.Bool
	crowd := &Crowd{
		Chain: l.chain, DB: db, Line: l.chain.Fork(), Key: l.options.Key,
		Expected: func(err error) bool {
			return closing.Load() && errors.Is(err, stoat.ErrClosed) && !errors.Is(err, stoat.ErrCorrupt)
		},
	}
	if err := crowd.Begin(l.t.Context(), l.floor); err != nil {
		l.t.Error(errors.Join(err, db.Close()))
		return 0
	}
	ctx, end := context.WithCancel(l.t.Context())
	defer end()
	ended, seed := make(chan error, 1), l.rng.Uint64()
	go func() { ended <- crowd.Run(ctx, seed, 8, crowd.Actions()) }()
	select {
	case err := <-ended:
		ended <- err
	case <-time.After(time.Duration(50+l.rng.IntN(400)) * time.Millisecond):
	}
	if l.rng.IntN(2) == 0 {
		end()
		err := <-ended
		ended <- errors.Join(err, crowd.View(ctx, l.rng), db.Check(l.t.Context()))
	}
	closing.Store(true)
	closed := db.Close()
	end()
	if err := errors.Join(<-ended, closed); err != nil {
		l.t.Error(err)
	}
	l.floor = crowd.Acked()
	return crowd.acts.Load()
}
