package replica

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/torture/crash"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// crashes are the flags of package crash.
var crashes = crash.Flags(150, 10)

// openTiny opens the database of the replica on a disk, with an engine whose sizes are tiny.
func (p *peer) openTiny(disk vfs.FS) error {
	var err error
	p.db, err = tuned.Open(disk, "db", nil, tuned.Sizes()[0])
	return err
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
	p := &peer{t: v.t, now: noon, seed: [32]byte{1}, branch: 1}
	must(v.t, p.openTiny(faultfs.New(v.disk, v.Before)))
	defer func() { must(v.t, p.db.Close()) }()
	opts := p.options()
	opts.Roots = testRoots()
	var err error
	p.space, err = Create(p.db, "team", opts)
	must(v.t, err)
	p.open()
	v.ready.Store(true)
	h := &history{t: v.t, rng: rand.New(rand.NewPCG(seed, 21))}
	other, guest := newPeer(v.t, p), newGuest(v.t, p)
	h.peers = []*peer{p, other, guest}
	for range 4 {
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
	p := &peer{t: v.t, now: noon.Add(time.Hour), seed: [32]byte{1}, branch: 1}
	if err := p.openTiny(kept.Of(v.disk, rng)); err != nil {
		return err
	}
	err := v.check(p, own)
	return errors.Join(err, p.db.Close())
}

// check checks that a replica has all its own entries, and that what it stores beside entries
// follows from them.
func (v *victim) check(p *peer, own uint64) (err error) {
	if p.space, err = Open(p.db, "team", p.options()); err != nil {
		return err
	}
	p.open()
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
	if !crashes.Chosen("replica") {
		t.Skip("-crash.only names another workload")
	}
	run := func(sample crash.Sample) *victim {
		v := &victim{t: t, disk: memfs.NewCrashable()}
		v.Schedule = crash.NewSchedule("replica", sample, v.crash)
		v.play(crashes.Seed)
		return v
	}
	dry := run(crash.Sample{})
	points := crashes.Points(testing.Short())
	v := run(crashes.Sample(points, dry.Operations()))
	if err := v.Err(); err != nil {
		t.Fatalf("%v\nagain with %s -crash.only '%s'", err,
			crashes.Again("replica", t.Name()), v.Failed())
	}
	t.Logf("trust: %d crash points", v.Points())
}
