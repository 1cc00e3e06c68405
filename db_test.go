package stoat_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

var errTest = errors.New("error of the test")

func TestOpen_keepsWhatWasCommitted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "db")
	for i, opts := range []*stoat.Options{
		nil, {Sync: stoat.SyncNever}, {Compression: stoat.CompressionZstd},
	} {
		db, err := stoat.Open(dir, opts)
		ok(t, err)
		if i > 0 {
			view(t, db, func(tx *stoat.Tx) {
				wantKeys(t, tx, "a", "b")
				wantKeys(t, bucket(t, bucket(t, tx, "b"), "c"), "d")
			})
		}
		update(t, db, func(tx *stoat.Tx) {
			put(t, tx, "a", "b")
			b, err := tx.CreateBucketIfNotExists([]byte("b"))
			ok(t, err)
			c, err := b.CreateBucketIfNotExists([]byte("c"))
			ok(t, err)
			put(t, c, "d")
		})
		ok(t, db.Close())
	}
}

func TestOpen_lockedDirectorySaysWhoAndWhatToDo(t *testing.T) {
	dir := t.TempDir()
	db, err := stoat.Open(dir, nil)
	ok(t, err)
	defer func() { ok(t, db.Close()) }()
	_, err = stoat.Open(dir, nil)
	wantErr(t, err, stoat.ErrLocked)
	for _, part := range []string{dir, "LockTimeout"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not mention %s", err, part)
		}
	}
}

func TestOpen_readOnlyNeedsADatabase(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "absent")
	_, err := stoat.Open(dir, &stoat.Options{ReadOnly: true})
	if err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("error %v, want one that names %s", err, dir)
	}
}

func TestOpen_readOnlyReadsAndRefusesToWrite(t *testing.T) {
	fs := memfs.New()
	db := openOn(t, fs, nil)
	update(t, db, func(tx *stoat.Tx) { put(t, tx, "a") })
	ok(t, db.Close())
	db = openOn(t, fs, &stoat.Options{ReadOnly: true})
	view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx, "a") })
	wantErr(t, db.Put([]byte("b"), nil), stoat.ErrReadOnly)
	_, err := db.Begin(true)
	wantErr(t, err, stoat.ErrReadOnly)
	ok(t, db.Close())
}

func TestOpen_leavesAnEmptyDatabaseThatNobodyWroteTo(t *testing.T) {
	fs := memfs.New()
	db := openOn(t, fs, nil)
	names, err := fs.List("db")
	ok(t, err)
	equal(t, strings.Join(names, " "), "LOCK")
	ok(t, db.Check(t.Context()))
	ok(t, tuned.Backup(t.Context(), db, fs, "copy", false))
	ok(t, db.Close())
	for _, dir := range []string{"db", "copy"} {
		db, err := tuned.Open(fs, dir, &stoat.Options{ReadOnly: true}, engine.Tuning{})
		ok(t, err)
		view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx) })
		ok(t, db.Close())
	}
}

func TestOpen_refusesSenselessOptions(t *testing.T) {
	tests := map[string]stoat.Options{
		"option Sync is 9: it must be SyncAlways or":       {Sync: 9},
		"option Compression is 9: it must be":              {Compression: 9},
		"option MemoryLimit is -1: it must be 0, which":    {MemoryLimit: -1},
		"option MemoryLimit is 1: it must be 0, which":     {MemoryLimit: 1},
		"option MemoryLimit is 2097151: it must be 0":      {MemoryLimit: 2<<20 - 1},
		"option ValueThreshold is 1: it must be 0, which":  {ValueThreshold: 1},
		"option ValueThreshold is 63: it must be 0, which": {ValueThreshold: 63},
		"option LockTimeout is -1s: it must be 0, which":   {LockTimeout: -time.Second},
	}
	for name, opts := range tests {
		t.Run(name, func(t *testing.T) {
			for _, open := range []func() (*stoat.DB, error){
				func() (*stoat.DB, error) { return stoat.Open(t.TempDir(), &opts) },
				func() (*stoat.DB, error) { return stoat.OpenMemory(&opts) },
			} {
				if _, err := open(); err == nil || !strings.Contains(err.Error(), name) {
					t.Errorf("error %v, want one with %q", err, name)
				}
			}
		})
	}
}

func TestOpenMemory_readOnlyIsRefused(t *testing.T) {
	_, err := stoat.OpenMemory(&stoat.Options{ReadOnly: true})
	wantErr(t, err, stoat.ErrReadOnly)
}

func TestUpdate_errorRollsBack(t *testing.T) {
	db := memory(t)
	wantErr(t, db.Update(func(tx *stoat.Tx) error {
		put(t, tx, "a")
		return errTest
	}), errTest)
	view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx) })
	update(t, db, func(tx *stoat.Tx) { put(t, tx, "b") })
}

func TestUpdate_panicRollsBackAndGoesOn(t *testing.T) {
	db := memory(t)
	func() {
		defer func() { equal(t, recover(), any(errTest)) }()
		_ = db.Update(func(tx *stoat.Tx) error {
			put(t, tx, "a")
			panic(errTest)
		})
	}()
	view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx) })
	update(t, db, func(tx *stoat.Tx) { put(t, tx, "b") })
}

func TestUpdate_goexitRollsBack(t *testing.T) {
	db := memory(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = db.Update(func(tx *stoat.Tx) error {
			put(t, tx, "a")
			runtime.Goexit()
			return nil
		})
	}()
	<-done
	view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx) })
	update(t, db, func(tx *stoat.Tx) { put(t, tx, "b") })
}

func TestView_panicEndsTheTransactionAndGoesOn(t *testing.T) {
	db := memory(t)
	var stale *stoat.Tx
	func() {
		defer func() { equal(t, recover(), any(errTest)) }()
		_ = db.View(func(tx *stoat.Tx) error {
			stale = tx
			panic(errTest)
		})
	}()
	wantErr(t, reads["Get"](stale), stoat.ErrTxClosed)
}

// mapFault is what the runtime panics with when memory behind a map cannot be read.
type mapFault struct{}

func (mapFault) Error() string { return "unexpected fault address" }
func (mapFault) RuntimeError() {}
func (mapFault) Addr() uintptr { return 1 }

func TestViewAndUpdate_turnAFaultIntoAnError(t *testing.T) {
	db := memory(t)
	failing := func(*stoat.Tx) error { panic(mapFault{}) }
	wantErr(t, db.View(failing), mapFault{})
	wantErr(t, db.Update(failing), mapFault{})
	update(t, db, func(tx *stoat.Tx) { put(t, tx, "a") })
}

// A file that shrinks under its map faults when it is touched, as an unreadable sector does.
func TestClose_survivesAFaultInItsMerge(t *testing.T) {
	dir := t.TempDir()
	db, err := stoat.Open(dir, &stoat.Options{
		Compression: stoat.CompressionNone, ValueThreshold: -1,
	})
	ok(t, err)
	value := make([]byte, 40_000)
	update(t, db, func(tx *stoat.Tx) {
		for i := range 100 {
			ok(t, tx.Put(benchKey(i), value))
		}
	})
	ok(t, db.Flush())
	view(t, db, func(tx *stoat.Tx) {
		for range tx.Scan(stoat.Range{}) { // now all blocks are known to be good
			continue
		}
	})
	tables, err := filepath.Glob(filepath.Join(dir, "*.table"))
	ok(t, err)
	equal(t, len(tables), 1)
	ok(t, os.Truncate(tables[0], 4096))
	if err := db.View(func(tx *stoat.Tx) error {
		v, err := tx.Get(benchKey(99))
		if err == nil {
			equal(t, v[39_999], 0)
		}
		return err
	}); err == nil {
		if runtime.GOOS == "linux" && strconv.IntSize == 64 {
			t.Fatal("a value was read from behind the end of its file")
		}
		t.Skip("files are not mapped here")
	}
	ok(t, db.Put(benchKey(50), []byte("new")))
	ok(t, db.Close())
	if left, err := filepath.Glob(filepath.Join(dir, "*.table")); err != nil || len(left) != 2 {
		t.Errorf("tables %v (%v), want the old one and that of the last commit", left, err)
	}
}

func TestView_returnsWhatTheFunctionReturns(t *testing.T) {
	wantErr(t, memory(t).View(func(*stoat.Tx) error { return errTest }), errTest)
}

func TestViewAndUpdate_returnTheErrorOfALoop(t *testing.T) {
	db := withBucket(t)
	wantErr(t, db.Update(func(tx *stoat.Tx) error {
		b := bucket(t, tx, "b")
		ok(t, tx.DeleteBucket([]byte("b")))
		keysOf(b.Keys(stoat.Range{}))
		return nil
	}), stoat.ErrBucketNotFound)
	view(t, db, func(tx *stoat.Tx) { wantKeys(t, bucket(t, tx, "b"), "a") })
}

func TestUpdate_commitInsideIsAnError(t *testing.T) {
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) {
		put(t, tx, "a")
		if err := tx.Commit(); err == nil || !strings.Contains(err.Error(), "Update") {
			t.Errorf("error %v, want one that says who commits", err)
		}
		put(t, tx, "b")
	})
	view(t, db, func(tx *stoat.Tx) {
		wantKeys(t, tx, "a", "b")
		equal(t, tx.Commit() != nil, true)
		wantKeys(t, tx, "a", "b")
	})
}

func TestUpdate_rollbackInsideDiscardsAndIsReported(t *testing.T) {
	db := memory(t)
	rolledBack := func(result error) error {
		return db.Update(func(tx *stoat.Tx) error {
			put(t, tx, "a")
			ok(t, tx.Rollback())
			wantErr(t, tx.Put([]byte("b"), nil), stoat.ErrTxClosed)
			return result
		})
	}
	wantErr(t, rolledBack(nil), stoat.ErrTxClosed)
	wantErr(t, rolledBack(errTest), errTest)
	view(t, db, func(tx *stoat.Tx) { wantKeys(t, tx) })
}

func TestView_rollbackInsideEndsTheTransaction(t *testing.T) {
	view(t, withBucket(t), func(tx *stoat.Tx) {
		ok(t, tx.Rollback())
		wantErr(t, reads["Get"](tx), stoat.ErrTxClosed)
	})
}

func TestView_nestsWithUpdateInside(t *testing.T) {
	db := memory(t)
	view(t, db, func(outer *stoat.Tx) {
		update(t, db, func(tx *stoat.Tx) { put(t, tx, "a") })
		view(t, db, func(inner *stoat.Tx) { wantKeys(t, inner, "a") })
		wantKeys(t, outer)
	})
}

func TestDB_oneShotFormsWorkOnTheRoot(t *testing.T) {
	db := memory(t)
	ok(t, db.Put([]byte("a"), []byte("1")))
	v, err := db.Get([]byte("a"))
	ok(t, err)
	equal(t, string(v), "1")
	v[0] = 'x'
	v, err = db.Get([]byte("a"))
	ok(t, err)
	equal(t, string(v), "1")
	ok(t, db.Delete([]byte("a")))
	ok(t, db.Delete([]byte("a")))
	_, err = db.Get([]byte("a"))
	wantErr(t, err, stoat.ErrNotFound)
	wantErr(t, db.Put(nil, nil), stoat.ErrInvalidKey)
	wantErr(t, db.Delete(nil), stoat.ErrInvalidKey)
}

func TestClose_everythingButOpenReadersGetsErrClosed(t *testing.T) {
	db := withBucket(t)
	reader := begin(t, db, false)
	ok(t, db.Close())
	ok(t, db.Close())
	wantKeys(t, reader, "a")
	nothing := func(*stoat.Tx) error { t.Error("transaction in a closed database"); return nil }
	_, getErr := db.Get([]byte("a"))
	_, readErr := db.Begin(false)
	_, writeErr := db.Begin(true)
	for name, err := range map[string]error{
		"View":         db.View(nothing),
		"Update":       db.Update(nothing),
		"Begin(false)": readErr,
		"Begin(true)":  writeErr,
		"Get":          getErr,
		"Put":          db.Put([]byte("a"), nil),
		"Delete":       db.Delete([]byte("a")),
		"Sync":         db.Sync(),
		"Flush":        db.Flush(),
	} {
		t.Run(name, func(t *testing.T) { wantErr(t, err, stoat.ErrClosed) })
	}
	wantKeys(t, reader, "a")
}

func TestFlush_changesNothingThatCanBeRead(t *testing.T) {
	db := withBucket(t)
	reader := begin(t, db, false)
	ok(t, db.Flush())
	update(t, db, func(tx *stoat.Tx) { ok(t, tx.Delete([]byte("a"))); put(t, tx, "z") })
	wantKeys(t, reader, "a")
	ok(t, db.Flush())
	view(t, db, func(tx *stoat.Tx) {
		wantKeys(t, tx, "z")
		wantKeys(t, bucket(t, tx, "b"), "a")
	})
	wantKeys(t, reader, "a")
	wantKeys(t, bucket(t, reader, "b"), "a")
}

func TestSync_makesUnsyncedCommitsDurable(t *testing.T) {
	disk := memfs.NewCrashable()
	db := openOn(t, disk, &stoat.Options{Sync: stoat.SyncNever})
	ok(t, db.Put([]byte("a"), []byte("v-a")))
	ok(t, db.Sync())
	ok(t, db.Put([]byte("b"), []byte("v-b")))
	crashed := openOn(t, disk.CrashKeepNone(), nil)
	view(t, crashed, func(tx *stoat.Tx) { wantKeys(t, tx, "a") })
	ok(t, crashed.Close())
	ok(t, db.Close())
}

func TestClose_saysThatUnsyncedCommitsMayBeLost(t *testing.T) {
	broken := errors.New("broken on purpose")
	disk := faultfs.New(memfs.New(), func(op faultfs.Op) error {
		if op.Kind == faultfs.Sync && strings.HasSuffix(op.Name, ".log") {
			return broken
		}
		return nil
	})
	db := openOn(t, disk, &stoat.Options{Sync: stoat.SyncNever})
	ok(t, db.Put([]byte("a"), []byte("v-a")))
	wantErr(t, db.Sync(), stoat.ErrPoisoned)
	wantErr(t, db.Err(), stoat.ErrPoisoned)
	err := db.Close()
	wantErr(t, err, stoat.ErrPoisoned)
	wantErr(t, err, broken)
	ok(t, db.Close())
}

func TestStats_countsWhatHappened(t *testing.T) {
	db := openOn(t, memfs.New(), nil)
	update(t, db, func(tx *stoat.Tx) { put(t, tx, "a", "b", "c") })
	s := db.Stats()
	equal(t, s.Commits, 1)
	equal(t, s.Entries, 3)
	equal(t, s.Tables, 0)
	equal(t, s.Syncs > 0 && s.MemtableBytes > 0, true)
	ok(t, db.Flush())
	s = db.Stats()
	equal(t, s.Flushes, 1)
	equal(t, s.Entries, 3)
	equal(t, s.Tables, 1)
	equal(t, s.TableBytes > 0 && s.RawBytes > 0, true)
	ok(t, db.Close())
	equal(t, db.Stats().Tables, 1)
}
