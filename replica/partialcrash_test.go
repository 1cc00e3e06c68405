package replica

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/torture/crash"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// filled is a replica whose power is cut at the operations of its disk, while it starts with some
// collections from a checkpoint, and while it is filled with the others.
type filled struct {
	*crash.Schedule
	t      *testing.T
	fills  bool // it holds everything, and has started with tasks
	source *peer
	disk0  *memfs.FS // before

	disk    *memfs.FS
	playing atomic.Bool
	whole   atomic.Bool // what is to be done was done
}

// reopen opens the replica.
func (v *filled) reopen(disk vfs.FS) (*peer, error) {
	p := &peer{t: v.t, now: noon, seed: beginnerSeed, branch: 1}
	if err := p.openTiny(disk); err != nil {
		return nil, err
	}
	opts := p.options()
	if opts.Collections = []string{"tasks"}; v.fills {
		opts.Collections = []string{}
	}
	var err error
	if p.space, err = Open(p.db, "team", opts); err != nil {
		return nil, errors.Join(err, p.db.Close())
	}
	p.open()
	if v.fills {
		p.salaries()
	}
	return p, nil
}

// prepare makes a source that has pruned, and a replica.
func (v *filled) prepare() {
	a := newPeer(v.t, nil)
	random := rand.NewChaCha8([32]byte{5})
	for id := range int64(8) {
		a.pay(id, fmt.Sprint(random.Uint64())+strings.Repeat("n", 60<<10))
	}
	renewPayer(a)
	a.pay(40, "after the checkpoint")
	must(v.t, a.space.Seal())
	v.source, v.disk0 = a, memfs.NewCrashable()
	p := &peer{t: v.t, now: noon, seed: beginnerSeed, branch: 1}
	must(v.t, p.openTiny(v.disk0))
	opts := p.options()
	opts.Collections = []string{"tasks"}
	var err error
	p.space, err = Join(p.db, "team", a.space.ID(), opts)
	must(v.t, err)
	must(v.t, p.space.describe(a.described()))
	p.open()
	if v.fills {
		a.syncWith(p)
	}
	must(v.t, p.db.Close())
}

// play starts the replica, or fills it.
func (v *filled) play() {
	v.disk = v.disk0.Kill()
	p, err := v.reopen(faultfs.New(v.disk, v.Before))
	must(v.t, err)
	defer func() { must(v.t, p.db.Close()) }()
	v.playing.Store(true)
	startWith(v.t, v.source, p)
	v.whole.Store(true)
	v.Now()
	v.playing.Store(false)
}

// crash checks a copy of the disk as a crash leaves it.
func (v *filled) crash(kept crash.Kept, rng *rand.Rand) error {
	if !v.playing.Load() {
		return nil
	}
	whole := v.whole.Load()
	p, err := v.reopen(kept.Of(v.disk, rng))
	if err != nil {
		return err
	}
	return errors.Join(v.check(p, whole), p.db.Close())
}

// check checks that nothing or all was done, and that a session does the rest.
func (v *filled) check(p *peer, whole bool) error {
	done := p.get(1001) != nil
	if lacks := p.withheld(); v.fills {
		done = len(lacks) == 0 || !lacks[0].Checkpoint
	}
	switch {
	case whole && !done:
		return errors.New("what was installed is gone")
	case done != p.started() && !v.fills:
		return errors.New("half of the state shows")
	case done && p.startOf() != nil:
		return fmt.Errorf("all is there, and it is still at %+v", p.startOf())
	case v.fills && p.salary(1) != nil: // content of a later entry is missing
		return errors.New("a collection shows that is not whole")
	}
	if err := p.verify(); err != nil {
		return err
	}
	_, _, here, there := sessionOf(v.t, p.space, v.source.space)
	if err := errors.Join(here, there, p.verify()); err != nil {
		return err
	}
	for _, name := range []string{"tasks", "salaries"} {
		got, err := p.collectionRoot(name)
		want, err2 := v.source.collectionRoot(name)
		if !p.holdsNow(name) {
			continue
		}
		if err := errors.Join(err, err2); err != nil || got != want {
			return fmt.Errorf("the root of %q is %x, not %x: %w", name, got, want, err)
		}
	}
	return nil
}

// A crash while a replica starts with some collections, or is filled with others, leaves nothing or
// all of it, and the next session goes on.
func TestCrash_whileStartingInPart(t *testing.T) {
	t.Parallel()
	for name, fills := range map[string]bool{"start-partial": false, "start-fill": true} {
		t.Run(name, func(t *testing.T) {
			if !crashes.Chosen(name) {
				t.Skip("-crash.only names another workload")
			}
			prepared := &filled{t: t, fills: fills}
			prepared.prepare()
			run := func(sample crash.Sample) *filled {
				v := &filled{t: t, fills: fills, source: prepared.source, disk0: prepared.disk0}
				v.Schedule = crash.NewSchedule(name, sample, v.crash)
				v.play()
				return v
			}
			dry := run(crash.Sample{})
			v := run(crashes.Sample(1+crashes.Points(testing.Short())/3, dry.Operations()))
			if err := v.Err(); err != nil {
				t.Fatalf("%v\nagain with %s -crash.only '%s'", err,
					crashes.Again(name, t.Name()), v.Failed())
			}
			t.Logf("trust: %d crash points of %d operations", v.Points(), dry.Operations())
		})
	}
}
