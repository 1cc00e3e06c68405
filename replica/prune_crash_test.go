package replica

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

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
	p := &peer{t: v.t, now: noon, seed: [32]byte{1}, branch: 1}
	must(v.t, p.openTiny(faultfs.New(v.disk, v.Before)))
	defer func() { must(v.t, p.db.Close()) }()
	opts := p.options()
	opts.Roots = testRoots()
	var err error
	p.space, err = Create(p.db, "team", opts)
	must(v.t, err)
	p.open()
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
	p := &peer{t: v.t, now: noon.Add(time.Hour), seed: [32]byte{1}, branch: 1}
	if err := p.openTiny(kept.Of(v.disk, rng)); err != nil {
		return err
	}
	return errors.Join(v.check(p, *root), p.db.Close())
}

func (v *pruned) check(p *peer, root [32]byte) (err error) {
	if p.space, err = Open(p.db, "team", p.options()); err != nil {
		return err
	}
	p.open()
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
	if !crashes.Chosen("prune") {
		t.Skip("-crash.only names another workload")
	}
	run := func(sample crash.Sample) *pruned {
		v := &pruned{t: t, disk: memfs.NewCrashable()}
		v.Schedule = crash.NewSchedule("prune", sample, v.crash)
		v.play(crashes.Seed)
		return v
	}
	dry := run(crash.Sample{})
	v := run(crashes.Sample(10*crashes.Points(testing.Short()), dry.Operations()))
	if err := v.Err(); err != nil {
		t.Fatalf("%v\nagain with %s -crash.only '%s'", err,
			crashes.Again("prune", t.Name()), v.Failed())
	}
	t.Logf("trust: %d crash points", v.Points())
}
