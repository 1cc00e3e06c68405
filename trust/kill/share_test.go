package kill

import (
	"bytes"
	"errors"
	"flag"
	"strconv"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
)

var openings = flag.Int("kill.opens", 40, "how often to open a database that is being written")

// TestReadOnly_besideAWriterSeesOneState opens a database repeatedly while another process writes,
// flushes and compacts it. Each time, it must see the state after one transaction, with everything
// acknowledged before Open was called.
func TestReadOnly_besideAWriterSeesOneState(t *testing.T) {
	const sizes = 4
	for size := range sizes {
		d := newDrill(t, uint64(size))
		p := plan{
			Dir: d.dir, Seed: d.history.seed, Size: size, Sync: stoat.SyncNever, Threshold: 1000,
			Writers: 2, Flush: true, Compact: size%2 == 0,
		}
		c := start(t, p)
		c.awaitOpened(t)
		for range *openings / sizes {
			c.awaitAcked(t, 1)
			if err := d.look(p, c.acked.Load(), true); err != nil {
				t.Fatalf("size %d: %v", size, err)
			}
		}
		c.end(t)
		if err := d.look(p, c.acked.Load(), false); err != nil {
			t.Errorf("size %d, after the writer has closed: %v", size, err)
		}
	}
	t.Logf("trust: %d read-only opens beside a writer", *openings/sizes*sizes)
}

// holder starts a process that holds the lock and does not write.
func holder(t *testing.T) (*drill, plan, *process) {
	t.Helper()
	d := newDrill(t, 1)
	p := plan{Dir: d.dir, Size: 4}
	c := start(t, p)
	c.awaitOpened(t)
	return d, p, c
}

func TestLock_namesTheProcessThatHasIt(t *testing.T) {
	d, _, c := holder(t)
	_, err := stoat.Open(d.dir, nil)
	if !errors.Is(err, stoat.ErrLocked) {
		t.Fatalf("the second process gets %v", err)
	}
	if pid := strconv.Itoa(c.cmd.Process.Pid); !bytes.Contains([]byte(err.Error()), []byte(pid)) {
		t.Errorf("%q does not name process %s", err, pid)
	}
	c.end(t)
}

func TestLock_isWaitedFor(t *testing.T) {
	d, _, c := holder(t)
	const short = 50 * time.Millisecond
	_, err := stoat.Open(d.dir, &stoat.Options{LockTimeout: short})
	if !errors.Is(err, stoat.ErrLocked) {
		t.Fatalf("after a short wait: %v", err)
	}
	got := make(chan error)
	go func() {
		db, err := stoat.Open(d.dir, &stoat.Options{LockTimeout: time.Minute})
		if err == nil {
			err = db.Close()
		}
		got <- err
	}()
	select {
	case err := <-got:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(short):
	}
	c.end(t)
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func TestLock_isFreeAfterAKill(t *testing.T) {
	for range 3 {
		d, p, c := holder(t)
		c.kill(t)
		db, err := p.open(false, t.Output())
		if err != nil {
			t.Fatalf("after the kill: %v", err)
		}
		if err := errors.Join(d.history.match(db, 0), db.Close()); err != nil {
			t.Error(err)
		}
	}
}
