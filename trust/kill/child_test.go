package kill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
)

// planVariable is the environment variable that makes this binary a child; its value is the plan.
const planVariable = "STOAT_TRUST_PLAN"

// plan says what a child does: it opens the database, reports that, and writes until its input
// ends.
type plan struct {
	Dir         string
	Seed        uint64 // of the history
	Size        int    // which of tuned.Sizes
	Sync        stoat.SyncMode
	Compression stoat.Compression
	Threshold   int
	Memory      int64
	Writers     int // goroutines that commit
	Flush       bool
	Compact     bool
	Backup      bool
}

func drawPlan(rng *rand.Rand, dir string, seed uint64) plan {
	return plan{
		Dir: dir, Seed: seed,
		Size:        rng.IntN(len(tuned.Sizes())),
		Sync:        stoat.SyncMode(rng.IntN(2)),
		Compression: stoat.Compression(rng.IntN(3)),
		Threshold:   []int{64, 1000, 0, -1}[rng.IntN(4)],
		Memory:      []int64{0, 2 << 20}[rng.IntN(2)],
		Writers:     1 + rng.IntN(6),
		Flush:       rng.IntN(3) == 0,
		Compact:     rng.IntN(3) == 0,
		Backup:      rng.IntN(3) == 0,
	}
}

// backupDir is where backups go.
func (p plan) backupDir() string { return p.Dir + ".backup" }

// open opens the plan's database.
func (p plan) open(readOnly bool, log io.Writer) (*stoat.DB, error) {
	return tuned.Open(vfs.OS(), p.Dir, &stoat.Options{
		ReadOnly: readOnly, Sync: p.Sync, Compression: p.Compression, MemoryLimit: p.Memory,
		ValueThreshold: p.Threshold,
		Logger:         slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}, tuned.Sizes()[p.Size])
}

func TestMain(m *testing.M) {
	text := os.Getenv(planVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	var p plan
	err := json.Unmarshal([]byte(text), &p)
	if err == nil {
		err = p.write()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, stopped, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// What a child prints: that it has opened the database, that a backup is complete, and, on standard
// error, that it cannot continue. A number is a transaction whose commit returned.
const (
	opened   = "opened"
	backedUp = "backed up"
	stopped  = "the child stops:"
)

// write is a child's main function.
func (p plan) write() error {
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin) // returns when the parent ends
		cancel(err)
	}()
	db, err := p.open(false, os.Stderr)
	if err != nil {
		return err
	}
	fmt.Println(opened)
	var busy sync.WaitGroup
	var alone sync.RWMutex // locked exclusively for a Load
	keep := func(fn func() error) {
		busy.Go(func() {
			for ctx.Err() == nil {
				if err := fn(); err != nil && ctx.Err() == nil {
					cancel(err)
				}
			}
		})
	}
	for range p.Writers {
		keep(func() error { return p.step(db, &alone, os.Stdout) })
	}
	p.disturb(ctx, db, keep)
	<-ctx.Done()
	busy.Wait()
	err = context.Cause(ctx)
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, db.Close())
}

// step commits the next transaction and writes its number to out.
func (p plan) step(db *stoat.DB, alone *sync.RWMutex, out io.Writer) error {
	alone.RLock()
	n, err := commit(db, p.Seed)
	alone.RUnlock()
	if errors.Is(err, errLoad) {
		alone.Lock()
		n, err = commitLoad(db, p.Seed)
		alone.Unlock()
	}
	if err == nil && n > 0 {
		_, err = fmt.Fprintln(out, n)
	}
	return err
}

// disturb does what users of a database do besides writing.
func (p plan) disturb(ctx context.Context, db *stoat.DB, keep func(fn func() error)) {
	if p.Flush {
		keep(func() error { rest(ctx, 5*time.Millisecond); return db.Flush() })
	}
	if p.Compact {
		keep(func() error { rest(ctx, 20*time.Millisecond); return db.Compact(ctx) })
	}
	if p.Backup {
		keep(func() error { rest(ctx, 20*time.Millisecond); return backup(ctx, db, p.backupDir()) })
	}
	keep(func() error { // a long-lived reader; files are removed under it
		return db.View(func(tx *stoat.Tx) error {
			rest(ctx, 10*time.Millisecond)
			for range tx.Scan(stoat.Range{}) {
				continue
			}
			return tx.Err()
		})
	})
}

func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// backup makes a backup if the database has a method for that, and reports it.
func backup(ctx context.Context, db *stoat.DB, dir string) error {
	if b, ok := any(db).(interface {
		Backup(ctx context.Context, dir string) error
	}); ok {
		if err := b.Backup(ctx, dir); err != nil {
			return err
		}
		_, err := fmt.Println(backedUp)
		return err
	}
	return nil
}

// check verifies a database if it has a method for that.
func check(db *stoat.DB) error {
	if c, ok := any(db).(interface {
		Check(ctx context.Context) error
	}); ok {
		return c.Check(context.Background())
	}
	return nil
}
