package remote_test

import (
	"context"
	"crypto/sha256"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// fork returns a history that begins as another one does, up to a transaction.
func (h *history) fork(through int) *history {
	return &history{
		rng: rand.New(rand.NewPCG(h.rng.Uint64(), 9)), states: slices.Clone(h.states[:through+1]),
	}
}

// mustClone clones the newest commit of a store, and returns the store of the clone.
func mustClone(t testing.TB, parent objstore.Store) (clone objstore.Store, own *memstore.Store) {
	t.Helper()
	own = memstore.New()
	_, err := remote.Clone(t.Context(), own, parent, &remote.CloneOptions{Name: "the parent"})
	ok(t, err)
	return remote.CloneStore(own, parent), own
}

// contents returns the checksums of all objects in a store.
func contents(t testing.TB, store objstore.Store) map[string][32]byte {
	t.Helper()
	sums := map[string][32]byte{}
	for _, name := range names(t, store, "") {
		p, err := store.Get(t.Context(), name, 0, -1)
		ok(t, err)
		sums[name] = sha256.Sum256(p)
	}
	return sums
}

// written makes a database with tables and with commits that are in none, and closes it.
func written(t testing.TB, h *history, store objstore.Store, tuning engine.Tuning, n int) {
	t.Helper()
	db, err := open(t, store, memfs.New(), quick(), tuning)
	ok(t, err)
	mustCommit(t, h, db, n/2)
	ok(t, db.Flush())
	mustCommit(t, h, db, n-n/2)
	ok(t, db.Close())
}

// wantWhole wants a store to have a database that is as after the last transaction of a history,
// for whoever reads, restores or verifies it.
func wantWhole(t testing.TB, what string, h *history, store objstore.Store) {
	t.Helper()
	last, disk, o := len(h.states)-1, memfs.New(), impatient()
	r, err := remote.OpenReader(t.Context(), store, "", &o)
	ok(t, err)
	h.wantAt(t, "a reader of "+what, r.DB, last)
	ok(t, r.Close())
	ok(t, tryRestore(store, disk, remote.RestoreOptions{}))
	db, err := tuned.Open(disk, "db", nil, engine.Tuning{})
	ok(t, err)
	h.wantAt(t, "a copy of "+what, db, last)
	ok(t, db.Close())
	_, err = remote.Verify(t.Context(), store)
	ok(t, err)
}

func TestClone_goesOnByItself(t *testing.T) {
	seed := rand.Uint64()
	for i, sizes := range tuned.Sizes() {
		parent, h := memstore.New(), newHistory(t, seed+uint64(i))
		written(t, h, parent, sizes, 60)
		before := contents(t, parent)
		clone, own := mustClone(t, parent)
		c := h.fork(60)
		wantWhole(t, "the clone", c, clone)

		db, err := open(t, clone, memfs.New(), quick(), sizes)
		ok(t, err)
		for range 60 {
			ok(t, c.commit(db.DB))
		}
		for len(names(t, own, "data/")) == 0 { // Close stores none
			ok(t, db.Flush())
			ok(t, db.Ship(t.Context()))
		}
		ok(t, db.Close())
		for name, sum := range contents(t, parent) {
			if before[name] != sum && !strings.HasPrefix(name, "pin/clone-") {
				t.Errorf("the clone has changed %s in its parent", name)
			}
			delete(before, name)
		}
		if len(before) > 0 {
			t.Errorf("the clone has deleted %v in its parent", slices.Collect(maps.Keys(before)))
		}
		for range 2 { // epochs, and names of files, that the clone has, too
			written(t, h, parent, sizes, 30)
		}
		wantWhole(t, "the clone", c, clone)
		wantWhole(t, "the parent", h, parent)
	}
}

// TestClone_ofEveryCommit clones each commit that can be restored.
func TestClone_ofEveryCommit(t *testing.T) {
	parent, h := memstore.New(), newHistory(t, 21)
	o := quick()
	tuning := engine.Tuning{MemtableBytes: 8 << 10, SpillBytes: 1 << 20, YoungRuns: 2}
	positions := []stoat.Position{0}
	for range 2 {
		db, err := open(t, parent, memfs.New(), o, tuning)
		ok(t, err)
		for range 40 {
			ok(t, h.commit(db.DB))
			positions = append(positions, db.Position())
		}
		ok(t, db.Close())
	}
	for number, p := range positions[1:] {
		own := memstore.New()
		_, err := remote.Clone(t.Context(), own, parent, &remote.CloneOptions{Position: p})
		ok(t, err)
		clone := remote.CloneStore(own, parent)
		h.wantExactly(t, "the clone", mustRead(t, clone).DB, number+1)
		_, err = remote.Verify(t.Context(), clone)
		ok(t, err)
	}
}

// wantExactly wants the database to be as it was after a transaction.
func (h *history) wantExactly(t testing.TB, what string, db *stoat.DB, number int) {
	t.Helper()
	got, err := h.check(db)
	ok(t, err)
	if got != number {
		t.Fatalf("%s is as after transaction %d, not %d", what, got, number)
	}
}

func TestClone_needsItsParent(t *testing.T) {
	parent, h := memstore.New(), newHistory(t, 22)
	written(t, h, parent, engine.Tuning{MemtableBytes: 4 << 10}, 40)
	clone, own := mustClone(t, parent)
	other := memstore.New()
	written(t, newHistory(t, 23), other, engine.Tuning{}, 4)
	for name, store := range map[string]objstore.Store{
		"alone": own, "with another database": remote.CloneStore(own, other),
		"with an empty store": remote.CloneStore(own, memstore.New()),
		"with itself":         remote.CloneStore(own, own),
	} {
		t.Run(name, func(t *testing.T) {
			wantRefused(t, store, remote.ErrNoParent)
			if _, err := remote.Inspect(t.Context(), store); err != nil {
				t.Errorf("Inspect: %v", err)
			}
		})
	}
	wantWhole(t, "the clone", h, clone)
}

// TestCloneStore_refusesItsStoresInTheOtherOrder would make the writer of the clone that of its
// parent.
func TestCloneStore_refusesItsStoresInTheOtherOrder(t *testing.T) {
	parent, h := memstore.New(), newHistory(t, 28)
	written(t, h, parent, engine.Tuning{MemtableBytes: 4 << 10}, 10)
	_, own := mustClone(t, parent)
	wantRefused(t, remote.CloneStore(parent, own), remote.ErrNoParent)
}

// wantRefused wants nobody to read or write a clone.
func wantRefused(t testing.TB, store objstore.Store, want error) {
	t.Helper()
	before := contents(t, store)
	_, err := remote.Verify(t.Context(), store)
	wantErr(t, err, want)
	wantErr(t, tryRestore(store, memfs.New(), remote.RestoreOptions{}), want)
	o := impatient()
	_, err = remote.OpenReader(t.Context(), store, "", &o)
	wantErr(t, err, want)
	_, err = open(t, store, memfs.New(), quick(), engine.Tuning{})
	wantErr(t, err, want)
	if !maps.Equal(before, contents(t, store)) {
		t.Error("the store was changed")
	}
}

func TestClone_ofAClone(t *testing.T) {
	first, h := memstore.New(), newHistory(t, 24)
	small := tuned.Sizes()[1]
	written(t, h, first, small, 40)
	second, _ := mustClone(t, first)
	written(t, h, second, small, 20)
	third, own := mustClone(t, second)
	c := h.fork(60)
	written(t, h, second, small, 20)
	written(t, c, third, small, 20)
	wantWhole(t, "the clone of the clone", c, third)
	wantWhole(t, "the clone", h, second)
	wantRefused(t, remote.CloneStore(own, first), remote.ErrNoParent)

	db := mustOpen(t, second, memfs.New())
	_, err := db.Detach(context.Background())
	ok(t, err)
	ok(t, db.Close())
	wantWhole(t, "the clone of the clone", c, third)
}

// TestClone_refusesFoldersOfOthers opens each folder with the store that it does not belong to: all
// have one identity.
func TestClone_refusesFoldersOfOthers(t *testing.T) {
	parent, h := memstore.New(), newHistory(t, 25)
	disk, copied, cloned := memfs.New(), memfs.New(), memfs.New()
	db := mustOpen(t, parent, disk)
	mustCommit(t, h, db, 10)
	ok(t, db.Close())
	clone, _ := mustClone(t, parent)
	ok(t, tryRestore(clone, copied, remote.RestoreOptions{}))
	for _, other := range []*memfs.FS{disk, copied} {
		_, err := open(t, clone, other, quick(), engine.Tuning{})
		wantErr(t, err, remote.ErrApart)
	}
	db = mustOpen(t, clone, cloned)
	mustCommit(t, h, db, 5)
	ok(t, db.Close())
	_, err := open(t, parent, cloned, quick(), engine.Tuning{})
	wantErr(t, err, remote.ErrApart)
	db = mustOpen(t, clone, cloned)
	h.wantAt(t, "the clone", db.DB, 15)
	ok(t, db.Close())
}

// TestClone_followsAndIsTakenOver has readers and standbys of a clone.
func TestClone_followsAndIsTakenOver(t *testing.T) {
	parent, h := memstore.New(), newHistory(t, 26)
	written(t, h, parent, tuned.Sizes()[1], 30)
	clone, own := mustClone(t, parent)
	r, standby := mustRead(t, clone), mustRead(t, clone)
	first, err := open(t, clone, memfs.New(), quick(), tuned.Sizes()[1])
	ok(t, err)
	mustCommit(t, h, first, 20)
	ok(t, r.WaitFor(t.Context(), first.Position()))
	h.wantAt(t, "the reader", r.DB, 50)
	second := mustTakeOver(t, standby, memfs.New())
	_ = first.Close() // it is fenced
	mustCommit(t, h, second, 20)
	_, err = second.Detach(t.Context())
	ok(t, err)
	ok(t, r.WaitFor(t.Context(), second.Position()))
	for _, name := range names(t, parent, "") {
		ok(t, parent.Delete(t.Context(), []string{name}))
	}
	mustCommit(t, h, second, 20)
	ok(t, r.WaitFor(t.Context(), second.Position()))
	h.wantAt(t, "the reader", r.DB, 90)
	h.wantAt(t, "the standby", second.DB, 90)
	ok(t, second.Close())
	wantWhole(t, "the clone that stands alone", h, own)
}
