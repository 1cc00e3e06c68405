package remote_test

import (
	"testing"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
)

// TestClone_beginsWithWhatItIsOf asks a clone for what was before it.
func TestClone_beginsWithWhatItIsOf(t *testing.T) {
	parent, h := memstore.New(), newHistory(t, 61)
	db, err := open(t, parent, memfs.New(), quick(), engine.Tuning{})
	ok(t, err)
	mustCommit(t, h, db, 10)
	ok(t, db.Flush())
	for flushed := false; !flushed; {
		end, err := logOf(t, parent).End(t.Context())
		ok(t, err)
		flushed = end.Version.LastCommit == 10
	}
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
