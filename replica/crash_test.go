package replica

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/torture/crash"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// crashes are the flags of package crash.
var crashes = crash.Flags(150, 10)

// openTiny opens the database of the replica on a disk, with an engine whose sizes are tiny.
func (p *peer) openTiny(disk vfs.FS) error { return p.openTuned(disk, tuned.Sizes()[0]) }

func (p *peer) openTuned(disk vfs.FS, sizes engine.Tuning) error {
	var err error
	p.db, err = tuned.Open(disk, "db", nil, sizes)
	return err
}

// createTiny makes a replica of a new space on a disk.
func createTiny(t *testing.T, disk vfs.FS) *peer {
	t.Helper()
	p := &peer{t: t, now: noon, seed: [32]byte{1}, branch: 1}
	must(t, p.openTiny(disk))
	opts := p.options()
	opts.Roots = testRoots()
	var err error
	p.space, err = Create(p.db, "team", opts)
	must(t, err)
	p.open()
	return p
}

// reopenTiny opens a replica of a device at a later time.
func reopenTiny(t *testing.T, disk vfs.FS, seed [32]byte, now time.Time) (*peer, error) {
	return reopenTuned(t, disk, seed, now, tuned.Sizes()[0])
}

func reopenTuned(
	t *testing.T, disk vfs.FS, seed [32]byte, now time.Time, sizes engine.Tuning,
) (*peer, error) {
	p := &peer{t: t, now: now, seed: seed, branch: 1}
	if err := p.openTuned(disk, sizes); err != nil {
		return nil, err
	}
	var err error
	if p.space, err = Open(p.db, "team", p.options()); err != nil {
		return nil, errors.Join(err, p.db.Close())
	}
	p.open()
	return p, nil
}

// cutPower plays a workload without crashes, to count the operations of its disk, and again with
// crashes at some of them: so many times as many as the flags say. It returns the number of
// operations, and the schedule of the crashes.
func cutPower(
	t *testing.T, name string, times int, play func(crash.Sample) *crash.Schedule,
) (operations int, played *crash.Schedule) {
	t.Helper()
	if !crashes.Chosen(name) {
		t.Skip("-crash.only names another workload")
	}
	operations = play(crash.Sample{}).Operations()
	played = play(crashes.Sample(times*crashes.Points(testing.Short()), operations))
	if err := played.Err(); err != nil {
		t.Fatalf("%v\nagain with %s -crash.only '%s'", err, crashes.Again(name, t.Name()),
			played.Failed())
	}
	return operations, played
}

// victim is a replica whose power is cut at the operations of its disk, while it merges, replays,
// adopts and reverts.
type victim struct {
	*crash.Schedule
	t     *testing.T
	disk  *memfs.FS
	ready atomic.Bool   // its space exists
	own   atomic.Uint64 // entries that it has committed
}

// play runs the workload.
func (v *victim) play(seed uint64) {
	p := createTiny(v.t, faultfs.New(v.disk, v.Before))
	defer func() { must(v.t, p.db.Close()) }()
	v.ready.Store(true)
	h := &history{t: v.t, rng: rand.New(rand.NewPCG(seed, 21))}
	other, guest := newPeer(v.t, p), newGuest(v.t, p)
	h.peers = []*peer{p, other, guest}
	for round := range 4 {
		p.sealAtOnce(round%2 == 0)
		p.grant(guest, Write)
		meet(v.t, p, guest)
		h.write(guest)
		meet(v.t, p, guest)
		for range 3 {
			p.now = p.now.Add(time.Second)
			h.write(p)
			h.write(guest)
			h.write(other)
			meet(v.t, guest, other)
			v.own.Store(p.everything()[p.logID()])
		}
		p.revoke(guest)
		meet(v.t, p, other) // some of what the guest wrote was void before, some becomes void
		p.adopt(guest)
		p.revert(Filter{From: p.now.Add(-time.Second), Collection: "tasks"})
		v.own.Store(p.everything()[p.logID()])
		meet(v.t, p, guest)
	}
	agree(v.t, p, guest)
	v.Now()
}

// crash checks a copy of the disk as a crash leaves it.
func (v *victim) crash(kept crash.Kept, rng *rand.Rand) error {
	if !v.ready.Load() {
		return nil
	}
	own := v.own.Load()
	p, err := reopenTiny(v.t, kept.Of(v.disk, rng), [32]byte{1}, noon.Add(time.Hour))
	if err != nil {
		return err
	}
	return errors.Join(v.check(p, own), p.db.Close())
}

// check checks that a replica has all its own entries, and that what it stores beside entries
// follows from them.
func (v *victim) check(p *peer, own uint64) error {
	if got := p.everything()[p.logID()]; got < own {
		return fmt.Errorf("%d of %d entries are left", got, own)
	}
	h := &history{t: v.t, rng: rand.New(rand.NewPCG(1, 22)), peers: []*peer{p}}
	h.compare(p)
	p.checkTouches()
	before := p.shown()
	p.wreck()
	p.replayAll()
	if after := p.shown(); after.Root != before.Root {
		return errors.New("a replay makes another state")
	}
	p.put(task{ID: 5, Title: "after the crash"})
	if p.get(5) == nil {
		return errors.New("it cannot be written to")
	}
	if v.t.Failed() {
		return errors.New("the replica is not in step")
	}
	return nil
}

// A crash at any operation of the disk leaves state, records, indexes, touches and verdicts in step
// with the entries, and loses no entry that was committed.
func TestCrash_leavesEverythingInStep(t *testing.T) {
	t.Parallel()
	_, played := cutPower(t, "replica", 1, func(sample crash.Sample) *crash.Schedule {
		v := &victim{t: t, disk: memfs.NewCrashable()}
		v.Schedule = crash.NewSchedule("replica", sample, v.crash)
		v.play(crashes.Seed)
		return v.Schedule
	})
	t.Logf("trust: %d crash points", played.Points())
}
