package remote_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/cryptstore"
	storelog "github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// renewed has a database replace its files, and delete what it need not keep.
func renewed(t testing.TB, h *history, store objstore.Store) {
	t.Helper()
	db, err := open(t, store, memfs.New(), forgetful(), tuned.Sizes()[1])
	ok(t, err)
	for range 3 {
		busy(t, h, db, 30)
		ok(t, db.Compact(t.Context()))
		ok(t, db.Ship(t.Context()))
		_, err := db.Collect(t.Context())
		ok(t, err)
	}
	ok(t, db.Close())
}

// missing returns how many of some objects a store lacks.
func missing(t testing.TB, wanted []string, store objstore.Store) (n int) {
	t.Helper()
	there := names(t, store, "data/")
	for _, name := range wanted {
		if !slices.Contains(there, name) {
			n++
		}
	}
	return n
}

func TestClone_isKeptByItsParent(t *testing.T) {
	parent, h := memstore.New(), newHistory(t, 41)
	renewed(t, h, parent)
	clone, own := mustClone(t, parent)
	c, files := h.fork(len(h.states)-1), names(t, parent, "data/")
	renewed(t, h, parent)
	wantWhole(t, "the clone", c, clone)

	info, err := remote.Inspect(t.Context(), own)
	ok(t, err)
	if info.Origin == nil || info.Origin.Name != "the parent" || info.Origin.Needed.Objects == 0 ||
		info.Origin.Needed.Bytes == 0 {
		t.Fatalf("the origin is %+v", info.Origin)
	}
	pin := info.Origin.Pin
	ok(t, remote.Unpin(t.Context(), parent, pin))
	wantRefused(t, clone, remote.ErrNotKept)
	_, err = remote.Verify(t.Context(), clone)
	if !strings.Contains(err.Error(), pin) {
		t.Errorf("the error does not name the pin: %v", err)
	}
	_, err = remote.Clone(t.Context(), own, parent, nil) // nothing was deleted since
	ok(t, err)
	wantWhole(t, "the clone", c, clone)

	ok(t, remote.Unpin(t.Context(), parent, pin))
	renewed(t, h, parent)
	if missing(t, files, parent) == 0 {
		t.Error("the parent has kept what nobody needs")
	}
	_, err = remote.Clone(t.Context(), own, parent, nil)
	wantErr(t, err, remote.ErrNotKept)
	if n := clonePins(t, parent); n > 0 {
		t.Errorf("there are %d pins of what is deleted", n)
	}
	wantRefused(t, clone, remote.ErrNotKept)
}

func TestClone_namesWhatItsParentHasLost(t *testing.T) {
	parent, h := memstore.New(), newHistory(t, 42)
	written(t, h, parent, tuned.Sizes()[1], 40)
	clone, own := mustClone(t, parent)
	end, err := logOf(t, parent).End(t.Context())
	ok(t, err)
	var lost string
	for table := range end.Version.Tables() {
		lost = storelog.DataName(folder.Table, table.Number)
	}
	ok(t, parent.Delete(t.Context(), []string{lost}))
	for range 2 { // first it is gone, then cut short
		for what, err := range map[string]error{
			"Verify":  errOf(remote.Verify(t.Context(), clone)),
			"Restore": tryRestore(clone, memfs.New(), remote.RestoreOptions{}),
			"Detach":  errOf(mustOpen(t, clone, memfs.New()).Detach(t.Context())),
		} {
			wantErr(t, err, stoat.ErrCorrupt)
			if !strings.Contains(err.Error(), lost) {
				t.Errorf("%s does not name the file: %v", what, err)
			}
		}
		ok(t, parent.Put(t.Context(), lost, strings.NewReader("short"), 5))
	}
	if info, err := remote.Inspect(t.Context(), own); err != nil || info.Origin == nil {
		t.Errorf("it was detached: %+v, %v", info, err)
	}
}

func errOf[T any](_ T, err error) error { return err }

// TestClone_replacesTheFilesOfItsParent has compactions and the retention of the clone go on until
// it needs nothing of its parent, of which nothing is deleted.
func TestClone_replacesTheFilesOfItsParent(t *testing.T) {
	parent, h := memstore.New(), newHistory(t, 43)
	written(t, h, parent, tuned.Sizes()[1], 60)
	clone, own := mustClone(t, parent)
	files := names(t, parent, "data/")
	renewed(t, h, clone)
	renewed(t, h, clone)
	if n := missing(t, files, parent); n > 0 {
		t.Fatalf("the clone has deleted %d files of its parent", n)
	}
	info, err := remote.Inspect(t.Context(), own)
	ok(t, err)
	if info.Origin == nil || info.Origin.Needed != (remote.Usage{}) {
		t.Fatalf("the origin is %+v", info.Origin)
	}
	db := mustOpen(t, clone, memfs.New())
	copied, err := db.Detach(t.Context())
	ok(t, err)
	ok(t, db.Close())
	if copied != (remote.Usage{}) {
		t.Errorf("%+v were copied", copied)
	}
	wantWhole(t, "the clone that stands alone", h, own)
}

func TestDetach_leavesOtherDatabasesAlone(t *testing.T) {
	store, h := memstore.New(), newHistory(t, 44)
	db := mustOpen(t, store, memfs.New())
	mustCommit(t, h, db, 5)
	before := contents(t, store)
	copied, err := db.Detach(t.Context())
	ok(t, err)
	if copied != (remote.Usage{}) || len(contents(t, store)) != len(before) {
		t.Errorf("%+v were copied", copied)
	}
}

// TestClone_takesFewRequests clones databases with few and with many files.
func TestClone_takesFewRequests(t *testing.T) {
	for _, sizes := range []engine.Tuning{{}, {MemtableBytes: 8 << 10, TableBytes: 1 << 10}} {
		parent, own := memstore.New(), memstore.New()
		db, err := open(t, parent, memfs.New(), quick(), sizes)
		ok(t, err)
		ok(t, db.Update(func(tx *stoat.Tx) error {
			for i := range 20_000 {
				key := []byte{byte(i >> 8), byte(i)}
				if err := tx.Put(key, []byte(strings.Repeat(string(key), 20))); err != nil {
					return err
				}
			}
			return nil
		}))
		ok(t, db.Compact(t.Context()))
		ok(t, db.Close())
		d := newDoomed(t, own, parent, -1, faultstore.Answered)
		_, err = remote.Clone(t.Context(), d.own, d.parent, nil)
		ok(t, err)
		files, n := len(names(t, parent, "data/")), d.own.Count()+d.parent.Count()
		t.Logf("%d files: %d requests, %d to the clone", files, n, d.own.Count())
		if n > 25 {
			t.Errorf("a clone of %d files takes %d requests", files, n)
		}
		plain, cloned := newDoomed(t, own, parent, -1, 0), newDoomed(t, own, parent, -1, 0)
		mustRead(t, plain.parent)
		mustRead(t, remote.CloneStore(cloned.own, cloned.parent))
		if n := cloned.parent.Count(); n > 3 {
			t.Errorf("a reader makes %d requests to the parent", n)
		}
		if got, want := cloned.own.Count(), plain.parent.Count(); got > want {
			t.Errorf("a reader makes %d requests to the clone, and %d to its parent", got, want)
		}
	}
}

func TestClone_isEncryptedByItself(t *testing.T) {
	bucket, h := memstore.New(), newHistory(t, 45)
	parent := encrypted(t, bucket, 1)
	written(t, h, parent, tuned.Sizes()[1], 40)
	_, err := remote.Clone(t.Context(), memstore.New(), parent, nil)
	wantErr(t, err, stoat.ErrKey)

	inner := memstore.New()
	own := encrypted(t, inner, 2)
	_, err = remote.Clone(t.Context(), own, parent, nil)
	ok(t, err)
	ok(t, cryptstore.Rekey(t.Context(), bucket, aKey(1), aKey(3)))
	clone := remote.CloneStore(encrypted(t, inner, 2), encrypted(t, bucket, 3))
	db, err := open(t, clone, memfs.New(), *keyed(4), tuned.Sizes()[1])
	ok(t, err)
	mustCommit(t, h, db, 20)
	_, err = db.Detach(t.Context())
	ok(t, err)
	ok(t, db.Close())
	wantWhole(t, "the clone", h, encrypted(t, inner, 2))
}

func TestClone_refusesOtherStores(t *testing.T) {
	parent, h := memstore.New(), newHistory(t, 46)
	_, err := remote.Clone(t.Context(), memstore.New(), parent, nil)
	wantErr(t, err, remote.ErrNone)
	written(t, h, parent, engine.Tuning{}, 10)
	_, err = remote.Clone(t.Context(), parent, parent, nil)
	wantErr(t, err, objstore.ErrExists)
	other := memstore.New()
	written(t, newHistory(t, 47), other, engine.Tuning{}, 2)
	_, err = remote.Clone(t.Context(), other, parent, nil)
	wantErr(t, err, objstore.ErrExists)

	own := memstore.New()
	m, err := remote.Clone(t.Context(), own, parent, &remote.CloneOptions{Commit: 5})
	ok(t, err)
	if m.Commit != 5 || m.Time.IsZero() {
		t.Errorf("the clone is of %+v", m)
	}
	if again, err := remote.Clone(t.Context(), own, parent, nil); err != nil || again.Commit != 5 {
		t.Errorf("got %+v: %v", again, err)
	}
	_, err = remote.Clone(t.Context(), own, parent, &remote.CloneOptions{Commit: 6})
	wantErr(t, err, objstore.ErrExists)
	_, err = remote.Clone(t.Context(), memstore.New(), parent, &remote.CloneOptions{Commit: 99})
	wantErr(t, err, remote.ErrNotKept)
	if n := clonePins(t, parent); n != 1 {
		t.Errorf("there are %d pins", n)
	}
}
