package remote_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
)

// fault is what goes wrong at one request of a machine.
type fault struct {
	fate  faultstore.Fate
	crash bool // the machine ends there, too
	late  bool // what is under way has its effect before another machine takes over, or after
}

// faults returns every fault: the request is refused; a 409, a 503 or a lost request; a lost
// answer; an effect that comes later; and each of these as the last thing of a machine.
func faults() (all []fault) {
	for _, fate := range []faultstore.Fate{
		faultstore.Failed, faultstore.Unavailable, faultstore.AnswerLost, faultstore.Late,
	} {
		for _, crash := range []bool{false, true} {
			all = append(all, fault{fate, crash, false})
			if fate == faultstore.Late {
				all = append(all, fault{fate, crash, true})
			}
		}
	}
	return all
}

// TestWait_losesNothingWhateverFails has one fault at each request of a short life. Whatever it is,
// the next machine, which has only the store, finds all that was acknowledged.
func TestWait_losesNothingWhateverFails(t *testing.T) {
	t.Parallel()
	requests := live(t, -1, fault{})
	for _, f := range faults() {
		for at := range requests {
			if live(t, at, f); t.Failed() {
				t.Fatalf("request %d of %d, fault %+v", at, requests, f)
			}
		}
	}
	t.Logf("%d faults at each of %d requests", len(faults()), requests)
	t.Logf("trust: %d %s", len(faults())*requests, pointsNoun)
}

// live is the life of a machine with a fault at one request, and of the next machine. It returns
// how many requests the first one made.
func live(t *testing.T, at int, f fault) (requests int) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	server, h := faultstore.NewServer(memstore.New()), newHistory(t, 1)
	var client *faultstore.Client
	client = server.Client(func(r faultstore.Request) faultstore.Fate {
		if r.Index != at {
			return faultstore.Answered
		}
		if f.crash {
			client.Crash()
			end()
		}
		return f.fate
	})
	o := waiting()
	o.CloseTimeout = time.Millisecond
	db, err := openUntil(ctx, client, memfs.New(), o, engine.Tuning{})
	if err == nil {
		defer func() { _ = db.Close() }() // it may be fenced by then
		work(ctx, t, db, h)
	} else if !f.crash && !errors.Is(err, faultstore.ErrFailed) {
		t.Error(err)
	}
	requests = client.Count()
	deliver := func() {
		for server.UnderWay() > 0 {
			ok(t, server.Deliver(0))
		}
	}
	if f.late {
		deliver()
	}
	next, err := open(t, server.Client(nil), memfs.New(), waiting(), engine.Tuning{})
	ok(t, err)
	deliver()
	h.wantAt(t, "the next machine", next.DB, h.safe)
	if db != nil && !f.crash {
		wantErr(t, db.Confirm(t.Context()), remote.ErrFenced)
		wantErr(t, db.Put([]byte("too late"), nil), remote.ErrFenced)
	}
	number, err := h.check(next.DB)
	ok(t, err)
	h.states = h.states[:number+1]
	ok(t, h.commit(next.DB))
	ok(t, next.Confirm(t.Context()))
	h.wantAt(t, "a copy", restored(t, server.Client(nil)), number+1)
	ok(t, next.Close())
	return requests
}

// work makes transactions of several kinds until ctx ends.
func work(ctx context.Context, t *testing.T, db *remote.DB, h *history) {
	for i := range 8 {
		err := h.commitUntil(ctx, db.DB)
		if err == nil && i == 3 {
			err = errors.Join(db.Flush(), db.Confirm(ctx))
		}
		switch {
		case err == nil:
			h.safe = len(h.states) - 1
		case ctx.Err() == nil:
			t.Error(fmt.Errorf("transaction %d: %w", i, err))
			return
		default:
			return
		}
	}
	if err := db.Ship(ctx); err != nil && ctx.Err() == nil {
		t.Error(err)
	}
}
