package remote_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// doomed is a process with a clone and its parent, which crashes at a request.
type doomed struct {
	ctx         context.Context // ends with the crash
	own, parent *faultstore.Client
	servers     []*faultstore.Server

	mu    sync.Mutex
	left  int // requests before the crash; below 0: there is none
	fate  faultstore.Fate
	crash context.CancelFunc
}

func newDoomed(t testing.TB, own, parent objstore.Store, after int, fate faultstore.Fate) *doomed {
	d := &doomed{left: after, fate: fate}
	d.ctx, d.crash = context.WithCancel(t.Context())
	t.Cleanup(d.crash)
	d.own, d.parent = d.client(own), d.client(parent)
	return d
}

func (d *doomed) client(store objstore.Store) *faultstore.Client {
	server := faultstore.NewServer(store)
	d.servers = append(d.servers, server)
	return server.Client(func(faultstore.Request) faultstore.Fate {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.left--; d.left != -1 {
			return faultstore.Answered
		}
		d.own.Crash()
		d.parent.Crash()
		d.crash()
		return d.fate
	})
}

// arm has the process crash after some requests more.
func (d *doomed) arm(after int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = after
}

// deliver has what is under way take effect.
func (d *doomed) deliver(t testing.TB) {
	t.Helper()
	for _, s := range d.servers {
		for s.UnderWay() > 0 {
			ok(t, s.Deliver(0))
		}
	}
}

// clonePins returns how many pins of clones a store has.
func clonePins(t testing.TB, store objstore.Store) (n int) {
	t.Helper()
	for _, name := range names(t, store, "pin/") {
		if strings.HasPrefix(name, "pin/clone-") {
			n++
		}
	}
	return n
}

// TestClone_isWholeOrNotThere crashes at each request, in each way. Whatever is there then is a
// whole clone or none, and another try makes it one, with one pin.
func TestClone_isWholeOrNotThere(t *testing.T) {
	parent, h := memstore.New(), newHistory(t, 31)
	written(t, h, parent, tuned.Sizes()[1], 30)
	clones := 0
	for _, fate := range []faultstore.Fate{
		faultstore.Failed, faultstore.AnswerLost, faultstore.Late,
	} {
		at := 0
		for crashed := true; crashed; at++ {
			own := memstore.New()
			d := newDoomed(t, own, parent, at, fate)
			_, err := remote.Clone(d.ctx, d.own, d.parent, nil)
			crashed = d.ctx.Err() != nil
			if !crashed {
				ok(t, err)
			}
			if at%2 == 0 {
				d.deliver(t)
			}
			clone := remote.CloneStore(own, parent)
			if _, err := remote.Inspect(t.Context(), clone); err == nil {
				wantWhole(t, "the clone", h, clone)
			} else {
				wantErr(t, err, remote.ErrNone)
			}
			_, err = remote.Clone(t.Context(), own, parent, nil)
			ok(t, err)
			d.deliver(t)
			clones++
			if got := clonePins(t, parent); got != clones {
				t.Fatalf("a crash at request %d, fate %d: %d pins of %d clones", at, fate, got, clones)
			}
			wantWhole(t, "the clone", h, clone)
		}
		if at < 10 {
			t.Errorf("a clone took %d requests", at)
		}
	}
}

// cloneUntilItIsPinned crashes when all is done but to create the clone.
func cloneUntilItIsPinned(t testing.TB, own, parent objstore.Store) {
	t.Helper()
	ctx, crash := context.WithCancel(t.Context())
	client := faultstore.NewServer(own).Client(func(r faultstore.Request) faultstore.Fate {
		if r.Op == faultstore.Create && strings.HasPrefix(r.Name, "log/") {
			crash()
			return faultstore.Failed
		}
		return faultstore.Answered
	})
	_, err := remote.Clone(ctx, client, parent, nil)
	wantErr(t, err, faultstore.ErrFailed)
}

// TestClone_thatWasBegunNamesItsPin asks a store that has a draft, for those who give it up.
func TestClone_thatWasBegunNamesItsPin(t *testing.T) {
	parent, own := memstore.New(), memstore.New()
	written(t, newHistory(t, 37), parent, engine.Tuning{}, 10)
	cloneUntilItIsPinned(t, own, parent)
	pin := strings.TrimPrefix(names(t, parent, "pin/")[0], "pin/")
	_, opened := open(t, own, memfs.New(), quick(), engine.Tuning{})
	_, inspected := remote.Inspect(t.Context(), own)
	wantErr(t, inspected, remote.ErrNone)
	for _, err := range []error{opened, inspected} {
		if wantErr(t, err, objstore.ErrExists); !strings.Contains(err.Error(), pin) {
			t.Errorf("the error does not name the pin %s: %v", pin, err)
		}
	}
}

// TestClone_leavesNoPinOfWhatItCannotClone lacks the log object of a commit that is in no table.
func TestClone_leavesNoPinOfWhatItCannotClone(t *testing.T) {
	parent, own := memstore.New(), memstore.New()
	db := mustOpen(t, parent, memfs.New())
	ok(t, db.Put([]byte("a"), nil))
	ok(t, db.Ship(t.Context()))
	_, err := db.Collect(t.Context()) // which stores a state
	ok(t, err)
	logs := names(t, parent, "log/")
	ok(t, parent.Delete(t.Context(), logs[len(logs)-1:]))
	_, err = remote.Clone(t.Context(), own, parent, nil)
	wantErr(t, err, objstore.ErrNotExist)
	if n := clonePins(t, parent); n > 0 {
		t.Errorf("there are %d pins", n)
	}
}

// TestClone_ofAnEarlierCommitThanWasBegun has a pin that does not keep what is cloned then.
func TestClone_ofAnEarlierCommitThanWasBegun(t *testing.T) {
	parent, own, h := memstore.New(), memstore.New(), newHistory(t, 34)
	written(t, h, parent, engine.Tuning{}, 10)
	cloneUntilItIsPinned(t, own, parent)
	_, err := remote.Clone(t.Context(), own, parent, &remote.CloneOptions{Commit: 5})
	wantErr(t, err, remote.ErrNotKept)
	written(t, h, parent, engine.Tuning{}, 2)
	_, err = remote.Clone(t.Context(), own, parent, nil)
	ok(t, err)
	wantWhole(t, "the clone", h, remote.CloneStore(own, parent))
	if n := clonePins(t, parent); n != 1 {
		t.Errorf("there are %d pins", n)
	}
}

// TestClone_isBegunWithOtherOptions crashes at each request, and then clones an earlier commit, or
// another database, into the same store. What comes of it is what was asked for, or an error.
func TestClone_isBegunWithOtherOptions(t *testing.T) {
	parent, other, h := memstore.New(), memstore.New(), newHistory(t, 35)
	written(t, h, parent, tuned.Sizes()[1], 20)
	written(t, newHistory(t, 36), other, engine.Tuning{}, 3)
	for at, crashed := 0, true; crashed; at++ {
		own := memstore.New()
		d := newDoomed(t, own, parent, at, faultstore.AnswerLost)
		_, err := remote.Clone(d.ctx, d.own, d.parent, nil)
		if crashed = d.ctx.Err() != nil; !crashed {
			ok(t, err)
		}
		before, begun := clonePins(t, other), len(names(t, own, "")) > 0
		_, err = remote.Clone(t.Context(), own, other, nil)
		if begun {
			wantErr(t, err, objstore.ErrExists)
			if n := clonePins(t, other); n != before {
				t.Errorf("a crash at request %d: another database has %d pins", at, n)
			}
		} else {
			ok(t, err)
			continue
		}
		m, err := remote.Clone(t.Context(), own, parent, &remote.CloneOptions{Commit: 7})
		switch {
		case err == nil:
			h.wantExactly(t, "the clone", mustRead(t, remote.CloneStore(own, parent)).DB, 7)
		case !errors.Is(err, objstore.ErrExists):
			wantErr(t, err, remote.ErrNotKept)
		}
		again, err := remote.Clone(t.Context(), own, parent, nil)
		ok(t, err)
		if m.Commit > 0 && again.Commit != 7 || m.Commit == 0 && again.Commit != 20 {
			t.Errorf("a crash at request %d: commit %d was cloned, and is %d", at, m.Commit, again.Commit)
		}
		_, err = remote.Verify(t.Context(), remote.CloneStore(own, parent))
		ok(t, err)
	}
}

// TestClone_mayBeTriedTwiceAtTheSameTime has another try, of a later commit, before each request.
func TestClone_mayBeTriedTwiceAtTheSameTime(t *testing.T) {
	for at, more := 0, true; more; at++ {
		parent, own, h := memstore.New(), memstore.New(), newHistory(t, 32)
		written(t, h, parent, tuned.Sizes()[1], 10)
		more = false
		var made atomic.Int64
		client := faultstore.NewServer(own).Client(func(faultstore.Request) faultstore.Fate {
			if made.Add(1) == int64(at)+1 {
				more = true
				written(t, h, parent, tuned.Sizes()[1], 4)
				_, err := remote.Clone(t.Context(), own, parent, nil)
				ok(t, err)
			}
			return faultstore.Answered
		})
		_, err := remote.Clone(t.Context(), client, parent, nil)
		ok(t, err)
		clone := remote.CloneStore(own, parent)
		h.wantAt(t, "the clone", mustRead(t, clone).DB, 10)
		_, err = remote.Verify(t.Context(), clone)
		ok(t, err)
		if n := clonePins(t, parent); n != 1 {
			t.Fatalf("another try before request %d: there are %d pins", at, n)
		}
	}
}

// TestDetach_mayCrashAnywhere crashes at requests of a detachment. Another one goes on, and then
// nobody needs the parent.
func TestDetach_mayCrashAnywhere(t *testing.T) {
	small := engine.Tuning{MemtableBytes: 2 << 10, TableBytes: 1 << 10}
	for at, crashed := 0, true; crashed; at += 2 {
		parent, h := memstore.New(), newHistory(t, 33)
		written(t, h, parent, small, 20)
		_, own := mustClone(t, parent)
		d := newDoomed(t, own, parent, -1, faultstore.AnswerLost)
		o := quick()
		o.CloseTimeout, o.Patience = time.Millisecond, 10*time.Millisecond
		db, err := open(t, remote.CloneStore(d.own, d.parent), memfs.New(), o, small)
		ok(t, err)
		mustCommit(t, h, db, 10)
		d.arm(at)
		_, err = db.Detach(d.ctx)
		if crashed = d.ctx.Err() != nil; !crashed {
			ok(t, err)
			d.arm(-1)
		}
		_ = db.Close() // it may have crashed

		db = mustOpen(t, remote.CloneStore(own, parent), memfs.New())
		_, err = db.Detach(t.Context())
		ok(t, err)
		ok(t, db.Close())
		if n := clonePins(t, parent); n != 0 {
			t.Errorf("a crash at request %d: %d pins are left", at, n)
		}
		wantWhole(t, "the clone that stands alone", h, own)
		info, err := remote.Inspect(t.Context(), own)
		ok(t, err)
		if info.Origin != nil {
			t.Errorf("it has the origin %+v", info.Origin)
		}
	}
}
