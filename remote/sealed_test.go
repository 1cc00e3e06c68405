package remote_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/cryptstore"
	"github.com/stoatdb/stoat/remote/folderstore"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// aKey returns the key of a number.
func aKey(n byte) []byte { return bytes.Repeat([]byte{n}, 32) }

func encrypted(t testing.TB, store objstore.Store, key byte) objstore.Store {
	t.Helper()
	s, err := cryptstore.Open(t.Context(), store, aKey(key))
	ok(t, err)
	return s
}

// keyed is quick options for a database with a key.
func keyed(key byte) *remote.Options {
	o := quick()
	o.Database = &stoat.Options{Key: aKey(key)}
	return &o
}

// fillMarked commits a hundred records, some with large values, that nobody may find in any file.
func fillMarked(t testing.TB, db *stoat.DB, from int) {
	t.Helper()
	for i := from; i < from+100; i++ {
		value := strings.Repeat(fmt.Sprint("a marked value ", i, " "), 1+i%7*i%7*100)
		ok(t, db.Update(func(tx *stoat.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("a marked bucket"))
			if err != nil {
				return err
			}
			return b.Put(fmt.Append(nil, "a marked key ", i), []byte(value))
		}))
	}
}

func wantMarked(t testing.TB, db *stoat.DB, records int) {
	t.Helper()
	n := 0
	ok(t, db.View(func(tx *stoat.Tx) error {
		b, err := tx.Bucket([]byte("a marked bucket"))
		if err != nil {
			return err
		}
		for key, value := range b.Scan(stoat.Range{}) {
			if !bytes.HasPrefix(key, []byte("a marked key")) || !bytes.HasPrefix(value, []byte("a marked")) {
				t.Errorf("%q: %.20q", key, value)
			}
			n++
		}
		return tx.Err()
	}))
	if n != records {
		t.Errorf("there are %d records, want %d", n, records)
	}
}

// readable returns the files below a folder that show what was stored, of how many files.
func readable(t testing.TB, root string) (shown []string, files int) {
	t.Helper()
	ok(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		p, err := os.ReadFile(path)
		if files++; bytes.Contains(p, []byte("marked")) {
			shown = append(shown, path)
		}
		return err
	}))
	return shown, files
}

// wantNoPlaintext fails the test if a file below a folder shows what was stored.
func wantNoPlaintext(t testing.TB, root string) {
	t.Helper()
	if shown, files := readable(t, root); len(shown) > 0 || files == 0 {
		t.Errorf("one can read %q, of %d files", shown, files)
	}
}

// A database with a key, from its first commit to a restore, leaves nothing that can be read
// without the key, neither in the store nor on any machine.
func TestKey_nothingIsReadableAnywhere(t *testing.T) {
	root := t.TempDir()
	path := func(name string) string { return filepath.Join(root, name) }
	below, err := folderstore.Open(path("store"))
	ok(t, err)
	store := encrypted(t, below, 1)
	db, err := remote.Open(t.Context(), store, path("db"), keyed(1))
	ok(t, err)
	fillMarked(t, db.DB, 0)
	ok(t, db.Compact(t.Context()))
	for !inTables(t, store, db) {
		runtime.Gosched()
	}
	fillMarked(t, db.DB, 100)
	ok(t, db.Ship(t.Context()))

	opts := &remote.ReaderOptions{Database: &stoat.Options{Key: aKey(1)}}
	r, err := remote.OpenReader(t.Context(), store, path("cache"), opts)
	ok(t, err)
	wantMarked(t, r.DB, 200)
	ok(t, r.DB.Backup(t.Context(), path("backup")))
	ok(t, r.Close())
	ok(t, db.Close())
	wantNoPlaintext(t, root)

	// On another machine, with its files in the store only.
	db, err = remote.Open(t.Context(), store, path("other"), keyed(1))
	ok(t, err)
	wantMarked(t, db.DB, 200)
	fillMarked(t, db.DB, 200)
	ok(t, db.Compact(t.Context()))
	ok(t, db.Close())
	db, err = remote.Open(t.Context(), store, path("other"), keyed(1))
	ok(t, err)
	wantMarked(t, db.DB, 300)
	ok(t, db.Close())
	wantNoPlaintext(t, root)

	r, err = remote.OpenReader(t.Context(), store, path("cache"), opts)
	ok(t, err)
	db, err = r.TakeOver(t.Context(), path("standby"), keyed(1))
	ok(t, err)
	wantMarked(t, db.DB, 300)
	fillMarked(t, db.DB, 300)
	ok(t, db.Close())
	ok(t, remote.Restore(t.Context(), store, path("restored"), &remote.RestoreOptions{Key: aKey(2)}))
	local, err := stoat.Open(path("restored"), &stoat.Options{Key: aKey(2)})
	ok(t, err)
	wantMarked(t, local, 400)
	ok(t, local.Check(t.Context()))
	ok(t, local.Close())
	_, err = remote.Verify(t.Context(), store)
	ok(t, err)
	wantNoPlaintext(t, root)
	local, err = stoat.Open(path("backup"), &stoat.Options{Key: aKey(1)})
	ok(t, err)
	wantMarked(t, local, 200)
	ok(t, local.Close())
	ok(t, remote.Restore(t.Context(), store, path("plain"), nil))
	if shown, _ := readable(t, root); len(shown) == 0 {
		t.Error("what is not encrypted cannot be found, either")
	}
}

// Pieces of large files come in any order, and encrypted files are written front to back.
func TestKey_ofARestoreOfLargeFiles(t *testing.T) {
	store := encrypted(t, memstore.New(), 1)
	db, err := remote.Open(t.Context(), store, filepath.Join(t.TempDir(), "db"), keyed(1))
	ok(t, err)
	for i := range 16 {
		ok(t, db.Put(largeKey(i), largeValue(i, 1<<20)))
	}
	ok(t, db.Compact(t.Context()))
	for !inTables(t, store, db) {
		runtime.Gosched()
	}
	ok(t, db.Close())
	for _, key := range [][]byte{nil, aKey(3)} {
		dir := filepath.Join(t.TempDir(), "restored")
		ok(t, remote.Restore(t.Context(), store, dir, &remote.RestoreOptions{Key: key}))
		local, err := stoat.Open(dir, &stoat.Options{Key: key})
		ok(t, err)
		for i := range 16 {
			got, err := local.Get(largeKey(i))
			if ok(t, err); !bytes.Equal(got, largeValue(i, 1<<20)) {
				t.Errorf("value %d is not what was stored", i)
			}
		}
		ok(t, local.Close())
	}
}

// The key of a folder may be missing, and then it is not encrypted, as the caller says; a store
// that does not encrypt is never one for a database with a key.
func TestKey_isWantedOfTheStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	_, err := remote.Open(t.Context(), memstore.New(), dir, keyed(1))
	wantErr(t, err, stoat.ErrKey)
	opts := &remote.ReaderOptions{Database: keyed(1).Database}
	_, err = remote.OpenReader(t.Context(), memstore.New(), dir, opts)
	wantErr(t, err, stoat.ErrKey)
	plain := memstore.New()
	o := quick()
	db, err := remote.Open(t.Context(), plain, dir+"-plain", &o)
	ok(t, err)
	ok(t, db.Close())
	r, err := remote.OpenReader(t.Context(), plain, "", nil)
	ok(t, err)
	_, err = r.TakeOver(t.Context(), dir, keyed(1))
	wantErr(t, err, stoat.ErrKey)
	ok(t, r.Close())
	if _, err := os.Stat(dir); err == nil {
		t.Error("a folder was made")
	}
	db, err = remote.Open(t.Context(), encrypted(t, memstore.New(), 1), dir, &o)
	ok(t, err)
	fillMarked(t, db.DB, 0)
	ok(t, db.Close())
}

// Whoever opens an encrypted store as another one learns what is wrong, and changes nothing.
func TestKey_ofTheStoreIsWanted(t *testing.T) {
	root := t.TempDir()
	below := memstore.New()
	db, err := remote.Open(t.Context(), encrypted(t, below, 1), filepath.Join(root, "db"), keyed(1))
	ok(t, err)
	fillMarked(t, db.DB, 0)
	ok(t, db.Close())
	before, err := below.List(t.Context(), "", "", 1000)
	ok(t, err)
	o := quick()
	for name, call := range map[string]func() error{
		"open": func() error {
			_, err := remote.Open(t.Context(), below, filepath.Join(root, "new"), &o)
			return err
		},
		"open its folder": func() error {
			_, err := remote.Open(t.Context(), below, filepath.Join(root, "db"), &o)
			return err
		},
		"open its folder without the key": func() error {
			_, err := remote.Open(t.Context(), encrypted(t, below, 1), filepath.Join(root, "db"), &o)
			return err
		},
		"read": func() error {
			_, err := remote.OpenReader(t.Context(), below, "", nil)
			return err
		},
		"restore": func() error {
			return remote.Restore(t.Context(), below, filepath.Join(root, "restored"), nil)
		},
		"inspect": func() error {
			_, err := remote.Inspect(t.Context(), below)
			return err
		},
		"verify": func() error {
			_, err := remote.Verify(t.Context(), below)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { wantErr(t, call(), stoat.ErrKey) })
	}
	after, err := below.List(context.Background(), "", "", 1000)
	ok(t, err)
	if fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("the store has changed: %v", after)
	}
}

// Who names the folder of a database for a cache, with another key, does not lose the database.
func TestKey_ofADatabaseIsNotClearedAsACache(t *testing.T) {
	store := encrypted(t, memstore.New(), 1)
	db, err := remote.Open(t.Context(), store, filepath.Join(t.TempDir(), "db"), keyed(1))
	ok(t, err)
	ok(t, db.Close())
	dir := filepath.Join(t.TempDir(), "other")
	local, err := stoat.Open(dir, keyed(3).Database)
	ok(t, err)
	fillMarked(t, local, 0)
	ok(t, local.Close())
	opts := &remote.ReaderOptions{Database: keyed(2).Database}
	_, err = remote.OpenReader(t.Context(), store, dir, opts)
	wantErr(t, err, stoat.ErrKey)
	local, err = stoat.Open(dir, keyed(3).Database)
	ok(t, err)
	wantMarked(t, local, 100)
	ok(t, local.Close())
}

// A program may do with its options what it likes once the database is open.
func TestKey_isReadBeforeOpenReturns(t *testing.T) {
	store := encrypted(t, memstore.New(), 1)
	root := t.TempDir()
	for n, forget := range []func(o *remote.Options){
		func(o *remote.Options) { o.Database.Key = nil },
		func(o *remote.Options) { clear(o.Database.Key) },
	} {
		dir := filepath.Join(root, fmt.Sprint("db", n))
		db, err := remote.Open(t.Context(), store, dir, keyed(1))
		ok(t, err)
		fillMarked(t, db.DB, 0)
		ok(t, db.Compact(t.Context()))
		for !inTables(t, store, db) {
			runtime.Gosched()
		}
		ok(t, db.Close())
		other := dir + "-other" // its files stay in the store
		db, err = remote.Open(t.Context(), store, other, keyed(1))
		ok(t, err)
		ok(t, db.Close())
		o := keyed(1)
		db, err = remote.Open(t.Context(), store, other, o)
		ok(t, err)
		forget(o)
		wantMarked(t, db.DB, 100)
		ok(t, db.Close())
		wantNoPlaintext(t, root)
		db, err = remote.Open(t.Context(), store, other, keyed(1))
		ok(t, err)
		wantMarked(t, db.DB, 100)
		ok(t, db.Close())
	}
}

// A cache of another key is begun anew, and so is one without a key.
func TestKey_ofACacheMayChange(t *testing.T) {
	store := encrypted(t, memstore.New(), 1)
	db, err := remote.Open(t.Context(), store, filepath.Join(t.TempDir(), "db"), keyed(1))
	ok(t, err)
	fillMarked(t, db.DB, 0)
	ok(t, db.Compact(t.Context()))
	for !inTables(t, store, db) {
		runtime.Gosched()
	}
	ok(t, db.Close())
	dir := t.TempDir()
	for _, key := range [][]byte{nil, aKey(1), aKey(1), aKey(2), nil, aKey(2), aKey(1)} {
		opts := &remote.ReaderOptions{Database: &stoat.Options{Key: key}}
		r, err := remote.OpenReader(t.Context(), store, dir, opts)
		ok(t, err)
		wantMarked(t, r.DB, 100)
		ok(t, r.Close())
		segments, err := filepath.Glob(filepath.Join(dir, "*.cache"))
		if ok(t, err); len(segments) == 0 {
			t.Fatal("nothing is cached")
		}
		if key != nil {
			wantNoPlaintext(t, dir)
		}
	}
}
