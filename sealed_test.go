package stoat_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/folder"
)

// secret is in every bucket name, key and value of the encrypted databases of these tests.
const secret = "PLAINTEXT"

func keyed(fill byte) *stoat.Options {
	return &stoat.Options{
		Key: bytes.Repeat([]byte{fill}, 32), MemoryLimit: 2 << 20, ValueThreshold: 1 << 10,
	}
}

// openKeyed returns the database in a folder, which the caller closes.
func openKeyed(t testing.TB, dir string, opts *stoat.Options) *stoat.DB {
	t.Helper()
	db, err := stoat.Open(dir, opts)
	ok(t, err)
	return db
}

// contents returns the files of a folder by name.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	entries, err := os.ReadDir(dir)
	ok(t, err)
	for _, e := range entries {
		p, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // work in the background has removed it
		}
		ok(t, err)
		all[e.Name()] = string(p)
	}
	return all
}

// fillSecret writes n large values that do not compress and n small ones, in one transaction.
func fillSecret(t testing.TB, db *stoat.DB, from, n int) {
	t.Helper()
	rng := rand.NewChaCha8([32]byte{byte(from)})
	update(t, db, func(tx *stoat.Tx) {
		b, err := tx.CreateBucketIfNotExists([]byte(secret + "-bucket"))
		ok(t, err)
		for i := from; i < from+n; i++ {
			large := make([]byte, 4000)
			_, _ = rng.Read(large)
			ok(t, b.Put(fmt.Appendf(nil, "%s-large-%06d", secret, i), append(large, secret...)))
			ok(t, b.Put(fmt.Appendf(nil, "%s-small-%06d", secret, i), []byte(secret+"-value")))
		}
	})
}

// plaintext returns the kinds of the files in a folder, and the names of those that are readable.
func plaintext(t testing.TB, dir string) (kinds map[folder.Kind]bool, readable []string) {
	t.Helper()
	kinds = make(map[folder.Kind]bool)
	for name, p := range contents(t, dir) {
		kind, _ := folder.Parse(name)
		kinds[kind] = true
		if bytes.Contains([]byte(p), []byte(secret)) || kind != folder.Other &&
			strings.Trim(p, "\x00") != "" && !bytes.HasPrefix([]byte(p), []byte("STOATENC")) {
			readable = append(readable, name)
		}
	}
	return kinds, readable
}

// onlooker looks into all files of folders. None may be readable.
type onlooker struct {
	t    *testing.T
	seen map[folder.Kind]bool
}

func (o *onlooker) look(step, dir string) {
	o.t.Helper()
	kinds, readable := plaintext(o.t, dir)
	maps.Copy(o.seen, kinds)
	if len(readable) > 0 {
		o.t.Errorf("after %s, one can read %q", step, readable)
	}
}

// TestKey_noFileHasPlaintext looks into all files after each step that writes some.
func TestKey_noFileHasPlaintext(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	db := openKeyed(t, dir, keyed(1))
	o := &onlooker{t, make(map[folder.Kind]bool)}
	fillSecret(t, db, 0, 20)
	o.look("a commit", dir)
	for i := range 10 {
		fillSecret(t, db, 100*(i+1), 50)
	}
	ok(t, db.Flush())
	o.look("flushes", dir)
	fillSecret(t, db, 10_000, 1000) // spills
	o.look("a transaction that spilled", dir)
	ok(t, db.Load(t.Context(), func(yield func(k, v []byte) bool) {
		for i := range 20_000 {
			key := fmt.Appendf(nil, "%s-load-%06d", secret, (i*7919)%20_000)
			if !yield(key, []byte(secret)) {
				return
			}
		}
	}))
	o.look("a load", dir)
	ok(t, db.Compact(t.Context()))
	o.look("a compaction", dir)
	for _, kind := range []folder.Kind{
		folder.Log, folder.Table, folder.Values, folder.Manifest, folder.ManifestCopy,
	} {
		if !o.seen[kind] {
			t.Errorf("no file of kind %d was looked at", kind)
		}
	}
	lookAtBackups(o, dir, db)
}

// lookAtBackups looks into backups, and closes the database.
func lookAtBackups(o *onlooker, dir string, db *stoat.DB) {
	t := o.t
	t.Helper()
	copied, linked := dir+"-copied", dir+"-linked"
	ok(t, db.Backup(t.Context(), copied))
	ok(t, db.BackupLinked(t.Context(), linked))
	fillSecret(t, db, 20_000, 10)
	ok(t, db.Backup(t.Context(), copied)) // incremental
	want := sum(t, db)
	ok(t, db.Close())
	o.look("closing", dir)
	for _, at := range []string{dir, copied} {
		o.look("a backup", at)
		opts := keyed(1)
		opts.ReadOnly = true
		db := openKeyed(t, at, opts)
		equal(t, sum(t, db), want)
		ok(t, db.Check(t.Context()))
		ok(t, db.Close())
	}
	o.look("a linked backup", linked)
	db = openKeyed(t, linked, keyed(1))
	ok(t, db.Check(t.Context()))
	ok(t, db.Close())
}

// sum returns how much a database holds.
func sum(t testing.TB, db *stoat.DB) (n int) {
	t.Helper()
	view(t, db, func(tx *stoat.Tx) {
		for k, v := range tx.Scan(stoat.Range{}) {
			n += len(k) + len(v)
		}
		for k, v := range bucket(t, tx, secret+"-bucket").Scan(stoat.Range{}) {
			n += len(k) + len(v)
		}
		ok(t, tx.Err())
	})
	return n
}

// TestKey_plaintextIsFound shows that plaintext sees what is not encrypted.
func TestKey_plaintextIsFound(t *testing.T) {
	dir := t.TempDir()
	db := openKeyed(t, dir, nil)
	fillSecret(t, db, 0, 10)
	if _, readable := plaintext(t, dir); len(readable) == 0 {
		t.Error("no file without a key can be read")
	}
	ok(t, db.Close())
}

// TestKey_wrong opens folders with keys that are not theirs. Nothing in them may change.
func TestKey_wrong(t *testing.T) {
	plain := &stoat.Options{}
	for name, c := range map[string]struct{ made, opened *stoat.Options }{
		"another key":   {keyed(1), keyed(2)},
		"no key":        {keyed(1), plain},
		"not encrypted": {plain, keyed(1)},
	} {
		for _, crashed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, crashed %t", name, crashed), func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "db")
				db := openKeyed(t, dir, c.made)
				fillSecret(t, db, 0, 10)
				if crashed {
					dir = copyOf(t, dir)
				}
				ok(t, db.Close())
				before := contents(t, dir)
				for _, readOnly := range []bool{false, true} {
					o := *c.opened
					o.ReadOnly = readOnly
					_, err := stoat.Open(dir, &o)
					wantErr(t, err, stoat.ErrKey)
					if errors.Is(err, stoat.ErrCorrupt) {
						t.Errorf("%v is damage", err)
					}
				}
				if !maps.Equal(contents(t, dir), before) {
					t.Error("the folder has changed")
				}
				db = openKeyed(t, dir, c.made)
				ok(t, db.Check(t.Context()))
				ok(t, db.Close())
			})
		}
	}
}

// copyOf copies a folder that is in use to where nobody uses it, as a crash would leave it.
func copyOf(t testing.TB, dir string) string {
	t.Helper()
	to := t.TempDir()
	for name, p := range contents(t, dir) {
		ok(t, os.WriteFile(filepath.Join(to, name), []byte(p), 0o600))
	}
	return to
}

// TestKey_refusals wants nothing to be written where keys are not supported, or wrong.
func TestKey_refusals(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	for _, key := range [][]byte{[]byte(secret), {}} { // a secret that was not found is empty
		_, err := stoat.Open(dir, &stoat.Options{Key: key})
		if err == nil || bytes.Contains([]byte(err.Error()), []byte(secret)) {
			t.Errorf("error %v, want one without the key", err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Error("a folder was made")
		}
	}
	db := openKeyed(t, dir, keyed(1))
	fillSecret(t, db, 0, 10)
	ok(t, db.Close())
	to := filepath.Join(t.TempDir(), "salvaged")
	_, err := stoat.Salvage(t.Context(), dir, to)
	wantErr(t, err, stoat.ErrKey)
	if _, err := os.Stat(to); err == nil {
		t.Error("salvage has made a folder")
	}
}

// TestKey_filesAreWhatTheyAreNamed puts each file of a database in the place of another, and files
// of another database with the same key in their place.
func TestKey_filesAreWhatTheyAreNamed(t *testing.T) {
	dir, other := filepath.Join(t.TempDir(), "db"), filepath.Join(t.TempDir(), "db")
	for i, at := range []string{dir, other} {
		db := openKeyed(t, at, keyed(1))
		for n := range 2 {
			fillSecret(t, db, 1000*i+100*n, 50)
			ok(t, db.Flush())
		}
		ok(t, db.Close())
	}
	files, others := contents(t, dir), contents(t, other)
	refused := func(what string, changed map[string]string) {
		t.Helper()
		to := t.TempDir()
		for name, p := range changed {
			ok(t, os.WriteFile(filepath.Join(to, name), []byte(p), 0o600))
		}
		db, err := stoat.Open(to, keyed(1))
		if err == nil {
			err = db.Check(t.Context())
			ok(t, db.Close())
		}
		if !errors.Is(err, stoat.ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
	tried := 0
	for name, p := range files {
		kind, _ := folder.Parse(name)
		for place := range files {
			if k, _ := folder.Parse(place); place == name || k != folder.Table || kind == folder.Other {
				continue
			}
			changed := maps.Clone(files)
			changed[place] = p
			refused(fmt.Sprintf("%s in the place of %s", name, place), changed)
			tried++
		}
		if p, there := others[name]; there && kind == folder.Table {
			changed := maps.Clone(files)
			changed[name] = p
			refused(name+" of another database", changed)
			tried++
		}
	}
	if tried < 4 {
		t.Errorf("only %d files were tried: %d and %d are there", tried, len(files), len(others))
	}
}
