package boltcompat_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	bolt "github.com/stoatdb/stoat/boltcompat"
)

func TestCompact_leavesDestinationUsableIfSourceIsDamaged(t *testing.T) {
	src := open(t, damaged(t), nil)
	dst := open(t, filepath.Join(t.TempDir(), "db"), nil)
	if err := bolt.Compact(dst, src, 10_000); !errors.Is(err, bolt.ErrChecksum) {
		t.Errorf("Compact returns %v, want ErrChecksum", err)
	}
	put(t, dst, "key", "the writer is not stuck") // nor is Close
}

func TestWriteTo_closesItsCopyIfDatabaseIsDamaged(t *testing.T) {
	db := open(t, damaged(t), nil)
	err := db.Update(func(tx *bolt.Tx) error {
		_, err := tx.WriteTo(io.Discard)
		return err
	})
	if !errors.Is(err, bolt.ErrChecksum) {
		t.Errorf("WriteTo returns %v, want ErrChecksum", err)
	}
	wantNoCopy(t, db)
}

// wantNoCopy reports the copies beside a database, and files of theirs that are still open.
func wantNoCopy(t *testing.T, db *bolt.DB) {
	t.Helper()
	copies := db.Path() + ".boltcompat-copies"
	wantGone(t, copies)
	open, _ := filepath.Glob("/proc/self/fd/*") // elsewhere there are none
	for _, file := range open {
		if name, err := os.Readlink(file); err == nil && strings.HasPrefix(name, copies) {
			t.Errorf("WriteTo left %s open", name)
		}
	}
}

// stoatOnly makes a database at path with what programs on bbolt cannot write.
func stoatOnly(t *testing.T, path string, expires time.Time) {
	t.Helper()
	db, err := stoat.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(func(tx *stoat.Tx) error {
		b, err := tx.CreateBucket([]byte("name"))
		return errors.Join(err,
			tx.SetSequence(7), tx.Put([]byte("name"), []byte("of a key, too")),
			tx.Put([]byte("another"), []byte("key")), tx.PutUntil([]byte("brief"), nil, expires),
			b.SetSequence(8), b.PutUntil([]byte("brief"), []byte("inside"), expires))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wantStoatOnly reports what is missing from a copy of the database that stoatOnly makes.
func wantStoatOnly(t *testing.T, path string, expires time.Time) {
	t.Helper()
	db, err := stoat.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.View(func(tx *stoat.Tx) error {
		b, err := tx.Bucket([]byte("name"))
		if err != nil {
			return err
		}
		root, err := tx.Sequence()
		inside, err2 := b.Sequence()
		if root != 7 || inside != 8 {
			t.Errorf("the sequences are at %d and %d, want 7 and 8", root, inside)
		}
		wantEntry(t, tx, "name", "of a key, too", time.Time{})
		wantEntry(t, tx, "another", "key", time.Time{})
		wantEntry(t, tx, "brief", "", expires)
		wantEntry(t, b, "brief", "inside", expires)
		return errors.Join(err, err2)
	})
	if err != nil {
		t.Error(err)
	}
}

func wantEntry(t *testing.T, in stoat.KeySpace, key, value string, expires time.Time) {
	t.Helper()
	c := in.Cursor()
	k, v := c.Seek([]byte(key))
	if string(k) != key || string(v) != value || !c.Expires().Equal(expires) {
		t.Errorf("found %q: %q until %v; want %q: %q until %v", k, v, c.Expires(), key, value, expires)
	}
}

func TestCompact_copiesWhatOnlyStoatWrites(t *testing.T) {
	expires := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	from, to := filepath.Join(t.TempDir(), "db"), filepath.Join(t.TempDir(), "db")
	stoatOnly(t, from, expires)
	src, dst := open(t, from, nil), open(t, to, nil)
	if err := errors.Join(bolt.Compact(dst, src, 1), dst.Close(), src.Close()); err != nil {
		t.Fatal(err)
	}
	wantStoatOnly(t, to, expires)
}

func TestWriteTo_writesWhatOnlyStoatWrites(t *testing.T) {
	expires := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	path, copied := filepath.Join(t.TempDir(), "db"), filepath.Join(t.TempDir(), "db")
	stoatOnly(t, path, expires)
	db := open(t, path, nil)
	err := db.View(func(tx *bolt.Tx) error {
		put(t, db, "key", "later")
		return tx.CopyFile(copied, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := open(t, copied, nil).Close(); err != nil {
		t.Fatal(err)
	}
	wantStoatOnly(t, copied, expires)
}

func TestWriteTo_worksInViewInsideUpdate(t *testing.T) {
	db := create(t)
	path := filepath.Join(t.TempDir(), "copy")
	err := db.Update(func(tx *bolt.Tx) error {
		err := tx.Bucket([]byte("bucket")).Put([]byte("key"), []byte("not yet committed"))
		copyFile(t, db, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	wantValue(t, open(t, path, nil), "key", "value")
}

// text returns a value that compresses, and noise returns one that does not.
func text(n int) string { return strings.Repeat("some text that compresses ", n/26) }

func noise(n int) string {
	value := make([]byte, n)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(value) // never fails
	return string(value)
}

func TestWriteTo_hasAnnouncedSizeAfterLaterCommits(t *testing.T) {
	for _, early := range []bool{false, true} {
		for name, value := range map[string]string{"text": text(3 << 20), "noise": noise(3 << 20)} {
			db := create(t)
			put(t, db, "large", value)
			compact(t, db)
			tx, err := db.Begin(false)
			if err != nil {
				t.Fatal(err)
			}
			if early {
				tx.Size()
			}
			put(t, db, "large", "small")
			compact(t, db)
			size := tx.Size()
			var out bytes.Buffer
			if n, err := tx.WriteTo(&out); err != nil || n != size || int64(out.Len()) != size {
				t.Errorf("%s, asked early %t: WriteTo wrote %d bytes and returned %d, %v; Size was %d",
					name, early, out.Len(), n, err, size)
			}
			if err := tx.Rollback(); err != nil {
				t.Error(err)
			}
			wantNoCopy(t, db)
			path := filepath.Join(t.TempDir(), "copy")
			write(t, path, out.Bytes())
			wantValue(t, open(t, path, nil), "large", value)
		}
	}
}

// compact makes a database as small as it can be, as the background does in time.
func compact(t *testing.T, db *bolt.DB) {
	t.Helper()
	if err := bolt.Settle(db); err != nil {
		t.Fatal(err)
	}
}

func TestSize_growsByWhatTransactionPuts(t *testing.T) {
	db := create(t)
	err := db.Update(func(tx *bolt.Tx) error {
		tx.Size()
		if err := tx.Bucket([]byte("bucket")).Put([]byte("large"), []byte(noise(3<<20))); err != nil {
			return err
		}
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
	wantNoCopy(t, db)
}
