package kill

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

var (
	killRounds = flag.Int("kill.rounds", 10, "how many processes to kill")
	killSeed   = flag.Uint64("kill.seed", 1, "seed of histories, options and when to kill")
)

// TestKill_losesNothing kills a writing process at any moment: while it opens and recovers,
// commits, flushes, compacts or loads. The database must then be in the state after some
// transaction no older than the newest acknowledged one, even if commits are not synced: the system
// keeps running.
func TestKill_losesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(*killSeed, 1))
	var d *drill
	var total uint64
	for round := range *killRounds {
		if d == nil || rng.IntN(20) == 0 {
			d = newDrill(t, rng.Uint64())
		}
		before := d.history.n
		p := drawPlan(rng, d.dir, d.history.seed)
		if err := d.round(t, p, rng); err != nil {
			d.keep = true
			t.Fatalf("round %d: %v\n%+v\nthe files are in %s; reproduce with "+
				"-run TestKill -kill.seed %d -kill.rounds %d", round, err, p, d.dir, *killSeed, round+1)
		}
		total += d.history.n - before
	}
	t.Logf("%d transactions survived", total)
	t.Logf("trust: %d kills", *killRounds)
}

// drill is a folder whose writers get killed.
type drill struct {
	dir      string
	keep     bool // the files stay, because a check failed
	history  *history
	backedUp bool // there is a backup
}

func newDrill(t *testing.T, seed uint64) *drill {
	t.Helper()
	top, err := os.MkdirTemp("", "stoat-kill-")
	if err != nil {
		t.Fatal(err)
	}
	d := &drill{dir: filepath.Join(top, "db"), history: newHistory(seed)}
	t.Cleanup(func() {
		if d.keep {
			return
		}
		if err := os.RemoveAll(top); err != nil {
			t.Error(err)
		}
	})
	return d
}

// round lets a child write, kills it, and checks what is left.
func (d *drill) round(t *testing.T, p plan, rng *rand.Rand) error {
	c := start(t, p)
	if rng.IntN(5) > 0 {
		c.awaitOpened(t)
		<-time.After(time.Duration(rng.IntN(200_000)) * time.Microsecond)
	} else { // during opening
		<-time.After(time.Duration(rng.IntN(40_000)) * time.Microsecond)
	}
	c.kill(t)
	if t.Failed() {
		return errors.New("the child has failed")
	}
	// A read-only check leaves the whole recovery to the next child.
	if err := d.look(p, c.acked.Load(), rng.IntN(2) == 0); err != nil {
		return err
	}
	d.backedUp = d.backedUp || c.backedUp.Load()
	return d.lookAtBackup(p)
}

// lookAtBackup opens the backup, if there is one: the newest, or the previous one if the kill
// interrupted a backup.
func (d *drill) lookAtBackup(p plan) error {
	if !d.backedUp {
		return nil
	}
	p.Dir = p.backupDir()
	backup := drill{dir: p.Dir, history: newHistory(d.history.seed)}
	if err := backup.look(p, 0, true); err != nil {
		return fmt.Errorf("the backup: %w", err)
	}
	if backup.history.n > d.history.n {
		return fmt.Errorf("the backup has transaction %d, the database only %d", backup.history.n,
			d.history.n)
	}
	return nil
}

// look opens and checks what the kill left.
func (d *drill) look(p plan, acked uint64, readOnly bool) error {
	var logged bytes.Buffer
	db, err := p.open(readOnly, &logged)
	if readOnly && errors.Is(err, fs.ErrNotExist) && acked == 0 && d.history.n == 0 {
		return nil // it was killed before it created a database
	}
	if err == nil {
		err = errors.Join(d.history.match(db, acked), check(db), db.Close())
	}
	if err != nil {
		return fmt.Errorf("after transaction %d, read-only %v: %w\n%s", acked, readOnly, err, &logged)
	}
	return nil
}

// TestMatch_noticesALoss tests the test.
func TestMatch_noticesALoss(t *testing.T) {
	const last = 20
	p := plan{Size: 2, Sync: stoat.SyncNever}
	db, err := tuned.Open(memfs.New(), "db", &stoat.Options{Sync: p.Sync}, tuned.Sizes()[p.Size])
	if err != nil {
		t.Fatal(err)
	}
	var alone sync.RWMutex
	for range last {
		if err := p.step(db, &alone, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	if err := newHistory(p.Seed).match(db, last); err != nil {
		t.Errorf("all is there: %v", err)
	}
	if newHistory(p.Seed).match(db, last+1) == nil {
		t.Error("a transaction is missing, and nobody notices")
	}
	if newHistory(p.Seed+1).match(db, last) == nil {
		t.Error("the data of another history is taken for this one's")
	}
	if err := db.Put([]byte("k000"), []byte("torn")); err != nil {
		t.Fatal(err)
	}
	if newHistory(p.Seed).match(db, last) == nil {
		t.Error("a wrong value goes unnoticed")
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
