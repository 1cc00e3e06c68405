package remote_test

import (
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// copied returns a copy of a store.
func copied(t testing.TB, store objstore.Store) *memstore.Store {
	t.Helper()
	other := memstore.New()
	for _, name := range names(t, store, "") {
		p, err := store.Get(t.Context(), name, 0, -1)
		ok(t, err)
		ok(t, other.Create(t.Context(), name, p))
	}
	return other
}

// goOnUntil writes to a store until its log is as long as that of another one.
func goOnUntil(t testing.TB, h *history, store, than objstore.Store) {
	t.Helper()
	for len(names(t, store, "log/")) < len(names(t, than, "log/")) {
		written(t, h, store, tuned.Sizes()[1], 20)
	}
}

// wantCopyRefused wants a copy of a parent to be refused in the place of that.
func wantCopyRefused(t testing.TB, what string, own, copied objstore.Store) {
	t.Helper()
	pins := clonePins(t, copied)
	_, err := remote.Clone(t.Context(), own, copied, nil)
	if wantErr(t, err, objstore.ErrExists); !strings.Contains(err.Error(), "copy") {
		t.Errorf("%s: the error does not say that it is a copy: %v", what, err)
	}
	if n := clonePins(t, copied); n != pins {
		t.Errorf("%s has %d pins, and had %d", what, n, pins)
	}
}

// TestClone_refusesCopiesOfItsParent has copies of the parent's store, from before it was cloned,
// which begin with the same object. Files of one that has gone on have the names of the parent's.
func TestClone_refusesCopiesOfItsParent(t *testing.T) {
	parent, h := memstore.New(), newHistory(t, 81)
	written(t, h, parent, tuned.Sizes()[1], 20)
	other, older := copied(t, parent), copied(t, parent)
	written(t, h, parent, tuned.Sizes()[1], 20)
	goOnUntil(t, h.fork(20), other, parent)
	clone, own := mustClone(t, parent)
	c, again := h.fork(40), copied(t, parent)
	info, err := remote.Inspect(t.Context(), own)
	ok(t, err)

	for range 2 {
		for what, store := range map[string]objstore.Store{
			"one that has gone on": other, "one that ends before": older,
		} {
			wantCopyRefused(t, what, own, store)
		}
		wantRefused(t, remote.CloneStore(own, other), remote.ErrNoParent)
		ok(t, remote.Unpin(t.Context(), parent, info.Origin.Pin)) // nobody has one now
	}
	wantRefused(t, remote.CloneStore(own, older), remote.ErrNotKept)
	_, err = remote.Clone(t.Context(), own, parent, nil)
	ok(t, err)
	wantWhole(t, "the clone", c, clone)
	written(t, h.fork(40), again, tuned.Sizes()[1], 20)
	wantWhole(t, "the clone with a copy from later", c, remote.CloneStore(own, again))
}

// TestClone_refusesACopyWithItsPin has a copy from between the pin and the clone, which is of a
// later commit, as after a crash.
func TestClone_refusesACopyWithItsPin(t *testing.T) {
	parent, own, h := memstore.New(), memstore.New(), newHistory(t, 82)
	written(t, h, parent, tuned.Sizes()[1], 20)
	cloneUntilItIsPinned(t, own, parent)
	other, older := copied(t, parent), copied(t, parent)
	written(t, h, parent, tuned.Sizes()[1], 20)
	goOnUntil(t, h.fork(20), other, parent)
	_, err := remote.Clone(t.Context(), own, parent, nil)
	ok(t, err)
	for what, store := range map[string]objstore.Store{
		"one that has gone on": other, "one that ends before": older,
	} {
		wantRefused(t, remote.CloneStore(own, store), remote.ErrNoParent)
		wantCopyRefused(t, what, own, store)
	}
	wantWhole(t, "the clone", h, remote.CloneStore(own, parent))
}

// TestClone_ofVersion1IsReadAndGoesOn has a clone whose origin does not say which log object was
// cloned.
func TestClone_ofVersion1IsReadAndGoesOn(t *testing.T) {
	parent, h := memstore.New(), newHistory(t, 83)
	written(t, h, parent, tuned.Sizes()[1], 20)
	clone, own := mustClone(t, parent)
	codec, err := object.NewCodec()
	ok(t, err)
	name := names(t, own, "log/")[0]
	p, err := own.Get(t.Context(), name, 0, -1)
	ok(t, err)
	first, err := codec.DecodeLog(name, p)
	ok(t, err)
	first.Parts[0].Origin.At = object.ID{}
	old, err := codec.EncodeLog(first)
	ok(t, err)
	if p[8] != 2 || old[8] != 1 {
		t.Fatalf("the versions are %d and %d", p[8], old[8])
	}
	ok(t, own.Delete(t.Context(), []string{name}))
	ok(t, own.Create(t.Context(), name, old))

	wantWhole(t, "the clone", h, clone)
	written(t, h, clone, tuned.Sizes()[1], 100)
	wantWhole(t, "the clone", h, clone)
	end, err := logOf(t, own).End(t.Context())
	ok(t, err)
	if end.Origin == nil || end.Origin.At != (object.ID{}) {
		t.Errorf("the origin is %+v", end.Origin)
	}
	info, err := remote.Inspect(t.Context(), own)
	ok(t, err)
	ok(t, remote.Unpin(t.Context(), parent, info.Origin.Pin))
	_, err = remote.Clone(t.Context(), own, parent, nil)
	ok(t, err)
	wantWhole(t, "the clone", h, clone)
}
