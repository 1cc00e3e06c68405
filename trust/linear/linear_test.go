package linear

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

var (
	histories = flag.Int("linear.histories", 200, "how many histories to check")
	seed      = flag.Uint64("linear.seed", 1, "seed of the clients' operations")
)

// checkTimeout is how long the checker may take for one history: it needs milliseconds.
const checkTimeout = time.Minute

// TestDB_isLinearizable lets clients work concurrently on few keys, with frequent background work.
func TestDB_isLinearizable(t *testing.T) {
	sizes := tuned.Sizes()
	total := 0
	for i, size := range sizes {
		db, err := tuned.Open(memfs.New(), "db", &stoat.Options{
			Sync:           stoat.SyncMode(i % 2),
			ValueThreshold: []int{64, 0}[i/2%2],
		}, size)
		if err != nil {
			t.Fatal(err)
		}
		for n := range *histories / len(sizes) {
			r := round{db: db, seed: *seed + uint64(n), simple: n%2 == 0, clients: 3 + n%4}
			history, err := r.play()
			if err != nil {
				t.Fatalf("size %d, history %d: %v", i, n, err)
			}
			if err := verdict(history, r.simple, os.TempDir()); err != nil {
				t.Fatalf("size %d, history %d: %v\nreproduce with -run TestDB -linear.seed %d "+
					"-linear.histories %d", i, n, err, *seed, *histories)
			}
			total++
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("trust: %d linearizable histories", total)
}

// verdict returns an error unless the history is linearizable. The error names a file in the folder
// for pictures, which shows the violation.
func verdict(history []porcupine.Operation, simple bool, pictures string) error {
	m := model(simple)
	result, info := porcupine.CheckOperationsVerbose(m, history, checkTimeout)
	if result == porcupine.Ok {
		return nil
	}
	f, err := os.CreateTemp(pictures, "stoat-history-*.html")
	if err != nil {
		return err
	}
	return errors.Join(fmt.Errorf("no order explains the history (%s): open %s in a browser",
		result, filepath.ToSlash(f.Name())), porcupine.Visualize(m, info, f), f.Close())
}

// round is one history in progress.
type round struct {
	db      *stoat.DB
	seed    uint64
	simple  bool
	clients int
}

// play begins with an empty database and returns what the clients saw.
func (r round) play() ([]porcupine.Operation, error) {
	if err := r.db.Update(clear); err != nil {
		return nil, err
	}
	var clock atomic.Int64
	ctx, cancel := context.WithCancel(context.Background())
	var background, working sync.WaitGroup
	errs := make([]error, r.clients+1)
	background.Go(func() { errs[r.clients] = r.disturb(ctx) })
	clients := make([]*client, r.clients)
	for i := range clients {
		c := &client{
			id: i, db: r.db, clock: &clock, simple: r.simple,
			rng: rand.New(rand.NewPCG(r.seed, uint64(i))),
		}
		clients[i] = c
		working.Go(func() { errs[i] = c.work(60 / r.clients) })
	}
	working.Wait()
	cancel()
	background.Wait()
	var history []porcupine.Operation
	for _, c := range clients {
		history = append(history, c.history...)
	}
	return history, errors.Join(errs...)
}

// work does n transactions.
func (c *client) work(n int) error {
	for range n {
		t := c.next()
		if err := c.aim(t); err != nil {
			return err
		}
		if err := c.do(t, c.update); err != nil {
			return err
		}
		if c.rng.IntN(3) == 0 {
			runtime.Gosched()
		}
	}
	return nil
}

// disturb flushes and compacts until ctx is done.
func (r round) disturb(ctx context.Context) error {
	for n := r.seed; ctx.Err() == nil; n++ {
		var err error
		if n%3 == 0 {
			err = r.db.Compact(ctx)
		} else {
			err = r.db.Flush()
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// clear empties the database.
func clear(tx *stoat.Tx) error {
	errs := []error{tx.DeleteRange(stoat.Range{})}
	for room := 1; room < rooms; room++ {
		err := tx.DeleteBucket(roomOf(step{room: room}))
		if !errors.Is(err, stoat.ErrBucketNotFound) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// TestVerdict_rejectsBrokenClients tests the test: it rejects clients that read an old snapshot, or
// read and write in two transactions, and accepts the same clients without these faults.
func TestVerdict_rejectsBrokenClients(t *testing.T) {
	for _, broken := range []bool{false, true} {
		db, err := tuned.Open(memfs.New(), "db", nil, tuned.Sizes()[0])
		if err != nil {
			t.Fatal(err)
		}
		for name, history := range map[string][]porcupine.Operation{
			"stale read":  staleRead(t, db, broken),
			"lost update": lostUpdate(t, db, broken),
		} {
			err := verdict(history, true, t.TempDir())
			if broken != (err != nil) {
				t.Errorf("%s, broken %v: %v", name, broken, err)
			}
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// staleRead reads, after a write, the value from before it.
func staleRead(t *testing.T, db *stoat.DB, broken bool) []porcupine.Operation {
	t.Helper()
	var clock atomic.Int64
	c := &client{db: db, clock: &clock}
	old, err := db.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	read := c.update
	if broken {
		read = func(t transaction) ([]answer, error) {
			a, err := on(old, t.steps[0])
			return []answer{a}, err
		}
	}
	errs := errors.Join(
		c.do(transaction{steps: []step{{action: put, value: "new"}}}, c.update),
		c.do(transaction{steps: []step{{action: get}}}, read),
		old.Rollback(),
	)
	if errs != nil {
		t.Fatal(errs)
	}
	return c.history
}

// lostUpdate has two clients extend a value.
func lostUpdate(t *testing.T, db *stoat.DB, broken bool) []porcupine.Operation {
	t.Helper()
	var clock atomic.Int64
	const key = 1
	first, second := &client{db: db, clock: &clock}, &client{id: 1, db: db, clock: &clock}
	extension := func(value string) transaction {
		return transaction{steps: []step{{action: extend, key: key, value: value}}}
	}
	look := transaction{steps: []step{{action: get, key: key}}}
	errs := first.do(extension("first"), func(t transaction) ([]answer, error) {
		if !broken {
			return first.update(t)
		}
		before, err := first.update(look)
		if err != nil {
			return nil, err
		}
		if err := second.do(extension("second"), second.update); err != nil {
			return nil, err
		}
		_, err = first.update(transaction{
			steps: []step{{action: put, key: key, value: before[0].value + t.steps[0].value}},
		})
		return before, err
	})
	errs = errors.Join(errs, second.do(look, second.update))
	if errs != nil {
		t.Fatal(errs)
	}
	return slices.Concat(first.history, second.history)
}
