package remote_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
)

// TestRestore_ofEveryPosition has several writers, some of whom begin with an empty folder, and
// restores the database after each of their commits.
func TestRestore_ofEveryPosition(t *testing.T) {
	t.Parallel()
	for mode := range remote.Wait + 1 {
		store, h := memstore.New(), newHistory(t, 7+uint64(mode))
		disk, positions := memfs.New(), []stoat.Position{0}
		for writer := range 4 {
			if writer%2 == 1 {
				disk = memfs.New()
			}
			o := quick()
			o.Durability, o.Interval = mode, time.Duration(1-mode)*time.Millisecond
			tuning := tuned.Sizes()[writer%len(tuned.Sizes())]
			if mode == remote.Async { // nothing is spilled, so that commits are in the log
				tuning = engine.Tuning{MemtableBytes: 8 << 10, SpillBytes: 1 << 20, YoungRuns: 2}
			}
			db, err := open(t, store, disk, o, tuning)
			ok(t, err)
			for i := range 60 {
				ok(t, h.commit(db.DB))
				positions = append(positions, db.Position())
				if i%25 == 24 {
					ok(t, db.Flush())
				}
			}
			ok(t, db.Close())
		}
		for number, p := range positions[1:] {
			disk := memfs.New()
			ok(t, tryRestore(store, disk, remote.RestoreOptions{Position: p}))
			db, err := tuned.Open(disk, "db", nil, engine.Tuning{})
			ok(t, err)
			got, err := h.check(db)
			ok(t, err)
			if got != number+1 {
				t.Fatalf("a copy of the database after transaction %d is as after %d", number+1, got)
			}
			ok(t, db.Close())
		}
	}
}

// TestRestore_ofACommit goes by numbers, as pins have them.
func TestRestore_ofACommit(t *testing.T) {
	store, h := memstore.New(), newHistory(t, 11)
	db := mustOpen(t, store, memfs.New())
	want := map[uint64]int{}
	for i := range 40 {
		ok(t, h.commit(db.DB))
		want[db.Status().Commit] = i + 1
		if i == 20 {
			ok(t, db.Ship(t.Context()))
			pin, err := remote.Pin(t.Context(), store, "here")
			ok(t, err)
			if want[pin.Commit] != i+1 {
				t.Errorf("the pin is of commit %d", pin.Commit)
			}
		}
	}
	ok(t, db.Close())
	for commit, number := range want {
		got, err := h.check(restoredAt(t, store, remote.RestoreOptions{Commit: commit}))
		ok(t, err)
		if got != number {
			t.Errorf("a copy of commit %d is as after transaction %d, not %d", commit, got, number)
		}
	}
	err := tryRestore(store, memfs.New(), remote.RestoreOptions{Commit: 1 << 40})
	wantErr(t, err, remote.ErrNotKept)
}

func TestRestore_ofATime(t *testing.T) {
	store, h := memstore.New(), newHistory(t, 8)
	db, err := open(t, store, memfs.New(), waiting(), engine.Tuning{})
	ok(t, err)
	before := make([]time.Time, 100)
	for i := range before {
		before[i] = time.Now()
		ok(t, h.commit(db.DB))
	}
	ok(t, db.Close())
	for i := 0; i < len(before); i += 7 {
		number, err := h.check(restoredAt(t, store, remote.RestoreOptions{
			Time: before[i].Add(time.Millisecond), // objects have whole milliseconds
		}))
		ok(t, err)
		if number < i {
			t.Fatalf("a copy as of after transaction %d is as after %d", i, number)
		}
		for after := number + 1; after < len(before); after++ {
			if before[after-1].Before(before[i].Add(-time.Millisecond)) {
				t.Fatalf("a copy as of before transaction %d has no more than %d", i+1, number)
			}
		}
	}
	err = tryRestore(store, memfs.New(), remote.RestoreOptions{Time: before[0].Add(-time.Hour)})
	wantErr(t, err, remote.ErrNotKept)
	h.wantAt(t, "a copy of the future", restoredAt(t, store, remote.RestoreOptions{
		Time: time.Now().Add(time.Hour),
	}), len(before))
}

func TestRestore_refusesPositionsThatTheStoreDoesNotHave(t *testing.T) {
	store, disk := memstore.New(), memfs.New()
	first := mustOpen(t, store, disk)
	ok(t, first.Put([]byte("first"), nil))
	ok(t, first.Ship(t.Context()))
	kept := first.Position()
	second := mustOpen(t, store, memfs.New())
	ok(t, first.Put([]byte("lost"), nil))
	ok(t, first.Put([]byte("lost"), nil))
	lost := first.Position()
	ok(t, second.Put([]byte("second"), nil))
	ok(t, second.Ship(t.Context()))
	for _, c := range []struct {
		p    stoat.Position
		want error
	}{
		{kept, nil}, {second.Position(), nil}, {lost, remote.ErrLost},
		{second.Position() + 1, remote.ErrNotKept},
	} {
		err := tryRestore(store, memfs.New(), remote.RestoreOptions{Position: c.p})
		wantErr(t, err, c.want)
	}
	other := mustOpen(t, memstore.New(), memfs.New())
	ok(t, other.Put([]byte("other"), nil))
	if err := tryRestore(store, memfs.New(), remote.RestoreOptions{
		Position: other.Position(),
	}); err == nil {
		t.Error("a position of another database is restored")
	}
}

// TestRestore_saysWhatCameTogether ships commits only with the tables that have all of them.
func TestRestore_saysWhatCameTogether(t *testing.T) {
	disk := memfs.New()
	plain, err := tuned.Open(disk, "db", nil, engine.Tuning{})
	ok(t, err)
	for range 10 {
		ok(t, plain.Put([]byte("small"), nil)) // so it does not stay in the log
	}
	ok(t, plain.Close())
	store := memstore.New()
	db := mustOpen(t, store, disk)
	ok(t, db.Ship(t.Context()))
	end := db.Position()
	ok(t, db.Put([]byte("next"), nil))
	ok(t, db.Ship(t.Context()))
	for p := end - 9; p <= end+1; p++ {
		want := error(nil)
		if p < end {
			want = remote.ErrNotKept
		}
		err := tryRestore(store, memfs.New(), remote.RestoreOptions{Position: p})
		if want == nil {
			ok(t, err)
		} else {
			wantErr(t, err, want)
		}
	}
}

// TestRestore_namesAllDamage changes every other file in a store, by a byte, or by all of them.
func TestRestore_namesAllDamage(t *testing.T) {
	store := loaded(t)
	files := names(t, store, "data/")
	for i, name := range files {
		p, err := store.Get(t.Context(), name, 0, -1)
		ok(t, err)
		ok(t, store.Delete(t.Context(), []string{name}))
		p[len(p)/2] ^= 1
		if i%3 > 0 {
			ok(t, store.Create(t.Context(), name, p[:len(p)/(i%3)]))
		}
	}
	err := tryRestore(store, memfs.New(), remote.RestoreOptions{})
	wantErr(t, err, stoat.ErrCorrupt)
	for _, name := range files[:min(len(files), 20)] {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
}
