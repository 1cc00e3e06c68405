package remote_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	storelog "github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// at returns a client of a store that calls do once, before the first request of a kind for a name
// with a prefix after it was armed.
func at(
	store objstore.Store, op faultstore.Op, prefix string, armed *atomic.Bool, do func(),
) *faultstore.Client {
	return faultstore.NewServer(store).Client(func(r faultstore.Request) faultstore.Fate {
		if r.Op == op && strings.HasPrefix(r.Name, prefix) && armed.CompareAndSwap(true, false) {
			do()
		}
		return faultstore.Answered
	})
}

// pinBeforeBound returns the name of the only pin of a database, which is of a position before the
// unlink bound.
func pinBeforeBound(t testing.TB, store objstore.Store) string {
	t.Helper()
	end, err := logOf(t, store).End(t.Context())
	ok(t, err)
	pins, err := logOf(t, store).Pins(t.Context())
	ok(t, err)
	if len(pins) != 1 || pins[0].Number >= end.Bound {
		t.Fatalf("the pins are %+v, and the unlink bound %d", pins, end.Bound)
	}
	return pins[0].Name
}

// TestDetach_keepsWhatClonesOfTheCloneNeed has a clone be made at a moment when a collection has
// listed the pins, and not created its unlink bound yet: that is beyond the new pin then, which
// counts.
func TestDetach_keepsWhatClonesOfTheCloneNeed(t *testing.T) {
	first, h := memstore.New(), newHistory(t, 51)
	small := tuned.Sizes()[1]
	written(t, h, first, small, 40)
	second, own := mustClone(t, first)
	third := memstore.New()
	var armed atomic.Bool
	busyClone := remote.CloneStore(at(own, faultstore.Get, "state/", &armed, func() {
		_, err := remote.Clone(t.Context(), third, second, &remote.CloneOptions{Commit: 45})
		ok(t, err)
	}), first)
	db, err := open(t, busyClone, memfs.New(), forgetful(), small)
	ok(t, err)
	busy(t, h, db, 10)
	c := h.fork(45)
	ok(t, db.Compact(t.Context()))
	ok(t, db.Ship(t.Context()))
	armed.Store(true)
	_, err = db.Collect(t.Context())
	ok(t, err)
	pin := pinBeforeBound(t, own)
	_, err = db.Detach(t.Context())
	if err == nil || !strings.Contains(err.Error(), pin) {
		t.Errorf("the clone is detached: %v", err)
	}
	whole := remote.CloneStore(third, second)
	wantWhole(t, "the clone of the clone", c, whole)

	last := mustOpen(t, whole, memfs.New())
	_, err = last.Detach(t.Context())
	ok(t, err)
	_, err = db.Detach(t.Context())
	ok(t, err)
	ok(t, db.Close())
	ok(t, last.Close())
	wantWhole(t, "the clone that stands alone", h, own)
	wantWhole(t, "the clone of the clone that stands alone", c, third)
}

// TestClone_isFoundAgainWhateverTheBoundIs has the unlink bound pass a pin that counts, as above.
func TestClone_isFoundAgainWhateverTheBoundIs(t *testing.T) {
	parent, h, own := memstore.New(), newHistory(t, 52), memstore.New()
	var armed atomic.Bool
	client := at(parent, faultstore.Get, "state/", &armed, func() {
		_, err := remote.Clone(t.Context(), own, parent, &remote.CloneOptions{Commit: 15})
		ok(t, err)
	})
	db, err := open(t, client, memfs.New(), forgetful(), tuned.Sizes()[1])
	ok(t, err)
	busy(t, h, db, 20)
	armed.Store(true)
	_, err = db.Collect(t.Context())
	ok(t, err)
	busy(t, h, db, 20)
	_, err = db.Collect(t.Context())
	ok(t, err)
	ok(t, db.Close())
	pinBeforeBound(t, parent)
	_, err = remote.Clone(t.Context(), own, parent, nil)
	ok(t, err)
	wantWhole(t, "the clone", h.fork(15), remote.CloneStore(own, parent))
}

// TestClone_isOpenedWhileItIsDetached has a clone be detached after its log was read, and before
// its pin is asked for.
func TestClone_isOpenedWhileItIsDetached(t *testing.T) {
	parent, h := memstore.New(), newHistory(t, 53)
	written(t, h, parent, tuned.Sizes()[1], 30)
	clone, own := mustClone(t, parent)
	db := mustOpen(t, clone, memfs.New())
	var armed atomic.Bool
	armed.Store(true)
	client := at(parent, faultstore.Get, "pin/", &armed, func() {
		_, err := db.Detach(t.Context())
		ok(t, err)
	})
	r := mustRead(t, remote.CloneStore(own, client))
	h.wantAt(t, "the reader", r.DB, 30)
	if armed.Load() {
		t.Error("the pin was not asked for")
	}
	ok(t, db.Close())
}

// TestClone_thatMayHaveBeenDetachedIsNotCalledUnpinned has a clone be detached before its pin is
// asked for, and the clone's store fail then.
func TestClone_thatMayHaveBeenDetachedIsNotCalledUnpinned(t *testing.T) {
	parent, h := memstore.New(), newHistory(t, 58)
	written(t, h, parent, tuned.Sizes()[1], 30)
	clone, own := mustClone(t, parent)
	db := mustOpen(t, clone, memfs.New())
	var armed, down atomic.Bool
	armed.Store(true)
	lender := at(parent, faultstore.Get, "pin/", &armed, func() {
		_, err := db.Detach(t.Context())
		ok(t, err)
		down.Store(true)
	})
	client := faultstore.NewServer(own).Client(func(faultstore.Request) faultstore.Fate {
		if down.Load() {
			return faultstore.Failed
		}
		return faultstore.Answered
	})
	o := impatient()
	_, err := remote.OpenReader(t.Context(), remote.CloneStore(client, lender), "", &o)
	if wantErr(t, err, faultstore.ErrFailed); errors.Is(err, remote.ErrUnpinned) {
		t.Errorf("error %v, though the clone needs no pin", err)
	}
	ok(t, db.Close())
}

// TestDetach_letsReadersLeaveTheParent has a reader that was there before.
func TestDetach_letsReadersLeaveTheParent(t *testing.T) {
	parent, h := memstore.New(), newHistory(t, 54)
	written(t, h, parent, tuned.Sizes()[1], 60)
	clone, own := mustClone(t, parent)
	client := faultstore.NewServer(parent).Client(nil)
	r := mustRead(t, remote.CloneStore(own, client))
	db, err := open(t, clone, memfs.New(), quick(), engine.Tuning{})
	ok(t, err)
	_, err = db.Detach(t.Context())
	ok(t, err)
	mustCommit(t, h, db, 1)
	ok(t, r.WaitFor(t.Context(), db.Position()))
	before := client.Count()
	h.wantAt(t, "the reader", r.DB, 61)
	if n := client.Count() - before; n > 0 {
		t.Errorf("the reader has made %d requests to the parent", n)
	}
	ok(t, db.Close())
}

// TestClone_besideCollections has processes clone some moment, two each time into one store, while
// the parent keeps nothing of the past that is not pinned.
func TestClone_besideCollections(t *testing.T) {
	parent, h := memstore.New(), newHistory(t, rand.Uint64())
	db, err := open(t, parent, memfs.New(), forgetful(), tuned.Sizes()[1])
	ok(t, err)
	busy(t, h, db, 20)
	clones := map[*memstore.Store]uint64{} // and the commits that they are of
	for range 30 {
		own, ended := memstore.New(), make(chan remote.Moment)
		for back := range uint64(2) {
			o := remote.CloneOptions{Commit: db.Status().Shipped - back}
			if h.rng.IntN(2) == 0 {
				o = remote.CloneOptions{}
			}
			go func() {
				m, _ := remote.Clone(t.Context(), own, parent, &o)
				ended <- m
			}()
		}
		mustCommit(t, h, db, 3)
		ok(t, db.Ship(t.Context()))
		_, err := db.Collect(t.Context())
		ok(t, err)
		for range 2 {
			if m := <-ended; m.Commit > 0 && clones[own] > 0 && clones[own] != m.Commit {
				t.Errorf("commits %d and %d are cloned", clones[own], m.Commit)
			} else if m.Commit > 0 {
				clones[own] = m.Commit
			}
		}
	}
	busy(t, h, db, 50)
	ok(t, db.Compact(t.Context()))
	collectAll(t, db)
	ok(t, db.Close())
	t.Logf("%d clones", len(clones))
	for own, commit := range clones {
		wantWhole(t, "a clone", h.fork(int(commit)), remote.CloneStore(own, parent))
	}
}

// TestDetach_inAnyOrder detaches the clones of a chain in each order, while the parent of each goes
// on and keeps nothing that is not pinned.
func TestDetach_inAnyOrder(t *testing.T) {
	t.Parallel()
	orders := [][]int{{1, 2, 3}, {1, 3, 2}, {2, 1, 3}, {2, 3, 1}, {3, 1, 2}, {3, 2, 1}}
	if testing.Short() {
		orders = orders[rand.IntN(len(orders)):][:1]
	}
	for _, order := range orders {
		t.Run(fmt.Sprint(order), func(t *testing.T) { detachIn(t, order) })
	}
}

// detachIn detaches the three clones of a chain in an order.
func detachIn(t *testing.T, order []int) {
	var own [4]*memstore.Store // the first one is no clone
	var stores [4]objstore.Store
	var histories [4]*history
	for i := range own {
		own[i] = memstore.New()
		stores[i], histories[i] = own[i], newHistory(t, 70)
		if i > 0 {
			_, err := remote.Clone(t.Context(), own[i], stores[i-1], nil)
			ok(t, err)
			stores[i] = remote.CloneStore(own[i], stores[i-1])
			histories[i] = histories[i-1].fork(len(histories[i-1].states) - 1)
		}
		written(t, histories[i], stores[i], tuned.Sizes()[1], 30)
	}
	for _, i := range order {
		renewed(t, histories[i-1], stores[i-1])
		db := mustOpen(t, stores[i], memfs.New())
		_, err := db.Detach(t.Context())
		ok(t, err)
		ok(t, db.Close())
		stores[i] = own[i]
		for j := i + 1; j < len(own) && stores[j] != own[j]; j++ {
			stores[j] = remote.CloneStore(own[j], stores[j-1])
		}
		renewed(t, histories[i-1], stores[i-1])
		for j := range own {
			wantWhole(t, "a database of the chain", histories[j], stores[j])
		}
	}
}

func TestClone_beginsAnewIfWhatItReadsIsDeleted(t *testing.T) {
	parent, h := memstore.New(), newHistory(t, 43)
	db, err := open(t, parent, memfs.New(), forgetful(), engine.Tuning{})
	ok(t, err)
	busy(t, h, db, 50)
	ok(t, db.Ship(t.Context()))
	var armed atomic.Bool
	armed.Store(true)
	own := at(memstore.New(), faultstore.Create, storelog.DraftName, &armed, func() {
		for before := names(t, parent, "log/"); len(before) > 1; { // all but the claim, which stays
			replaced(t, h, db)
			now := names(t, parent, "log/")
			before = slices.DeleteFunc(before, func(name string) bool { return !slices.Contains(now, name) })
		}
	})
	made, err := remote.Clone(t.Context(), own, parent, nil)
	ok(t, err)
	if made.Commit == 0 {
		t.Error("nothing was cloned")
	}
	ok(t, db.Close())
}
