package remote_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	storelog "github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// What a restore that did not end has left is no database, and leaves the folder to one.
func TestOpen_takesRemainsForVacant(t *testing.T) {
	for _, names := range [][]string{{"UNFINISHED-BACKUP"}, {"UNFINISHED-BACKUP", "000001.table"}} {
		files := memfs.New()
		ok(t, files.MkdirAll("db"))
		for _, name := range names {
			file, err := files.Create("db/" + name)
			ok(t, err)
			ok(t, file.Close())
		}
		store := memstore.New()
		_, err := open(t, store, files, quick(), engine.Tuning{})
		if wantErr(t, err, remote.ErrNone); strings.Count(err.Error(), remote.ErrNone.Error()) > 1 {
			t.Errorf("it says so twice: %v", err)
		}
		first := mustOpen(t, store, memfs.New())
		ok(t, first.Put([]byte("a"), nil))
		ok(t, first.Close())
		second := mustOpen(t, store, files)
		_, err = second.Get([]byte("a"))
		ok(t, err)
	}
}

// TestOpen_refusesWhatIsLeftOfAnother has objects in a store without a log, which the next database
// would take for its own.
func TestOpen_refusesWhatIsLeftOfAnother(t *testing.T) {
	local := memfs.New()
	db, err := tuned.Open(local, "db", nil, engine.Tuning{})
	ok(t, err)
	ok(t, db.Put([]byte("a"), nil))
	ok(t, db.Close())
	for _, left := range []string{
		storelog.DataName(folder.Table, 1<<storelog.EpochShift+1), "state/7ffffffffffffff0",
		"pin/before-upgrade", storelog.DraftName,
	} {
		store := memstore.New()
		ok(t, store.Create(t.Context(), left, []byte("left")))
		for _, disk := range []*memfs.FS{memfs.New(), local} {
			_, err := open(t, store, disk, quick(), engine.Tuning{})
			if wantErr(t, err, objstore.ErrExists); !strings.Contains(err.Error(), left) {
				t.Errorf("the error does not name %s: %v", left, err)
			}
		}
		if n := len(names(t, store, "")); n != 1 {
			t.Errorf("the store has %d objects", n)
		}
		ok(t, store.Delete(t.Context(), []string{left}))
		ok(t, store.Create(t.Context(), "readme", []byte("not of a database")))
		ok(t, mustOpen(t, store, memfs.New()).Close())
	}
}

// TestOpen_mayBeCalledTwiceAtTheSameTime makes a database while another process looks for what is
// left of one, which finds files, or nothing.
func TestOpen_mayBeCalledTwiceAtTheSameTime(t *testing.T) {
	for name, op := range map[string]faultstore.Op{
		"data/": faultstore.List, storelog.DraftName: faultstore.Get,
	} {
		store := memstore.New()
		var armed atomic.Bool
		armed.Store(true)
		client := at(store, op, name, &armed, func() {
			db := mustOpen(t, store, memfs.New())
			for len(names(t, store, "data/")) == 0 {
				ok(t, db.Put([]byte("a"), nil))
				ok(t, db.Flush())
				ok(t, db.Ship(t.Context()))
			}
			ok(t, db.Close())
		})
		db := mustOpen(t, client, memfs.New())
		_, err := db.Get([]byte("a"))
		if ok(t, err); armed.Load() {
			t.Error("nobody has looked")
		}
	}
}
