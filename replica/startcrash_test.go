package replica

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/torture/crash"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/replica/internal/chunk"
)

// beginner is a replica whose power is cut at the operations of its disk, while it starts from a
// checkpoint.
type beginner struct {
	*crash.Schedule
	t      *testing.T
	away   bool // it has entries of its own, and was away
	source *peer
	disks  [2]*memfs.FS // before the start: of the source, and of the replica

	disk     *memfs.FS
	starting atomic.Bool
	whole    atomic.Bool  // the start has come to its end
	before   [32]byte     // the root before the start
	after    [32]byte     // the root after it
	durable  atomic.Int64 // chunks that a crash before left, which kept nothing but what was synced
	partial  atomic.Int64 // crashes that left some chunks
}

// reopen opens the replica again.
func (v *beginner) reopen(disk vfs.FS) (*peer, error) {
	return reopenTiny(v.t, disk, beginnerSeed, noon.Add(200*24*time.Hour))
}

// openSource opens the source as it was before the start. Its sizes are as usual: its disk is not
// what is tested.
func (v *beginner) openSource() (*peer, error) {
	usual := engine.Tuning{}
	return reopenTuned(v.t, v.disks[0].Kill(), sourceSeed, noon.Add(200*24*time.Hour), usual)
}

// sourceSeed and beginnerSeed are of the devices, which are roots.
var sourceSeed, beginnerSeed = [32]byte{1}, [32]byte{2, 1}

// prepare makes a source that has pruned, and a replica that lacks what it has pruned.
func (v *beginner) prepare() {
	v.disks = [2]*memfs.FS{memfs.NewCrashable(), memfs.NewCrashable()}
	a := createTiny(v.t, v.disks[0])
	p := &peer{t: v.t, now: noon, seed: beginnerSeed, branch: 1}
	must(v.t, p.openTiny(v.disks[1]))
	var err error
	p.space, err = Join(p.db, "team", a.space.ID(), p.options())
	must(v.t, err)
	must(v.t, p.space.describe(a.described()))
	p.open()
	for id := range int64(4) {
		a.put(task{ID: id, Title: "before"})
	}
	if v.away {
		meet(v.t, a, p)
		p.put(task{ID: 1, Title: "edited while away"})
		p.put(task{ID: 50, Title: "new"})
		p.update(func(tx *stoat.Tx) error { return p.tasks.Delete(tx, int64(3)) })
		must(v.t, p.space.Seal())
	}
	a.now = a.now.Add(200 * 24 * time.Hour)
	random := rand.NewChaCha8([32]byte{5})
	for id := int64(10); id < 20; id++ {
		a.put(task{ID: id, Note: fmt.Sprint(random.Uint64()) + strings.Repeat("n", 60<<10)})
	}
	a.update(func(tx *stoat.Tx) error { return a.tasks.Delete(tx, int64(2)) })
	must(v.t, a.checkpoint())
	must(v.t, a.space.Seal())
	must(v.t, a.space.Prune())
	a.put(task{ID: 60, Title: "after the checkpoint"})
	must(v.t, a.space.Seal())
	v.before = p.root()
	must(v.t, errors.Join(a.db.Close(), p.db.Close()))
}

// play starts the replica.
func (v *beginner) play() {
	var err error
	v.source, err = v.openSource()
	must(v.t, err)
	defer func() { must(v.t, v.source.db.Close()) }()
	v.disk = v.disks[1].Kill()
	p, err := v.reopen(faultfs.New(v.disk, v.Before))
	must(v.t, err)
	defer func() { must(v.t, p.db.Close()) }()
	v.starting.Store(true)
	startWith(v.t, v.source, p)
	v.whole.Store(true)
	if root := p.root(); v.after == [32]byte{} {
		v.after = root
	} else if v.after != root {
		v.t.Error("two starts come to different states")
	}
	v.Now()
	v.starting.Store(false)
}

// crash checks a copy of the disk as a crash leaves it.
func (v *beginner) crash(kept crash.Kept, rng *rand.Rand) error {
	if !v.starting.Load() {
		return nil
	}
	whole := v.whole.Load()
	p, err := v.reopen(kept.Of(v.disk, rng))
	if err != nil {
		return err
	}
	source, err := v.openSource()
	if err != nil {
		return errors.Join(err, p.db.Close())
	}
	err = v.checkState(p, whole)
	if err == nil {
		err = v.checkStaged(p, kept)
	}
	if err == nil {
		err = v.goOn(p, source)
	}
	return errors.Join(err, p.db.Close(), source.db.Close())
}

// checkState checks that a crash left the state before the start, or after it.
func (v *beginner) checkState(p *peer, whole bool) error {
	root := p.root()
	switch {
	case root != v.before && root != v.after:
		return errors.New("half of the state shows")
	case whole && root != v.after:
		return errors.New("what was installed is gone")
	case (p.get(15) != nil) != (root == v.after):
		return errors.New("the records are not those of the state")
	case (p.startOf() != nil) && root == v.after:
		return errors.New("it still starts")
	}
	return errors.Join(p.verify(), v.checkOwn(p))
}

// checkStaged checks that chunks which one crash left are there after each later one.
func (v *beginner) checkStaged(p *peer, kept crash.Kept) error {
	st := p.startOf()
	if st == nil {
		return nil
	}
	if int64(st.Stored) < v.durable.Load() {
		return fmt.Errorf("%d chunks are stored, and %d were before", st.Stored, v.durable.Load())
	}
	if kept == crash.None {
		v.durable.Store(int64(st.Stored))
	}
	if st.Stored > 0 && st.Stored < st.Chunks {
		v.partial.Add(1)
	}
	return nil
}

// checkOwn checks that what the replica wrote while it was away is there.
func (v *beginner) checkOwn(p *peer) error {
	if !v.away {
		return nil
	}
	if one := p.get(1); one == nil || one.Title != "edited while away" || p.get(50) == nil ||
		p.get(3) != nil {
		return errors.New("own entries are lost")
	}
	return nil
}

// goOn brings the replica and the source together, which takes the chunks that are missing only.
func (v *beginner) goOn(p, source *peer) error {
	first, installed, lacks := p.startOf(), p.root() == v.after, 0
	x, y := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- Sync(context.Background(), source.space, x, once) }()
	err := Sync(context.Background(), p.space, y, &SyncOptions{Once: true,
		OnStatus: func(s SyncStatus) { lacks = max(lacks, int(s.ChunksLacking)) }})
	if err := errors.Join(err, <-done); err != nil {
		return err
	}
	switch {
	case installed && lacks > 0:
		return fmt.Errorf("it takes %d chunks of what it has installed", lacks)
	case first != nil && lacks != first.Chunks-first.Stored:
		return fmt.Errorf("it takes %d chunks, with %+v", lacks, *first)
	}
	p.put(task{ID: 70, Title: "after the crash"})
	for range 2 {
		if err := meeting(source, p); err != nil {
			return err
		}
	}
	for _, p := range []*peer{p, source} {
		if p.get(15) == nil || p.get(60) == nil || p.get(70) == nil || p.get(2) != nil {
			return errors.New("records are missing, or back")
		}
		if err := errors.Join(p.verify(), v.checkOwn(p)); err != nil {
			return err
		}
	}
	if p.root() != source.root() || p.startOf() != nil {
		return errors.New("the second start does not come to the same state")
	}
	return nil
}

// A crash at any operation of the disk while a replica starts from a checkpoint leaves the state
// before or after. The next start goes on with the chunks that are stored, and loses nothing.
func TestCrash_whileStarting(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]bool{"start-empty": false, "start-away": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prepared := &beginner{t: t, away: away}
			prepared.prepare()
			var last *beginner
			operations, _ := cutPower(t, name, 4, func(sample crash.Sample) *crash.Schedule {
				v := &beginner{t: t, away: away, disks: prepared.disks, before: prepared.before}
				if last != nil {
					v.after = last.after
				}
				v.Schedule = crash.NewSchedule(name, sample, v.crash)
				v.play()
				last = v
				return v.Schedule
			})
			t.Logf("trust: %d crash points, %d between chunks, of %d operations", last.Points(),
				last.partial.Load(), operations)
		})
	}
}

// A staged chunk that was damaged on the disk ends the start, which says so, and changes nothing.
func TestStart_reportsAStagedChunkThatWasDamaged(t *testing.T) {
	a := bulky(t)
	late := newPeer(t, a)
	o := a.offered(late)
	source, sink := endpoint{a.space}, endpoint{late.space}
	lacks, reason, err := sink.Begin(o, a.space.device.ID())
	must(t, errors.Join(reason, err))
	for i, id := range lacks {
		p, err := source.Chunk(late.reader(), o.Checkpoint, id)
		must(t, err)
		next := packed(t, p)
		if i == len(lacks)/2 {
			next.Form[len(next.Form)/2] ^= 1
		}
		must(t, sink.Stage([]chunk.Packed{next}))
	}
	if err := sink.installOffer(1, o); !errors.Is(err, stoat.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
	if _, _, states, _, _ := late.counted(); states != 0 {
		t.Errorf("%d records are here", states)
	}
}
