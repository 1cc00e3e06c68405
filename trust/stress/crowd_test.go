package stress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// Crowd is goroutines that use one open database at once, in all ways.
type Crowd struct {
	Chain *Chain
	DB    *stoat.DB
	Line  uint64
	Key   []byte // of the database
	// Expected reports whether an error is expected, because the database ends.
	Expected func(error) bool

	committing sync.RWMutex // held alone by loads
	mu         sync.Mutex
	acked      Mark
	err        error
	cancel     context.CancelFunc
	acts       atomic.Int64
}

// Action is something that one of the crowd does.
type Action struct {
	Name   string
	Weight int
	Do     func(ctx context.Context, rng *rand.Rand) error
}

// Acked returns the newest transaction that was acknowledged.
func (c *Crowd) Acked() Mark {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.acked
}

// ack notes that a transaction was acknowledged.
func (c *Crowd) ack(m Mark) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.Number > c.acked.Number {
		c.acked = m
	}
}

// Begin wants what was opened to be at least at a mark, and makes its first transaction.
func (c *Crowd) Begin(ctx context.Context, floor Mark) error {
	m, err := c.Chain.CheckDB(c.DB)
	if err == nil {
		err = c.atLeast(m, floor)
	}
	if err != nil {
		return fmt.Errorf("as opened: %w", err)
	}
	if c.acked, err = c.Chain.Update(ctx, c.DB, c.Line); err != nil {
		return fmt.Errorf("the first transaction: %w", err)
	}
	return nil
}

// Run lets n goroutines act until ctx ends, and returns the first error that is not expected.
func (c *Crowd) Run(ctx context.Context, seed uint64, n int, actions []Action) error {
	ctx, c.cancel = context.WithCancel(ctx)
	defer c.cancel()
	total := 0
	for _, a := range actions {
		total += a.Weight
	}
	var all sync.WaitGroup
	for i := range n {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		all.Go(func() {
			for ctx.Err() == nil {
				at := rng.IntN(total)
				for _, a := range actions {
					if at -= a.Weight; at < 0 {
						c.report(ctx, a.Name, a.Do(ctx, rng))
						c.acts.Add(1)
						break
					}
				}
				runtime.Gosched()
			}
		})
	}
	all.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// report notes an error that is not expected, which ends the crowd.
func (c *Crowd) report(ctx context.Context, name string, err error) {
	ended := ctx.Err() != nil && errors.Is(err, context.Canceled) && !errors.Is(err, stoat.ErrCorrupt)
	if err == nil || ended || c.Expected(err) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = fmt.Errorf("%s: %w", name, err)
	}
	c.cancel()
}

var errBack = errors.New("rolled back")

// Commit makes a transaction, or rolls one back.
func (c *Crowd) Commit(ctx context.Context, rng *rand.Rand) error {
	c.committing.RLock()
	defer c.committing.RUnlock()
	for range 1 + rng.IntN(10) {
		if rng.IntN(20) == 0 {
			err := c.DB.UpdateContext(ctx, func(tx *stoat.Tx) error {
				if _, err := c.Chain.Next(tx, c.Line); err != nil {
					return err
				}
				return errBack
			})
			if !errors.Is(err, errBack) {
				return err
			}
			continue
		}
		made, err := c.Chain.Update(ctx, c.DB, c.Line)
		if err != nil {
			return err
		}
		c.ack(made)
	}
	return nil
}

// Load loads.
func (c *Crowd) Load(ctx context.Context, _ *rand.Rand) error {
	c.committing.Lock()
	defer c.committing.Unlock()
	made, err := c.Chain.Load(ctx, c.DB, c.Line)
	if err == nil {
		c.ack(made)
	}
	return err
}

// atLeast returns an error if a state is not least or one made of it.
func (c *Crowd) atLeast(m, least Mark) error {
	if !c.Chain.Descends(m, least) {
		return fmt.Errorf("at %+v, want at least %+v: %w", m, least, ErrDifferent)
	}
	return nil
}

// View compares the database.
func (c *Crowd) View(context.Context, *rand.Rand) error {
	least := c.Acked()
	m, err := c.Chain.CheckDB(c.DB)
	if err != nil {
		return err
	}
	return c.atLeast(m, least)
}

// Some looks some keys up.
func (c *Crowd) Some(_ context.Context, rng *rand.Rand) error {
	return c.DB.View(func(tx *stoat.Tx) error {
		_, err := c.Chain.CheckSome(tx, rng, 1+rng.IntN(20))
		return err
	})
}

// Hold keeps a transaction open for a while, with a cursor and a scan under way.
func (c *Crowd) Hold(ctx context.Context, rng *rand.Rand) error {
	return Hold(ctx, rng, c.Chain, c.DB)
}

// Hold is [Crowd.Hold] of any database of the chain.
func Hold(ctx context.Context, rng *rand.Rand, chain *Chain, db *stoat.DB) error {
	tx, err := db.Begin(false)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var first Mark
	if rng.IntN(2) == 0 { // else nothing is open yet when it reads
		if first, err = chain.Check(tx); err != nil {
			return err
		}
	}
	if err := wander(ctx, rng, chain, tx); err != nil {
		return err
	}
	for range tx.Scan(stoat.Range{}) {
		if rng.IntN(10) == 0 {
			wait(ctx, rng, 5*time.Millisecond)
		}
	}
	if err := tx.Err(); err != nil {
		return err
	}
	m, err := chain.Check(tx)
	if err == nil && first != (Mark{}) && m != first {
		err = fmt.Errorf("a transaction goes from %+v to %+v: %w", first, m, ErrDifferent)
	}
	return err
}

// wander moves a cursor to and fro, with pauses, and looks up some keys in between.
func wander(ctx context.Context, rng *rand.Rand, chain *Chain, tx *stoat.Tx) error {
	cursor := tx.Cursor()
	key, _ := cursor.Seek([]byte(drawKey(rng)))
	for range rng.IntN(20) {
		wait(ctx, rng, 5*time.Millisecond)
		forth := rng.IntN(3) > 0
		var next []byte
		if forth {
			next, _ = cursor.Next()
		} else {
			next, _ = cursor.Prev()
		}
		if err := cursor.Err(); err != nil {
			return err
		}
		if key != nil && next != nil && (bytes.Compare(key, next) < 0) != forth {
			return fmt.Errorf("a cursor goes from %q to %q: %w", key, next, ErrDifferent)
		}
		key = next
		if rng.IntN(3) == 0 {
			if _, err := chain.CheckSome(tx, rng, 3); err != nil {
				return err
			}
		}
	}
	return nil
}

// wait pauses, or lets others run.
func wait(ctx context.Context, rng *rand.Rand, most time.Duration) {
	if rng.IntN(3) == 0 {
		runtime.Gosched()
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(rng.Int64N(int64(most)))):
	}
}

// Check checks.
func (c *Crowd) Check(ctx context.Context, rng *rand.Rand) error {
	if rng.IntN(2) == 0 {
		return c.DB.CheckQuick(ctx)
	}
	return c.DB.Check(ctx)
}

// Backup backs up to a folder, twice, and compares it.
func (c *Crowd) Backup(ctx context.Context, rng *rand.Rand) error {
	disk := memfs.New()
	for range 2 {
		least := c.Acked()
		if err := tuned.Backup(ctx, c.DB, disk, "backup", false); err != nil {
			return err
		}
		if err := c.compareCopy(ctx, rng, disk, "backup", least); err != nil {
			return fmt.Errorf("the backup: %w", err)
		}
	}
	return nil
}

// compareCopy opens a copy and compares it.
func (c *Crowd) compareCopy(
	ctx context.Context, rng *rand.Rand, disk *memfs.FS, dir string, least Mark,
) error {
	o := &stoat.Options{Key: c.Key, ReadOnly: rng.IntN(2) == 0}
	db, err := tuned.Open(disk, dir, o, engine.Tuning{})
	if err != nil {
		return err
	}
	m, err := c.Chain.CheckDB(db)
	if err == nil {
		err = c.atLeast(m, least)
	}
	if err == nil {
		err = db.Check(ctx)
	}
	return errors.Join(err, db.Close())
}

// BackupTo backs up to a stream and restores it.
func (c *Crowd) BackupTo(ctx context.Context, rng *rand.Rand) error {
	least := c.Acked()
	var b bytes.Buffer
	if err := c.DB.BackupToWithKey(ctx, &b, nil); err != nil {
		return err
	}
	disk := memfs.New()
	if err := tuned.RestoreFrom(ctx, &b, disk, "restored"); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	own := &Crowd{Chain: c.Chain}
	if err := own.compareCopy(ctx, rng, disk, "restored", least); err != nil {
		return fmt.Errorf("the restored stream: %w", err)
	}
	return nil
}

// Tidy flushes or compacts.
func (c *Crowd) Tidy(ctx context.Context, rng *rand.Rand) error {
	switch rng.IntN(4) {
	case 0:
		return c.DB.Compact(ctx)
	case 1:
		ctx, end := context.WithTimeout(ctx, time.Duration(rng.IntN(3000))*time.Microsecond)
		defer end()
		if err := c.DB.Compact(ctx); ctx.Err() == nil {
			return err
		}
		return nil
	case 2:
		return c.DB.Sync()
	default:
		return c.DB.Flush()
	}
}

// Look looks at numbers.
func (c *Crowd) Look(context.Context, *rand.Rand) error {
	s, shape := c.DB.Stats(), c.DB.Shape()
	_, _, _ = s, shape, c.DB.Position()
	if err := c.DB.Err(); err != nil {
		return err
	}
	return c.DB.View(func(tx *stoat.Tx) error {
		_, err := tx.Stats()
		return err
	})
}

// Follow watches for a while.
func (c *Crowd) Follow(ctx context.Context, rng *rand.Rand) error {
	ctx, end := context.WithTimeout(ctx, time.Duration(rng.IntN(200))*time.Millisecond)
	defer end()
	commits := 0
	err := c.Chain.Follow(ctx, c.DB, &commits)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// Actions returns all of these.
func (c *Crowd) Actions() []Action {
	return []Action{
		{"commit", 20, c.Commit}, {"load", 2, c.Load}, {"view", 8, c.View}, {"some", 8, c.Some},
		{"hold", 6, c.Hold}, {"check", 5, c.Check}, {"backup", 2, c.Backup},
		{"backupto", 2, c.BackupTo}, {"tidy", 4, c.Tidy}, {"look", 2, c.Look},
		{"follow", 3, c.Follow},
	}
}
