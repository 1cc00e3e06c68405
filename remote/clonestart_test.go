package remote_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	storelog "github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// TestClone_beginsWithWhatItIsOf asks a clone for what was before it.
func TestClone_beginsWithWhatItIsOf(t *testing.T) {
	parent, h := memstore.New(), newHistory(t, 61)
	db, err := open(t, parent, memfs.New(), quick(), engine.Tuning{})
	ok(t, err)
	mustCommit(t, h, db, 10)
	awaitTables(t, db, parent, 10)
	mustCommit(t, h, db, 10)
	ok(t, db.Close())
	end, err := logOf(t, parent).End(t.Context())
	ok(t, err)
	if end.Version.LastCommit != 10 || end.Commit != 20 {
		t.Fatalf("commit %d of %d is in tables", end.Version.LastCommit, end.Commit)
	}
	clone, own := mustClone(t, parent)
	for _, commit := range []uint64{5, 9} {
		wantErr(t, tryRestore(clone, memfs.New(), remote.RestoreOptions{Commit: commit}),
			remote.ErrNotKept)
		_, err := remote.Clone(t.Context(), memstore.New(), clone, &remote.CloneOptions{Commit: commit})
		wantErr(t, err, remote.ErrNotKept)
	}
	for _, commit := range []uint64{10, 15, 20} {
		restored := restoredAt(t, clone, remote.RestoreOptions{Commit: commit})
		h.wantExactly(t, "the copy", restored, int(commit))
	}
	info, err := remote.Inspect(t.Context(), own)
	ok(t, err)
	if info.Oldest.Commit != 20 || info.Oldest.Time.IsZero() {
		t.Errorf("the oldest commit is %+v", info.Oldest)
	}
	v, err := remote.Verify(t.Context(), clone)
	if err != nil || v.Oldest != 20 || v.Newest != 20 || v.Files != 1 || v.States != 0 {
		t.Errorf("got %+v: %v", v, err)
	}
}

// TestClone_ofADatabaseWithoutACommit has no commit that would tell folders apart: those of its
// parent have files of the same numbers.
func TestClone_ofADatabaseWithoutACommit(t *testing.T) {
	parent, copied, h := memstore.New(), memfs.New(), newHistory(t, 62)
	ok(t, mustOpen(t, parent, memfs.New()).Close())
	clone, _ := mustClone(t, parent)
	ok(t, tryRestore(parent, copied, remote.RestoreOptions{}))
	local, err := tuned.Open(copied, "db", nil, engine.Tuning{})
	ok(t, err)
	ok(t, local.Put([]byte("a"), nil))
	ok(t, local.Close())
	_, err = open(t, clone, copied, quick(), engine.Tuning{})
	wantErr(t, err, remote.ErrApart)

	wantWhole(t, "the clone", h, clone)
	db := mustOpen(t, clone, memfs.New())
	mustCommit(t, h, db, 3)
	ok(t, db.Close())
	wantWhole(t, "the clone", h, clone)
}

// TestClone_refusesWhatIsLeftOfAnother has objects in the store of the clone that it would take for
// its own.
func TestClone_refusesWhatIsLeftOfAnother(t *testing.T) {
	parent, h := memstore.New(), newHistory(t, 63)
	written(t, h, parent, engine.Tuning{}, 5)
	for _, left := range []string{
		storelog.DataName(folder.Table, 3<<storelog.EpochShift+1), "log/0000000000000002",
		"state/7ffffffffffffff0", "pin/before-upgrade",
	} {
		own := memstore.New()
		ok(t, own.Create(t.Context(), left, []byte("left")))
		_, err := remote.Clone(t.Context(), own, parent, nil)
		wantErr(t, err, objstore.ErrExists)
		if !strings.Contains(err.Error(), left) {
			t.Errorf("the error does not name %s: %v", left, err)
		}
	}
	if n := clonePins(t, parent); n > 0 {
		t.Errorf("there are %d pins", n)
	}
	own := memstore.New()
	ok(t, own.Create(t.Context(), "readme", []byte("not of a database")))
	_, err := remote.Clone(t.Context(), own, parent, nil)
	ok(t, err)
	wantWhole(t, "the clone", h, remote.CloneStore(own, parent))
}

// TestClone_leavesNothingIfItIsRefused has arguments that no try would do with.
func TestClone_leavesNothingIfItIsRefused(t *testing.T) {
	parent, own := memstore.New(), memstore.New()
	written(t, newHistory(t, 64), parent, engine.Tuning{}, 5)
	for _, o := range []remote.CloneOptions{
		{Name: strings.Repeat("x", 256)}, {Commit: 6}, {Time: time.Unix(1, 0)}, {Position: 1},
	} {
		if _, err := remote.Clone(t.Context(), own, parent, &o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	if left := names(t, own, ""); len(left) > 0 || clonePins(t, parent) > 0 {
		t.Errorf("left are %v, and %d pins", left, clonePins(t, parent))
	}
	o := remote.CloneOptions{Name: strings.Repeat("x", 255), Time: time.Time{}.Local()}
	_, err := remote.Clone(t.Context(), own, parent, &o)
	ok(t, err)
}

// TestOpen_makesNoDatabaseInTheStoreOfAClone opens one that was not made.
func TestOpen_makesNoDatabaseInTheStoreOfAClone(t *testing.T) {
	parent, own, local := memstore.New(), memstore.New(), memfs.New()
	written(t, newHistory(t, 65), parent, engine.Tuning{}, 5)
	db, err := tuned.Open(local, "db", nil, engine.Tuning{})
	ok(t, err)
	ok(t, db.Put([]byte("a"), nil))
	ok(t, db.Close())
	for _, disk := range []*memfs.FS{memfs.New(), local} {
		_, err := open(t, remote.CloneStore(own, parent), disk, quick(), engine.Tuning{})
		wantErr(t, err, remote.ErrNone)
	}
	if left := names(t, own, ""); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}

// TestDetach_countsWhatItCopies has what is copied be part of what is sent.
func TestDetach_countsWhatItCopies(t *testing.T) {
	parent, h := memstore.New(), newHistory(t, 66)
	written(t, h, parent, tuned.Sizes()[1], 40)
	clone, _ := mustClone(t, parent)
	db := mustOpen(t, clone, memfs.New())
	before := db.Status()
	copied, err := db.Detach(t.Context())
	ok(t, err)
	after := db.Status()
	if copied.Bytes == 0 || after.Bytes-before.Bytes < uint64(copied.Bytes) ||
		after.Requests-before.Requests < 2*uint64(copied.Objects) {
		t.Errorf("%+v were copied, and the status was %+v, and is %+v", copied, before, after)
	}
	ok(t, db.Close())
}
