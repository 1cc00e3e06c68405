package remote_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// impatient is options of readers with short times.
func impatient() remote.ReaderOptions {
	return remote.ReaderOptions{
		Poll: time.Millisecond, PollMax: 5 * time.Millisecond, Patience: time.Minute,
	}
}

func mustRead(t testing.TB, store objstore.Store) *remote.Reader {
	t.Helper()
	o := impatient()
	r, err := remote.OpenReader(t.Context(), store, "", &o)
	ok(t, err)
	t.Cleanup(func() { ok(t, r.Close()) })
	return r
}

// mustCommit makes n transactions of a history and ships them.
func mustCommit(t testing.TB, h *history, db *remote.DB, n int) {
	t.Helper()
	for range n {
		ok(t, h.commit(db.DB))
	}
	ok(t, db.Ship(t.Context()))
}

func TestReader_readsWhatWasWrittenElsewhere(t *testing.T) {
	seed := rand.Uint64()
	for i, sizes := range tuned.Sizes() {
		store, h := memstore.New(), newHistory(t, seed+uint64(i))
		db, err := open(t, store, memfs.New(), quick(), sizes)
		ok(t, err)
		mustCommit(t, h, db, 30)
		r := mustRead(t, store)
		h.wantAt(t, "a new reader", r.DB, 30)
		for range 20 {
			for range 1 + h.rng.IntN(10) {
				ok(t, h.commit(db.DB))
			}
			ok(t, r.WaitFor(t.Context(), db.Position()))
			h.wantAt(t, "the reader", r.DB, len(h.states)-1)
			h.wantAt(t, "a new reader", mustRead(t, store).DB, len(h.states)-1)
		}
		if r.Position() != db.Position() {
			t.Errorf("the position is %d, want %d", r.Position(), db.Position())
		}
		ok(t, db.Close())
	}
}

func TestReader_isReadOnly(t *testing.T) {
	store := memstore.New()
	_, err := remote.OpenReader(t.Context(), store, "", nil)
	wantErr(t, err, remote.ErrNone)
	db := mustOpen(t, store, memfs.New())
	ok(t, db.Put([]byte("key"), []byte("value")))
	ok(t, db.Ship(t.Context()))
	r := mustRead(t, store)
	wantErr(t, r.Put([]byte("key"), nil), stoat.ErrReadOnly)
	wantErr(t, r.Flush(), stoat.ErrReadOnly)
	ok(t, r.Sync())
	ok(t, r.WaitFor(t.Context(), 0))
	ok(t, r.Check(t.Context()))
	if s := r.Stats(); s.Commits != 1 {
		t.Errorf("the statistics are %+v", s)
	}
	tx, err := r.Begin(false)
	ok(t, err)
	defer tx.Rollback()
	ok(t, r.Close())
	if v, err := tx.Get([]byte("key")); string(v) != "value" {
		t.Errorf("after Close, an open transaction reads %q, %v", v, err)
	}
	_, err = r.Get([]byte("key"))
	wantErr(t, err, stoat.ErrClosed)
	wantErr(t, r.WaitFor(t.Context(), ^stoat.Position(0)), stoat.ErrClosed)
}

func TestReader_waitsForAPosition(t *testing.T) {
	store := memstore.New()
	db := mustOpen(t, store, memfs.New())
	r := mustRead(t, store)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	err := r.WaitFor(ctx, db.Position()+1)
	wantErr(t, err, context.DeadlineExceeded)
	ok(t, db.Put([]byte("key"), []byte("value")))
	ok(t, r.WaitFor(t.Context(), db.Position()))
	if v, err := r.Get([]byte("key")); string(v) != "value" {
		t.Errorf("the value is %q, %v", v, err)
	}
}

// failOver opens the database elsewhere, while its writer is cut off from the store with commits
// that are not shipped, and returns the new writer.
func failOver(t testing.TB, server *faultstore.Server) *remote.DB {
	t.Helper()
	db, err := open(t, server.Client(nil), memfs.New(), quick(), engine.Tuning{})
	ok(t, err)
	t.Cleanup(func() { ok(t, db.Close()) })
	return db
}

func TestReader_goesOverToAnotherWriter(t *testing.T) {
	server := faultstore.NewServer(memstore.New())
	var away atomic.Bool
	client := server.Client(func(faultstore.Request) faultstore.Fate {
		if away.Load() {
			return faultstore.Failed
		}
		return faultstore.Answered
	})
	o := quick()
	o.CloseTimeout = time.Millisecond
	old, err := open(t, client, memfs.New(), o, engine.Tuning{})
	ok(t, err)
	ok(t, old.Put([]byte("key"), []byte("old")))
	shipped := old.Position()
	ok(t, old.Ship(t.Context()))
	r := mustRead(t, server.Client(nil))
	away.Store(true)
	ok(t, old.Put([]byte("key"), []byte("lost")))
	db := failOver(t, server)
	ok(t, db.Put([]byte("key"), []byte("new")))
	for _, reader := range []*remote.Reader{r, mustRead(t, server.Client(nil))} {
		ok(t, reader.WaitFor(t.Context(), db.Position()))
		ok(t, reader.WaitFor(t.Context(), shipped))
		wantErr(t, reader.WaitFor(t.Context(), old.Position()), remote.ErrLost)
		if v, err := reader.Get([]byte("key")); string(v) != "new" {
			t.Errorf("the value is %q, %v", v, err)
		}
	}
	wantErr(t, old.Close(), remote.ErrUnshipped)
}

func TestReader_watchGoesOnAcrossWriters(t *testing.T) {
	server := faultstore.NewServer(memstore.New())
	db := mustOpen(t, server.Client(nil), memfs.New())
	ok(t, db.Put([]byte("key"), []byte("1")))
	ok(t, db.Ship(t.Context()))
	r := mustRead(t, server.Client(nil))
	from := r.Position()
	var told []string
	watch := func(from stoat.Position, most int) (last stoat.Position) {
		t.Helper()
		for change, err := range r.Watch(t.Context(), stoat.Range{Limit: most}, from) {
			ok(t, err)
			told = append(told, string(change.Value))
			last = change.Position
		}
		return last
	}
	next := make(chan *remote.DB)
	go func() {
		next <- nil
		_ = db.Put([]byte("key"), []byte("2"))
		_ = db.Ship(context.Background())
		other, err := open(t, server.Client(nil), memfs.New(), quick(), engine.Tuning{})
		if err == nil {
			err = other.Put([]byte("key"), []byte("3"))
		}
		if err != nil {
			t.Error(err)
		}
		next <- other
	}()
	<-next
	last := watch(from, 2)
	other := <-next
	defer other.Close()
	if !slices.Equal(told, []string{"2", "3"}) || last != other.Position() {
		t.Fatalf("told %q up to %d, want it up to %d", told, last, other.Position())
	}
	ok(t, other.Put([]byte("key"), []byte("4")))
	for change, err := range r.Watch(t.Context(), stoat.Range{Limit: 1}, last) {
		ok(t, err)
		if string(change.Value) != "4" {
			t.Errorf("told %q", change.Value)
		}
	}
}

func TestReader_showsWhatItHasWhileTheStoreIsAway(t *testing.T) {
	server := faultstore.NewServer(memstore.New())
	db := mustOpen(t, server.Client(nil), memfs.New())
	ok(t, db.Put([]byte("key"), []byte("value")))
	ok(t, db.Ship(t.Context()))
	var away atomic.Bool
	r := mustRead(t, server.Client(func(faultstore.Request) faultstore.Fate {
		if away.Load() {
			return faultstore.Unavailable
		}
		return faultstore.Answered
	}))
	away.Store(true)
	for r.Status().Failed == nil {
		runtime.Gosched()
	}
	wantErr(t, r.Status().Failed, faultstore.ErrFailed)
	if v, err := r.Get([]byte("key")); string(v) != "value" {
		t.Errorf("the value is %q, %v", v, err)
	}
	ok(t, db.Put([]byte("key"), []byte("newer")))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := r.WaitFor(ctx, db.Position())
	wantErr(t, err, context.DeadlineExceeded)
	if !strings.Contains(err.Error(), faultstore.ErrFailed.Error()) {
		t.Errorf("the error does not say why: %v", err)
	}
	if age := r.Status().Age; age < 20*time.Millisecond {
		t.Errorf("the age is %v", age)
	}
	away.Store(false)
	ok(t, r.WaitFor(t.Context(), db.Position()))
	if err := r.Status().Failed; err != nil && !errors.Is(err, faultstore.ErrFailed) {
		t.Error(err)
	}
}
