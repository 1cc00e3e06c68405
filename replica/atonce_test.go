package replica

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/replica/internal/session"
)

// putSealed stores a task, and reports whether the same commit seals the log up to its entry.
func (p *peer) putSealed(v task) (sealed bool) {
	p.t.Helper()
	p.update(func(tx *stoat.Tx) error {
		look := func() error {
			t, err := p.space.in(tx)
			if err != nil {
				return err
			}
			h, err := t.ownHead()
			sealed = err == nil && h.sealed == h.next
			return err
		}
		err := p.tasks.Put(tx, &v)
		// The first function runs before the entry is made.
		return errors.Join(err, tx.BeforeCommit(func() error { return tx.BeforeCommit(look) }))
	})
	return sealed
}

// wantSealed stores a task, and checks whether its commit has the seal.
func (p *peer) wantSealed(want bool, when string) {
	p.t.Helper()
	if got := p.putSealed(task{ID: 1, Title: when}); got != want {
		p.t.Errorf("%s: sealed at once: %v", when, got)
	}
}

// sealAtOnce has the next entry sealed in its commit, as a session does that waits for it, or not.
func (p *peer) sealAtOnce(awaited bool) {
	p.t.Helper()
	must(p.t, p.space.catchUp())
	p.space.chronicle.awaited.Store(false)
	for range 2 { // the second time, there is nothing
		if awaited {
			must(p.t, endpoint{p.space}.Seal())
		}
	}
}

// settled returns when a session of the replica waits for what is written.
func (p *peer) settled() {
	p.t.Helper()
	for began := time.Now(); !p.space.chronicle.awaited.Load(); runtime.Gosched() {
		if time.Since(began) > arrivesWithin {
			p.t.Fatal("no session waits")
		}
	}
}

// What a session waits for is sealed as it is committed, so that it need not wait for another
// commit; what comes while the session is busy is sealed later, together.
func TestCommit_sealsAtOnceWhatASessionWaitsFor(t *testing.T) {
	p := newPeer(t, nil)
	must(t, p.space.Seal())
	p.wantSealed(false, "no session")
	session := endpoint{p.space}
	must(t, session.Seal())
	p.wantSealed(false, "a session that gives what it has sealed")
	must(t, errors.Join(session.Seal(), session.Seal()))
	p.wantSealed(true, "a session that waits")
	p.wantSealed(false, "a session that has not looked at the last change")
	must(t, errors.Join(session.Seal(), p.space.catchUp()))
	p.wantSealed(false, "a session that gives the last change")
	must(t, errors.Join(session.Seal(), session.Seal()))
	p.update(func(tx *stoat.Tx) error { return p.space.Grant(tx, Anyone, Read) })
	p.wantSealed(false, "another entry is not sealed")
	must(t, errors.Join(session.Seal(), session.Seal()))
	p.wantSealed(true, "a session that waits again")
	p.sealAtOnce(true)
	p.space.part(1)
	p.wantSealed(false, "a session that has ended")
	must(t, p.db.View(func(tx *stoat.Tx) error {
		return p.space.Verify(t.Context(), tx, func(uint64) {})
	}))
}

func TestSync_sealsAtOnceUntilItEnds(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	end := stay(t, a.space, b.space)
	a.settled()
	a.wantSealed(true, "live")
	awaitTask(t, b, 1, "live")
	a.settled()
	end()
	a.wantSealed(false, "ended")
}

// What a transaction has sealed that failed is not news, nor does it keep others from being.
func TestChronicle_hasNothingOfWhatFailed(t *testing.T) {
	p := newPeer(t, nil)
	must(t, p.space.Seal())
	p.sealAtOnce(true)
	before := p.space.chronicle.position()
	failure := errors.New("no")
	err := p.db.Update(func(tx *stoat.Tx) error {
		fail := func() error { return failure }
		for range 3 { // behind everything that the commit does
			next := fail
			fail = func() error { return tx.BeforeCommit(next) }
		}
		err := p.tasks.Put(tx, &task{ID: 1, Title: "failed"})
		return errors.Join(err, tx.BeforeCommit(fail))
	})
	if !errors.Is(err, failure) {
		t.Fatal(err)
	}
	if len(p.space.chronicle.expected) != 1 {
		t.Fatal("the transaction failed before it had sealed anything")
	}
	p.wantSealed(false, "after a failure")
	p.wantSealed(false, "and once more")
	must(t, p.space.Seal())
	p.sealAtOnce(true)
	p.wantSealed(true, "after a seal")
	must(t, p.space.catchUp())
	news, _, ok := p.space.chronicle.since(before.Arrival)
	want := []session.News{{Log: p.ownLog(), From: 1, To: 3}, {Log: p.ownLog(), From: 3, To: 4}}
	if !ok || fmt.Sprint(news) != fmt.Sprint(want) {
		t.Errorf("got %v, %v, want %v", news, ok, want)
	}
}

// taken is what a power cut leaves of a replica when something is about to be sent.
type taken struct {
	disk *memfs.FS
	sent uint64 // entries that the peer had when the next thing was sent
}

// What is sealed as it is committed leaves when that is durable, though commits are not synced.
func TestSync_sendsNothingSealedAtOnceThatAPowerCutCouldTakeBack(t *testing.T) {
	files := memfs.NewCrashable()
	a := &peer{t: t, now: noon, seed: [32]byte{1}, branch: 1}
	a.openOn(files)
	var err error
	a.space, err = Create(a.db, "team", a.options())
	must(t, err)
	a.open()
	a.allow()
	b := newPeer(t, a)
	meet(t, a, b)
	log := a.logID()
	var all []taken
	x, y := net.Pipe()
	w := &snooped{x, func([]byte) {
		if n := len(all); n > 0 {
			all[n-1].sent = b.lengthOf(log)
		}
		all = append(all, taken{disk: files.CrashKeepNone()})
	}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)
	go func() { done <- Sync(ctx, b.space, y, nil) }()
	go func() { done <- Sync(ctx, a.space, w, nil) }()
	atOnce := 0
	for i := range 10 {
		a.settled()
		title := fmt.Sprint(i)
		if a.putSealed(task{ID: 1, Title: title}) {
			atOnce++
		}
		awaitTask(t, b, 1, title)
	}
	cancel()
	<-done
	<-done
	if atOnce == 0 {
		t.Error("nothing was sealed at once")
	}
	for i := range all {
		after := &peer{t: t, now: a.now, seed: a.seed, branch: 1}
		after.openOn(all[i].disk)
		if after.space, err = Open(after.db, "team", after.options()); err != nil {
			t.Fatal(err)
		}
		if here := after.lengthOf(log); here < all[i].sent {
			t.Fatalf("at %d of %d: %d entries are left, and the peer has %d", i, len(all), here,
				all[i].sent)
		}
	}
}
