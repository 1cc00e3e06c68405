package boltcompat_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	bbolt "go.etcd.io/bbolt"

	"github.com/stoatdb/stoat"
	bolt "github.com/stoatdb/stoat/boltcompat"
)

// create returns an open database at a temporary path, with a bucket and a key.
func create(t *testing.T) *bolt.DB {
	t.Helper()
	db := open(t, filepath.Join(t.TempDir(), "db"), nil)
	put(t, db, "key", "value")
	return db
}

func open(t *testing.T, path string, options *bolt.Options) *bolt.DB {
	t.Helper()
	db, err := bolt.Open(path, 0o600, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func put(t *testing.T, db *bolt.DB, key, value string) {
	t.Helper()
	err := db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte("bucket"))
		if err != nil {
			return err
		}
		return b.Put([]byte(key), []byte(value))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func wantValue(t *testing.T, db *bolt.DB, key, want string) {
	t.Helper()
	err := db.View(func(tx *bolt.Tx) error {
		if got := tx.Bucket([]byte("bucket")).Get([]byte(key)); string(got) != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestOpen_leavesFileOfBoltAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	real, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := real.Close(); err != nil {
		t.Fatal(err)
	}
	before := read(t, path)
	for _, readOnly := range []bool{false, true} {
		_, err = bolt.Open(path, 0o600, &bolt.Options{ReadOnly: readOnly})
		advice := "stoat import -bolt " + path
		if !errors.Is(err, bolt.ErrInvalid) || !strings.Contains(err.Error(), advice) {
			t.Errorf("the error is %v, want one that names the import", err)
		}
	}
	if !bytes.Equal(read(t, path), before) {
		t.Error("the file has changed")
	}
}

func TestOpen_takesEmptyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	write(t, path, nil)
	_, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	if !errors.Is(err, bolt.ErrInvalid) {
		t.Errorf("read-only, the error is %v, want ErrInvalid", err)
	}
	put(t, open(t, path, nil), "key", "value")
}

func TestOpen_refusesOtherDirectory(t *testing.T) {
	path := t.TempDir()
	write(t, filepath.Join(path, "000001.table"), []byte("not a table"))
	if _, err := bolt.Open(path, 0o600, nil); !errors.Is(err, bolt.ErrInvalid) &&
		!errors.Is(err, bolt.ErrChecksum) {
		t.Errorf("the error is %v, want one that says that this is no database", err)
	}
}

func TestOpen_waitsForAnotherOnlyUntilTimeout(t *testing.T) {
	db := create(t)
	var logged bytes.Buffer
	logger := &bolt.DefaultLogger{Logger: log.New(&logged, "", 0)}
	_, err := bolt.Open(db.Path(), 0o600, &bolt.Options{Timeout: 1, Logger: logger})
	if err != bolt.ErrTimeout { // as programs compare
		t.Errorf("the error is %v, want ErrTimeout itself", err)
	}
	if !strings.Contains(logged.String(), stoat.ErrLocked.Error()) {
		t.Errorf("the log does not say who has the database open: %s", &logged)
	}
}

func TestCopyFile_opensAsDatabase(t *testing.T) {
	db := create(t)
	path := filepath.Join(t.TempDir(), "copy")
	copyFile(t, db, path)

	reader := open(t, path, &bolt.Options{ReadOnly: true})
	wantValue(t, reader, "key", "value")
	if err := reader.Close(); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		t.Fatalf("opening the copy read-only changed it: %v", err)
	}

	writer := open(t, path, nil)
	wantValue(t, writer, "key", "value")
	put(t, writer, "key", "another")
	wantValue(t, db, "key", "value")
}

func copyFile(t *testing.T, db *bolt.DB, path string) {
	t.Helper()
	err := db.View(func(tx *bolt.Tx) error { return tx.CopyFile(path, 0o600) })
	if err != nil {
		t.Fatal(err)
	}
}

// A crash may happen before or after the file of a copy has gone, and leaves a directory beside it.
func TestOpen_finishesWhatCrashInterrupted(t *testing.T) {
	db := create(t)
	path := filepath.Join(t.TempDir(), "copy")
	copyFile(t, db, path)

	dir := path + ".boltcompat-restore"
	write(t, filepath.Join(dir, "part", "000001.table"), []byte("half a table"))
	restored := open(t, path, nil)
	wantValue(t, restored, "key", "value")
	if err := restored.Close(); err != nil {
		t.Fatal(err)
	}
	wantGone(t, dir)

	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "copy"), nil)
	if err := os.Rename(path, filepath.Join(dir, "db")); err != nil {
		t.Fatal(err)
	}
	wantValue(t, open(t, path, nil), "key", "value")
	wantGone(t, dir)
}

func wantGone(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", path, err)
	}
}

// After the crash, somebody deletes the file of the copy, to begin with an empty database.
func TestOpen_restoresNothingFromDeletedCopy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "copy")
	old := open(t, path, nil)
	put(t, old, "key", "old")
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path+".boltcompat-restore", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, filepath.Join(path+".boltcompat-restore", "db")); err != nil {
		t.Fatal(err)
	}
	err := open(t, path, nil).View(func(tx *bolt.Tx) error {
		if tx.Bucket([]byte("bucket")) != nil {
			t.Error("the database has what was in the deleted copy")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestOpen_ofOneCopyByManyAtOnce(t *testing.T) {
	db := create(t)
	path := filepath.Join(t.TempDir(), "copy")
	copyFile(t, db, path)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			db, err := bolt.Open(path, 0o600, nil)
			if err != nil {
				t.Errorf("opening the copy: %v", err)
				return
			}
			wantValue(t, db, "key", "value")
			err = errors.Join(db.Update(func(tx *bolt.Tx) error {
				_, err := tx.CreateBucket([]byte{byte(i)})
				return err
			}), db.Close())
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	err := open(t, path, nil).View(func(tx *bolt.Tx) error {
		for i := range 4 {
			if tx.Bucket([]byte{byte(i)}) == nil {
				t.Errorf("what opener %d has written is gone", i)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	wantGone(t, path+".boltcompat-restore")
}

func TestOpen_removesCopiesLeftByCrash(t *testing.T) {
	db := create(t)
	path := db.Path()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(path+".boltcompat-copies", "123", "backup"), []byte("half a backup"))
	open(t, path, nil)
	wantGone(t, path+".boltcompat-copies")
}

func TestOpen_leavesDamagedCopyAlone(t *testing.T) {
	db := create(t)
	path := filepath.Join(t.TempDir(), "copy")
	copyFile(t, db, path)
	damaged := read(t, path)
	damaged = damaged[:4000]
	write(t, path, damaged)
	if _, err := bolt.Open(path, 0o600, nil); !errors.Is(err, bolt.ErrChecksum) {
		t.Errorf("the error is %v, want ErrChecksum", err)
	}
	if !bytes.Equal(read(t, path), damaged) {
		t.Error("the file has changed")
	}
	wantGone(t, path+".boltcompat-restore")
}

func TestWriteTo_writesWhatTransactionSees(t *testing.T) {
	db := create(t)
	tx, err := db.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	put(t, db, "key", "later")
	var out bytes.Buffer
	n, err := tx.WriteTo(&out)
	if err != nil || n != tx.Size() || n != int64(out.Len()) {
		t.Errorf("WriteTo wrote %d bytes and returned %d, %v; Size is %d", out.Len(), n, err, tx.Size())
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "copy")
	write(t, path, out.Bytes())
	wantValue(t, open(t, path, nil), "key", "value")
	wantNoCopy(t, db)
}

func TestWriteTo_includesWritesOfTransaction(t *testing.T) {
	db := create(t)
	path := filepath.Join(t.TempDir(), "copy")
	err := db.Update(func(tx *bolt.Tx) error {
		if err := tx.Bucket([]byte("bucket")).Put([]byte("key"), []byte("mine")); err != nil {
			return err
		}
		return tx.CopyFile(path, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	wantValue(t, open(t, path, nil), "key", "mine")
}

func TestWriteTo_hasAnnouncedSizeOfLargeDatabase(t *testing.T) {
	db := create(t)
	put(t, db, "large", strings.Repeat("some text that compresses ", 100_000))
	err := db.View(func(tx *bolt.Tx) error {
		size := tx.Size()
		n, err := tx.WriteTo(io.Discard)
		if n != size {
			t.Errorf("WriteTo wrote %d bytes, Size was %d", n, size)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
