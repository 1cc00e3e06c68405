package remote_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	storelog "github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// past is a store as it was when its log ended at a number, as far as it still is.
type past struct {
	objstore.Store
	end uint64
}

// hides reports whether an object was not there yet.
func (p past) hides(name string) bool {
	kind, digits, _ := strings.Cut(name, "/")
	n, err := strconv.ParseUint(digits, 16, 64)
	if kind == "state" {
		n = 1<<63 - 1 - n
	}
	return (kind == "log" || kind == "state") && err == nil && n > p.end
}

// Get implements [objstore.Store].
func (p past) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	if p.hides(name) {
		return nil, objstore.ErrNotExist
	}
	return p.Store.Get(ctx, name, off, n)
}

// List implements [objstore.Store].
func (p past) List(
	ctx context.Context, prefix, after string, limit int,
) (shown []objstore.Object, err error) {
	for {
		page, err := p.Store.List(ctx, prefix, after, limit)
		for _, o := range page {
			if after = o.Name; !p.hides(o.Name) && len(shown) < limit {
				shown = append(shown, o)
			}
		}
		if err != nil || len(page) < limit || len(shown) == limit {
			return shown, err
		}
	}
}

// logOf returns the log of the database in a store.
func logOf(t testing.TB, store objstore.Store) *storelog.Log {
	t.Helper()
	codec, err := object.NewCodec()
	ok(t, err)
	id, _, err := storelog.Identify(t.Context(), store)
	ok(t, err)
	return &storelog.Log{Store: store, Codec: codec, Database: id}
}

// names returns the names of the objects in a store with a prefix.
func names(t testing.TB, store objstore.Store, prefix string) (names []string) {
	t.Helper()
	ok(t, storelog.EachObject(t.Context(), store, prefix, func(page []objstore.Object) error {
		for _, o := range page {
			names = append(names, o.Name)
		}
		return nil
	}))
	return names
}

// forgetful is options that keep nothing of the past.
func forgetful() remote.Options {
	o := quick()
	o.Retention = time.Nanosecond
	return o
}

// busy makes commits, with all sizes of tables in turn.
func busy(t testing.TB, h *history, db *remote.DB, n int) {
	t.Helper()
	for i := range n {
		ok(t, h.commit(db.DB))
		if i%7 == 0 {
			ok(t, db.Ship(t.Context()))
		}
	}
	ok(t, db.Ship(t.Context()))
}

// collectAll collects until nothing is left to delete.
func collectAll(t testing.TB, db *remote.DB) {
	t.Helper()
	for n := 1; n > 0; {
		var err error
		n, err = db.Collect(t.Context())
		ok(t, err)
	}
}

func TestCollect_leavesWhatIsNeeded(t *testing.T) {
	for i, sizes := range tuned.Sizes() {
		synctest.Test(t, func(t *testing.T) {
			store, h := memstore.New(), newHistory(t, uint64(10+i))
			client := faultstore.NewServer(store).Client(nil)
			db, err := open(t, client, memfs.New(), forgetful(), sizes)
			ok(t, err)
			busy(t, h, db, 300)
			ok(t, db.Flush())
			<-time.After(time.Minute) // until nothing is on its way: Close would interrupt that
			collectAll(t, db)
			if client.Count(faultstore.Delete) == 0 {
				t.Errorf("sizes %d: nothing was deleted, in the background neither", i)
			}
			ok(t, db.Close())
			end, err := logOf(t, store).End(t.Context())
			ok(t, err)
			if len(end.Pending) > 0 {
				t.Errorf("sizes %d: commits are pending in %d objects", i, len(end.Pending))
			}
			if left := unnamed(t, store, end); len(left) > 0 {
				t.Errorf("sizes %d: %v are left, and the version does not name them", i, left)
			}
			wantTrimmed(t, store)
			h.wantAt(t, "a copy", restored(t, store), len(h.states)-1)
		})
	}
}

// wantTrimmed wants one state, and before it only the log objects that stay.
func wantTrimmed(t testing.TB, store objstore.Store) {
	t.Helper()
	log := logOf(t, store)
	states, err := log.States(t.Context())
	ok(t, err)
	if len(states) != 1 {
		t.Fatalf("the states are %d", states)
	}
	s, err := log.StateAt(t.Context(), states[0])
	ok(t, err)
	before := 0
	for _, name := range names(t, store, "log/") {
		if !(past{store, s.Number - 1}).hides(name) {
			before++
		}
	}
	if before > len(s.Claims)+len(s.Pending) {
		t.Errorf("%d log objects are left before state %d, which has %d claims and %d pending objects",
			before, s.Number, len(s.Claims), len(s.Pending))
	}
}

func TestCollect_keepsTheRetention(t *testing.T) {
	store, h := memstore.New(), newHistory(t, 20)
	o := quick()
	o.Retention = time.Hour
	db, err := open(t, store, memfs.New(), o, tuned.Sizes()[0])
	ok(t, err)
	busy(t, h, db, 300)
	if n, err := db.Collect(t.Context()); n != 0 || err != nil {
		t.Errorf("%d objects are deleted: %v", n, err)
	}
	ok(t, db.Close())
	end, err := logOf(t, store).End(t.Context())
	ok(t, err)
	for n := uint64(2); n <= end.Number; n += 5 {
		if _, err := h.check(restored(t, past{store, n})); err != nil {
			t.Errorf("as of log object %d: %v", n, err)
		}
	}
}

func TestPin_keepsWhatItTakes(t *testing.T) {
	ctx, store, h := t.Context(), memstore.New(), newHistory(t, 21)
	db, err := open(t, store, memfs.New(), forgetful(), tuned.Sizes()[0])
	ok(t, err)
	busy(t, h, db, 100)
	pin, err := remote.Pin(ctx, store, "before-upgrade")
	ok(t, err)
	if pin.Commit != db.Status().Commit {
		t.Errorf("the pin is of commit %d, and the database at %d", pin.Commit, db.Status().Commit)
	}
	_, err = remote.Pin(ctx, store, "before-upgrade")
	wantErr(t, err, objstore.ErrExists)
	_, err = remote.Pin(ctx, store, "Not A Name")
	wantErr(t, err, objstore.ErrName)
	at := len(h.states) - 1
	busy(t, h, db, 200)
	collectAll(t, db)
	pins, err := logOf(t, store).Pins(ctx)
	ok(t, err)
	h.wantAt(t, "the pinned past", restored(t, past{store, pins[0].Number}), at)
	files := len(names(t, store, "data/"))
	listed, err := remote.Pins(ctx, store)
	if err != nil || !slices.Equal(listed, []remote.PinInfo{pin}) {
		t.Errorf("the pins are %v: %v", listed, err)
	}
	ok(t, remote.Unpin(ctx, store, "before-upgrade"))
	ok(t, remote.Unpin(ctx, store, "before-upgrade"))
	collectAll(t, db)
	if now := len(names(t, store, "data/")); now >= files {
		t.Errorf("%d files were kept for the pin, and %d are left without it", files, now)
	}
	ok(t, db.Close())
	h.wantAt(t, "a copy", restored(t, store), len(h.states)-1)
}

// TestCollect_sweepsWhatACrashLeft stores a file of an earlier writer that no version names.
func TestCollect_sweepsWhatACrashLeft(t *testing.T) {
	ctx, store, disk, h := t.Context(), memstore.New(), memfs.New(), newHistory(t, 22)
	db, err := open(t, store, disk, forgetful(), engine.Tuning{})
	ok(t, err)
	busy(t, h, db, 20)
	ok(t, db.Close())
	const left = "data/00/000007.other" // not a file of the database
	orphan := storelog.DataName(folder.Table, 1<<36|999)
	for _, name := range []string{left, orphan} {
		ok(t, store.Create(ctx, name, []byte("table")))
	}
	db = mustOpen(t, store, disk)
	busy(t, h, db, 1)
	collectAll(t, db)
	if there := names(t, store, "data/"); slices.Contains(there, orphan) ||
		!slices.Contains(there, left) {
		t.Errorf("the orphan should be gone, and %s stay: %v", left, there)
	}
	ok(t, db.Close())
	h.wantAt(t, "a copy", restored(t, store), len(h.states)-1)
}

// TestCollect_sweepsThoughNothingIsCommitted has the orphan of a crash, which a writer that is only
// there to collect deletes, too. Without one, such a writer adds nothing to the log.
func TestCollect_sweepsThoughNothingIsCommitted(t *testing.T) {
	store, disk, h := memstore.New(), memfs.New(), newHistory(t, 26)
	first, err := open(t, store, disk, quick(), resting())
	ok(t, err)
	mustCommit(t, h, first, 3)
	awaitTables(t, first, store, 3)
	ok(t, first.Close())
	orphan := storelog.DataName(folder.Table, 1<<36|999)
	for _, left := range []bool{false, true} {
		if left {
			ok(t, store.Create(t.Context(), orphan, []byte("table")))
		}
		client := faultstore.NewServer(store).Client(func(r faultstore.Request) faultstore.Fate {
			if r.Op == faultstore.Delete && r.Name == orphan {
				if end, err := logOf(t, store).End(t.Context()); err != nil ||
					!end.ActedSince(len(end.Claims)-1) {
					t.Errorf("folders of earlier writers may name the orphan: %v", err)
				}
			}
			return faultstore.Answered
		})
		db, err := open(t, client, disk, forgetful(), resting())
		ok(t, err)
		before := len(names(t, store, "log/"))
		n, err := db.Collect(t.Context())
		if ok(t, err); n > 0 != left || slices.Contains(names(t, store, "data/"), orphan) {
			t.Errorf("an orphan: %v, and %d objects are deleted", left, n)
		}
		if added := len(names(t, store, "log/")) - before; added > 0 != left {
			t.Errorf("an orphan: %v, and %d objects are added to the log", left, added)
		}
		ok(t, db.Close())
	}
	h.wantAt(t, "a copy", restored(t, store), len(h.states)-1)
}

func TestCollect_findsWhatTheWriterBeforeLeft(t *testing.T) {
	store, disk, h := memstore.New(), memfs.New(), newHistory(t, 24)
	db := mustOpen(t, store, disk)
	for len(names(t, store, "state/")) < 3 {
		busy(t, h, db, 1)
	}
	ok(t, db.Close())
	db, err := open(t, store, disk, forgetful(), engine.Tuning{})
	ok(t, err)
	collectAll(t, db)
	// The newest one of before stays, and perhaps one that the new writer has stored meanwhile.
	if states := names(t, store, "state/"); len(states) > 2 {
		t.Errorf("a writer that commits nothing leaves the states of the one before: %v", states)
	}
	ok(t, db.Close())
	h.wantAt(t, "a copy", restored(t, store), len(h.states)-1)
}
