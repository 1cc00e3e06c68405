package replica

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/torture/crash"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// pruned is a replica whose power is cut at the operations of its disk, while it makes checkpoints
// and prunes.
type pruned struct {
	*crash.Schedule
	t     *testing.T
	disk  *memfs.FS
	state atomic.Pointer[[32]byte] // the root while it prunes; otherwise nil
}

// play runs the workload.
func (v *pruned) play(seed uint64) {
	p := createTiny(v.t, faultfs.New(v.disk, v.Before))
	defer func() { must(v.t, p.db.Close()) }()
	other := newPeer(v.t, p)
	h := &history{t: v.t, rng: rand.New(rand.NewPCG(seed, 31)), peers: []*peer{p, other}}
	for range 3 {
		for range 4 {
			p.now = p.now.Add(time.Second)
			other.now = p.now
			h.write(p)
			h.write(other)
			meet(v.t, p, other)
		}
		if err := p.checkpoint(); !errors.Is(err, ErrNoCheckpoint) {
			must(v.t, err)
		}
		meet(v.t, p, other)
		other.put(task{ID: 7, Title: "has seen the checkpoint"})
		meet(v.t, p, other)
		root := p.root()
		v.state.Store(&root)
		must(v.t, p.space.Prune())
		v.state.Store(nil)
	}
	p.inTx(func(t *txn) error {
		if err := t.unpruned(); !errors.Is(err, ErrPruned) {
			v.t.Errorf("nothing was pruned: %v", err)
		}
		return nil
	})
	agree(v.t, p, other)
	v.Now()
}

// crash checks a copy of the disk as a crash leaves it: the state is the same, and Prune goes on to
// its end.
func (v *pruned) crash(kept crash.Kept, rng *rand.Rand) error {
	root := v.state.Load()
	if root == nil {
		return nil
	}
	p, err := reopenTiny(v.t, kept.Of(v.disk, rng), [32]byte{1}, noon.Add(time.Hour))
	if err != nil {
		return err
	}
	return errors.Join(v.check(p, *root), p.db.Close())
}

func (v *pruned) check(p *peer, root [32]byte) error {
	if p.root() != root {
		return errors.New("the crash changed the state")
	}
	if err := p.space.Prune(); err != nil {
		return err
	}
	if p.root() != root {
		return errors.New("the second Prune changed the state")
	}
	p.put(task{ID: 5, Title: "after the crash"})
	if p.get(5) == nil {
		return errors.New("it cannot be written to")
	}
	return p.space.Seal()
}

// A crash at any operation of the disk while a replica prunes changes nothing of what it shows, and
// the next Prune comes to its end.
func TestCrash_whilePruning(t *testing.T) {
	t.Parallel()
	_, played := cutPower(t, "prune", 10, func(sample crash.Sample) *crash.Schedule {
		v := &pruned{t: t, disk: memfs.NewCrashable()}
		v.Schedule = crash.NewSchedule("prune", sample, v.crash)
		v.play(crashes.Seed)
		return v.Schedule
	})
	t.Logf("trust: %d crash points", played.Points())
}

// While entries are pruned, and if that did not come to its end before the next checkpoint, History
// shows what stays.
func TestPrune_keepsHistoryReadable(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	for i := range int32(4) {
		a.put(task{ID: 1, Votes: i})
		meet(t, a, b)
		b.put(task{ID: 2, Votes: i})
		meet(t, a, b)
	}
	for checkpoint := range uint64(2) {
		must(t, a.checkpoint())
		for range 2 {
			meet(t, a, b)
			b.edit(func(v *task) { v.Votes++ })
		}
		meet(t, a, b)
		if checkpoint == 0 {
			must(t, a.space.verifyHorizon())
			must(t, a.space.pruneLogs())
		}
		must(t, a.db.View(func(tx *stoat.Tx) error {
			n := 0
			for r, err := range a.space.History(tx, "tasks", int64(1)) {
				if err != nil {
					return err
				}
				if n++; len(r.Fields) == 0 {
					t.Errorf("entry %d did nothing", r.Seq)
				}
			}
			if a.checkpoints() != checkpoint+1 || n < 2 {
				t.Errorf("%d checkpoints, %d revisions", a.checkpoints(), n)
			}
			return nil
		}))
	}
}

// The horizon moves, and is pruned, while a Prune compares the one before. That notes nothing.
func TestPrune_notesNoHorizonThatHasPassed(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	checkpoint := func() {
		a.edit(func(v *task) { v.Votes++ })
		agreeAfter(t, a, b)
		must(t, a.checkpoint())
		agreeAfter(t, a, b)
	}
	a.put(task{ID: 1})
	checkpoint()
	passed, key, err := a.space.compareHorizon()
	if err != nil || key != keyVerified {
		t.Fatalf("got %q, %v", key, err)
	}
	checkpoint()
	if a.checkpoints() != 2 {
		t.Fatal("the second checkpoint does not count")
	}
	must(t, a.space.Prune())
	_, err = a.space.noteCompared(passed, key)
	must(t, err)
	a.inTx(func(n *txn) error {
		hz, err := n.horizonOf()
		if err != nil {
			return err
		}
		if pruned, err := n.pruned(hz); err != nil || !pruned {
			t.Errorf("what was pruned counts as present: %v", err)
		}
		return nil
	})
}
