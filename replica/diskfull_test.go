package replica

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// The disk of a replica is full at any moment of a session. Whoever writes is told so, what was
// acknowledged on either side is there, and once there is space again, the next session makes both
// equal, in the same database or after it was opened again.
func TestSync_onADiskThatIsFull(t *testing.T) {
	base := foundOnDisk(t)
	full, reopened := 0, 0
	for budget, whole := int64(0), false; !whole; budget += 6000 {
		if budget > 1<<20 {
			t.Fatal("no space is enough")
		}
		whole = fillDisk(t, base.Kill(), budget, &full, &reopened)
	}
	t.Logf("%d sessions on a full disk; %d had to open the database again", full, reopened)
	if full < 5 {
		t.Error("the disk was hardly ever full")
	}
}

// foundOnDisk returns a disk with a replica of a new space, which is closed.
func foundOnDisk(t *testing.T) *memfs.FS {
	t.Helper()
	disk := memfs.New()
	founder := createTiny(t, disk)
	founder.allow()
	founder.put(task{ID: 1, Title: "own"})
	must(t, founder.space.Seal())
	must(t, founder.db.Close())
	return disk
}

// fillDisk has a session on a disk with so many bytes left, and one with enough. It reports whether
// the first was enough, too.
func fillDisk(
	t *testing.T, disk *memfs.FS, budget int64, full, reopened *int,
) (whole bool) {
	quota := faultfs.NewQuota(1 << 30)
	files := faultfs.New(disk, quota.Hook)
	p, err := reopenTiny(t, files, [32]byte{1}, noon)
	must(t, err)
	other := newPeer(t, p)
	defer other.close()
	meet(t, p, other)
	random := rand.NewChaCha8([32]byte{3})
	for id := int64(10); id < 30; id++ {
		other.put(task{ID: id, Title: fmt.Sprint(random.Uint64()), Note: strings.Repeat("n", 1000)})
	}
	quota.Add(budget - (1 << 30))
	committed := []int64{1}
	for id := int64(2); id < 5; id++ {
		err := p.db.Update(func(tx *stoat.Tx) error { return p.tasks.Put(tx, &task{ID: id}) })
		if err == nil {
			committed = append(committed, id)
		} else if !errors.Is(err, stoat.ErrNoSpace) {
			t.Errorf("budget %d: a commit: %v", budget, err)
		}
	}
	acknowledged := false
	x, y := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- Sync(context.Background(), other.space, y, once) }()
	err = Sync(context.Background(), p.space, x, &SyncOptions{Once: true,
		OnStatus: func(s SyncStatus) { acknowledged = s.CaughtUp }})
	there := <-done
	if err != nil && !errors.Is(err, stoat.ErrNoSpace) {
		t.Errorf("budget %d: the session: %v", budget, err)
	}
	if whole = err == nil && there == nil; !whole {
		*full++
	}
	quota.Add(1 << 30)
	has := p.everything()
	if acknowledged && p.get(29) == nil {
		t.Errorf("budget %d: what was acknowledged is missing", budget)
	}
	if err := syncBoth(p, other); err != nil {
		*reopened++
		_ = p.db.Close()
		if p, err = reopenTiny(t, disk, [32]byte{1}, noon); err != nil {
			t.Fatalf("budget %d: %v", budget, err)
		}
		meet(t, p, other)
	}
	defer p.close()
	for log, n := range has {
		if now := p.everything()[log]; now < n {
			t.Errorf("budget %d: %d of %d entries of a log are left", budget, now, n)
		}
	}
	for _, id := range committed {
		if p.get(id) == nil || other.get(id) == nil {
			t.Errorf("budget %d: the record %d is lost", budget, id)
		}
	}
	agree(t, p, other)
	must(t, p.verify())
	return whole
}

// syncBoth has a session of two replicas, and returns the errors of both.
func syncBoth(p, q *peer) error { return errors.Join(syncSides(p, q)) }

// syncSides has a session of two replicas.
func syncSides(p, q *peer) (here, there error) {
	x, y := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- Sync(context.Background(), q.space, y, once) }()
	here = Sync(context.Background(), p.space, x, once)
	return here, <-done
}
