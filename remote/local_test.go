package remote_test

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/tools/salvage"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// localLimit is less than a history takes.
const localLimit = 2 << 10

// limited is options with a limit of the folder.
func limited() remote.Options {
	o := quick()
	o.LocalBytes, o.CacheBytes = localLimit, 1<<20
	return o
}

// openLimited opens a database with a limit of its folder.
func openLimited(
	t testing.TB, store objstore.Store, files vfs.FS, tuning engine.Tuning,
) *remote.DB {
	t.Helper()
	db, err := open(t, store, files, limited(), tuning)
	ok(t, err)
	t.Cleanup(func() { _ = db.Close() }) // what it returns is part of some tests
	return db
}

// inFolder returns how many bytes the tables and value files in the folder have.
func inFolder(t testing.TB, files vfs.FS) (total uint64) {
	t.Helper()
	names, err := files.List("db")
	ok(t, err)
	for _, name := range names {
		if kind, _ := folder.Parse(name); kind != folder.Table && kind != folder.Values {
			continue
		}
		file, err := files.Open(filepath.Join("db", name))
		if err != nil {
			continue // it is removed just now
		}
		size, err := file.Size()
		ok(t, err)
		ok(t, file.Close())
		total += uint64(size)
	}
	return total
}

// awaitLimit returns once the folder keeps to the limit.
func awaitLimit(t testing.TB, db *remote.DB, files vfs.FS) {
	t.Helper()
	for db.Status().LocalBytes > localLimit || inFolder(t, files) > localLimit {
		ok(t, db.Status().Unevicted)
		runtime.Gosched()
	}
}

// TestLocalBytes_boundsTheFolder fills a database of several times the limit, and uses it in every
// way.
func TestLocalBytes_boundsTheFolder(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	for i, sizes := range tuned.Sizes()[:3] {
		store, disk, h := memstore.New(), memfs.NewCrashable(), newHistory(t, seed+uint64(i))
		db, most := openLimited(t, store, disk, sizes), uint64(0)
		for range 10 {
			mustCommit(t, h, db, 20)
			ok(t, db.Flush())
			awaitLimit(t, db, disk)
			h.wantAt(t, "the database", db.DB, len(h.states)-1)
			most = max(most, db.Status().RemoteBytes)
		}
		if most == 0 {
			t.Errorf("sizes %d: everything fits into the folder", i)
		}
		ok(t, db.CheckQuick(t.Context()))
		ok(t, db.Check(t.Context()))
		wantBackups(t, h, db, disk)
		ok(t, db.Close())
		copied := disk.CrashKeepAll()

		db = openLimited(t, store, disk, sizes)
		h.wantAt(t, "the folder", db.DB, len(h.states)-1)
		mustCommit(t, h, db, 20)
		ok(t, db.Compact(t.Context()))
		awaitLimit(t, db, disk)
		ok(t, db.Ship(t.Context()))
		h.wantAt(t, "a copy", restored(t, store), len(h.states)-1)
		_, err := open(t, store, copied, limited(), sizes)
		wantErr(t, err, remote.ErrApart)

		next := openLimited(t, store, memfs.New(), sizes)
		wantErr(t, db.Confirm(t.Context()), remote.ErrFenced)
		h.wantAt(t, "another machine", next.DB, len(h.states)-1)
		ok(t, next.Close())
	}
}

// wantBackups wants backups of a database, on its own disk, to have all of it.
func wantBackups(t testing.TB, h *history, db *remote.DB, disk vfs.FS) {
	t.Helper()
	ok(t, tuned.Backup(t.Context(), db.DB, disk, "copied", false))
	ok(t, tuned.Backup(t.Context(), db.DB, disk, "linked", true))
	var stream bytes.Buffer
	ok(t, db.BackupTo(t.Context(), &stream))
	ok(t, tuned.RestoreFrom(t.Context(), &stream, disk, "streamed"))
	for _, dir := range []string{"copied", "linked", "streamed"} {
		backup, err := tuned.Open(disk, dir, nil, engine.Tuning{})
		ok(t, err)
		h.wantAt(t, dir, backup, len(h.states)-1)
		ok(t, backup.Close())
	}
}

// TestLocalBytes_ofACopiedFolder opens a copy of a folder that lacks files, in its place.
func TestLocalBytes_ofACopiedFolder(t *testing.T) {
	store, disk, h := memstore.New(), memfs.NewCrashable(), newHistory(t, rand.Uint64())
	db := openLimited(t, store, disk, small())
	mustCommit(t, h, db, 50)
	ok(t, db.Flush())
	awaitLimit(t, db, disk)
	ok(t, db.Close())
	db = mustOpen(t, store, disk.CrashKeepAll())
	h.wantAt(t, "a copy of the folder", db.DB, 50)
}

// TestLocalBytes_ofAClone has files in the folder, in the store, and in that of the parent.
func TestLocalBytes_ofAClone(t *testing.T) {
	parent, disk, h := memstore.New(), memfs.New(), newHistory(t, rand.Uint64())
	written(t, h, parent, small(), 30)
	clone, own := mustClone(t, parent)
	db := openLimited(t, clone, disk, small())
	mustCommit(t, h, db, 30)
	ok(t, db.Flush())
	awaitLimit(t, db, disk)
	h.wantAt(t, "the clone", db.DB, 60)
	_, err := db.Detach(t.Context())
	ok(t, err)
	ok(t, db.Close())
	db = openLimited(t, own, disk, small())
	awaitLimit(t, db, disk)
	h.wantAt(t, "the clone that stands alone", db.DB, 60)
}

func TestLocalBytes_ofAnEncryptedFolder(t *testing.T) {
	store, disk, h := encrypted(t, memstore.New(), 1), memfs.New(), newHistory(t, rand.Uint64())
	o := limited()
	o.Database = &stoat.Options{Key: aKey(2)}
	for at := 30; at <= 90; at += 30 {
		db, err := open(t, store, disk, o, small())
		ok(t, err)
		mustCommit(t, h, db, 30)
		ok(t, db.Flush())
		for s := db.Status(); s.LocalBytes > localLimit || s.RemoteBytes == 0; s = db.Status() {
			ok(t, s.Unevicted) // the files themselves are larger
			runtime.Gosched()
		}
		h.wantAt(t, "the database", db.DB, at)
		ok(t, db.Check(t.Context()))
		ok(t, db.Close())
	}
}

// resting is sizes with which a database has many files, and nothing is compacted.
func resting() engine.Tuning {
	return engine.Tuning{
		TableBytes: 1 << 10, BlockBytes: 256, YoungRuns: 100, IdleAfter: time.Hour, CloseBytes: 1,
	}
}

// TestLocalBytes_comesAndGoes opens a folder without a limit, with one, and without.
func TestLocalBytes_comesAndGoes(t *testing.T) {
	store, disk, h := memstore.New(), memfs.New(), newHistory(t, rand.Uint64())
	db, err := open(t, store, disk, quick(), resting())
	ok(t, err)
	mustCommit(t, h, db, 50)
	if s := db.Status(); s.RemoteBytes != 0 {
		t.Errorf("without a limit, %d bytes are only in the store", s.RemoteBytes)
	}
	ok(t, db.Close())

	db = openLimited(t, store, disk, resting())
	awaitLimit(t, db, disk)
	h.wantAt(t, "with a limit, the database", db.DB, 50)
	ok(t, db.Close())
	_, err = tuned.Open(disk, "db", nil, engine.Tuning{})
	if wantErr(t, err, stoat.ErrCorrupt); !strings.Contains(err.Error(), "package remote") {
		t.Errorf("the error does not say how to open the folder: %v", err)
	}

	db, err = open(t, store, disk, quick(), small())
	ok(t, err)
	h.wantAt(t, "without a limit again, the database", db.DB, 50)
	mustCommit(t, h, db, 50)
	h.wantAt(t, "without a limit again, the database", db.DB, 100)
	ok(t, db.Close())
	h.wantAt(t, "a copy", restored(t, store), 100)
}

// TestLocalBytes_waitsForTheStore has a store that does not let anybody read files.
func TestLocalBytes_waitsForTheStore(t *testing.T) {
	var down atomic.Bool
	down.Store(true)
	client := faultstore.NewServer(memstore.New()).Client(func(r faultstore.Request) faultstore.Fate {
		if r.Op == faultstore.Get && strings.HasPrefix(r.Name, "data/") && down.Load() {
			return faultstore.Unavailable
		}
		return faultstore.Answered
	})
	disk, h := memfs.New(), newHistory(t, rand.Uint64())
	db := openLimited(t, client, disk, small())
	for db.Status().Unevicted == nil {
		mustCommit(t, h, db, 10)
		ok(t, db.Flush())
	}
	if s := db.Status(); s.RemoteBytes > 0 {
		t.Errorf("%d bytes are not in the folder", s.RemoteBytes)
	}
	h.wantAt(t, "the database", db.DB, len(h.states)-1)
	down.Store(false)
	for db.Status().Unevicted != nil {
		runtime.Gosched()
	}
	awaitLimit(t, db, disk)
	h.wantAt(t, "the database", db.DB, len(h.states)-1)
}

// TestLocalBytes_leavesFilesToOpenTransactions has a transaction that has read everything before
// the files are removed, and a store that does not answer any more.
func TestLocalBytes_leavesFilesToOpenTransactions(t *testing.T) {
	store, disk, read := memstore.New(), memfs.New(), make(chan struct{})
	db, err := open(t, store, disk, quick(), smallTables())
	ok(t, err)
	load(t, db)
	for !inTables(t, store, db) {
		runtime.Gosched()
	}
	ok(t, db.Close())

	var down atomic.Bool
	client := faultstore.NewServer(store).Client(func(r faultstore.Request) faultstore.Fate {
		if r.Op != faultstore.Get || !strings.HasPrefix(r.Name, "data/") {
			return faultstore.Answered
		}
		if <-read; down.Load() {
			return faultstore.Failed
		}
		return faultstore.Answered
	})
	o := limited()
	o.LocalBytes, o.Patience = 1, time.Millisecond
	db, err = open(t, client, disk, o, smallTables())
	ok(t, err)
	tx := begin(t, db)
	wantLoaded(t, tx, 1000)
	close(read)
	for inFolder(t, disk) > 0 {
		ok(t, db.Status().Unevicted)
		runtime.Gosched()
	}
	down.Store(true)
	wantLoaded(t, tx, 1000)
	ok(t, db.Close())
	wantLoaded(t, tx, 1000)
}

// TestLocalBytes_keepsTheCatalog writes to a bucket while the store lets nobody read files.
func TestLocalBytes_keepsTheCatalog(t *testing.T) {
	var down atomic.Bool
	client := faultstore.NewServer(memstore.New()).Client(func(r faultstore.Request) faultstore.Fate {
		if r.Op == faultstore.Get && strings.HasPrefix(r.Name, "data/") && down.Load() {
			return faultstore.Failed
		}
		return faultstore.Answered
	})
	o := limited()
	o.LocalBytes, o.Patience = 1, time.Millisecond
	db, err := open(t, client, memfs.New(), o, resting())
	ok(t, err)
	put := func(i int) {
		t.Helper()
		ok(t, db.Update(func(tx *stoat.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("bucket"))
			if err != nil {
				return err
			}
			return b.Put(largeKey(i), largeValue(i, 1000))
		}))
	}
	for i := range 10 {
		put(i)
	}
	ok(t, db.Flush())
	for db.Status().RemoteBytes < 10_000 {
		ok(t, db.Status().Unevicted)
		runtime.Gosched()
	}
	down.Store(true)
	put(10)
	if db.Status().LocalBytes == 0 {
		t.Error("the folder has no catalog")
	}
	ok(t, db.Close())
}

// TestLocalBytes_leavesTheRestToSalvage has a writer that is replaced, and a commit that only its
// folder has, which lacks files.
func TestLocalBytes_leavesTheRestToSalvage(t *testing.T) {
	store, disk, h := memstore.New(), memfs.New(), newHistory(t, rand.Uint64())
	db := openLimited(t, store, disk, resting())
	mustCommit(t, h, db, 50)
	ok(t, db.Flush())
	awaitLimit(t, db, disk)
	mustCommit(t, h, mustOpen(t, store, memfs.New()), 1)
	ok(t, db.Put([]byte("lost"), []byte("and found")))
	wantErr(t, db.Close(), remote.ErrUnshipped)
	_, err := open(t, store, disk, quick(), resting())
	wantErr(t, err, remote.ErrApart)
	_, err = tuned.Salvage(t.Context(), disk, "db", "salvaged", salvage.Sizes{})
	ok(t, err)
	saved, err := tuned.Open(disk, "salvaged", nil, engine.Tuning{})
	ok(t, err)
	value, err := saved.Get([]byte("lost"))
	if ok(t, err); string(value) != "and found" {
		t.Errorf("the commit has %q", value)
	}
	ok(t, saved.Close())
}
