package replica

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// fullDisk has no room from one of its operations on, until somebody frees some.
type fullDisk struct {
	from  atomic.Int64 // the index of the operation
	fails atomic.Int64
}

func (d *fullDisk) hook(op faultfs.Op) error {
	switch op.Kind {
	case faultfs.Create, faultfs.MkdirAll, faultfs.Link, faultfs.WriteAt, faultfs.Preallocate,
		faultfs.Sync:
		if from := d.from.Load(); op.Index >= from {
			d.fails.Add(1)
			return vfs.ErrNoSpace
		}
	}
	return nil
}

// The disk of a replica is full from any operation on of its sessions, of a checkpoint, and of a
// prune. What fails says that, what was committed before stays, and once there is room again,
// everything goes on to its end, in the same database or after it was opened again.
func TestDisk_thatIsFullFromAnyOperationOn(t *testing.T) {
	base := foundOnDisk(t)
	step := int64(3)
	if testing.Short() {
		step = 29
	}
	tries, reopened := 0, 0
	for after, whole := int64(0), false; !whole; after += step {
		if after > 10_000 {
			t.Fatal("it never ends")
		}
		again := false
		whole, again = playOnFullDisk(t, base.Kill(), after)
		if tries++; again {
			reopened++
		}
		if t.Failed() {
			t.Fatalf("the disk is full from operation %d on", after)
		}
	}
	t.Logf("trust: %d full disks; the database was opened again after %d", tries, reopened)
}

// playOnFullDisk plays the workload on a disk that is full some operations after it was opened. It
// reports whether all went well, and whether the database had to be opened again.
func playOnFullDisk(t *testing.T, files *memfs.FS, after int64) (whole, again bool) {
	disk := &fullDisk{}
	disk.from.Store(1 << 40)
	counted := faultfs.New(files, disk.hook)
	p, err := reopenTiny(t, counted, [32]byte{1}, noon)
	must(t, err)
	other := newPeer(t, p)
	defer other.close()
	disk.from.Store(counted.Count() + after)
	err = fillAndPrune(p, other)
	whole = disk.fails.Load() == 0
	if err != nil && !errors.Is(err, stoat.ErrNoSpace) || whole && err != nil {
		t.Errorf("it fails with %v", err)
	}
	has := p.everything()
	disk.from.Store(1 << 40)
	if err := fillAndPrune(p, other); err != nil && !errors.Is(err, ErrNoCheckpoint) {
		if !errors.Is(err, stoat.ErrPoisoned) {
			t.Errorf("once there is room: %v", err)
		}
		again = true
		_ = p.db.Close()
		p, err = reopenTiny(t, files, [32]byte{1}, noon)
		must(t, err)
		if err := fillAndPrune(p, other); err != nil && !errors.Is(err, ErrNoCheckpoint) {
			t.Errorf("after it was opened again: %v", err)
		}
	}
	defer p.close()
	for log, n := range has {
		if now := p.everything()[log]; now < n {
			t.Errorf("%d of %d entries of a log are left", now, n)
		}
	}
	agree(t, p, other)
	must(t, p.verify())
	must(t, other.verify())
	return whole, again
}

// fillAndPrune writes on two replicas, brings them together, makes a checkpoint on the first, and
// prunes it.
func fillAndPrune(p, other *peer) error {
	for id := range int64(4) {
		err := p.db.Update(func(tx *stoat.Tx) error {
			return p.tasks.Put(tx, &task{ID: 10 + id, Title: "here"})
		})
		if err != nil {
			return err
		}
		other.put(task{ID: 20 + id, Title: "there"})
	}
	if err := syncBoth(p, other); err != nil {
		return err
	}
	if err := p.checkpoint(); err != nil && !errors.Is(err, ErrNoCheckpoint) {
		return err
	}
	if err := syncBoth(p, other); err != nil {
		return err
	}
	other.put(task{ID: 30, Title: "has seen it"})
	if err := syncBoth(p, other); err != nil {
		return err
	}
	return p.space.Prune()
}
