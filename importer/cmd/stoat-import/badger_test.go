package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/intake"
	"github.com/stoatdb/stoat/internal/commands/progress"
)

// badgerOptions returns the options of a small database.
func badgerOptions(dir string) badger.Options {
	return badger.DefaultOptions(dir).WithLogger(nil).WithValueLogFileSize(1 << 20).
		WithMemTableSize(1 << 20).WithValueThreshold(1 << 10)
}

// badgerFolder returns the path of a new database of Badger.
func badgerFolder(t testing.TB, fill func(tx *badger.Txn) error) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "source.badger")
	db, err := badger.Open(badgerOptions(dir))
	ok(t, err)
	ok(t, errors.Join(db.Update(fill), db.Close()))
	return dir
}

// files returns the sizes and times of the files in a folder.
func files(t testing.TB, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	ok(t, err)
	text := ""
	for _, e := range entries {
		info, err := e.Info()
		ok(t, err)
		text += fmt.Sprintln(e.Name(), info.Size(), info.ModTime())
	}
	return text
}

func letters(tx *badger.Txn) error {
	var err error
	for c := byte('a'); c <= 'j'; c++ {
		err = errors.Join(err, tx.Set([]byte{c}, []byte(strings.Repeat(string(c), int(c-'a')))))
	}
	return errors.Join(err, tx.Delete([]byte("c")), tx.Set([]byte("b"), []byte("newest")))
}

const lettersDump = "a=\nb=newest\nd=ddd\ne=eeee\nf=fffff\ng=gggggg\nh=hhhhhhh\ni=iiiiiiii\n" +
	"j=jjjjjjjjj\n"

func TestBadger_importsTheNewestVersions(t *testing.T) {
	dir, db := badgerFolder(t, letters), filepath.Join(t.TempDir(), "db")
	before := files(t, dir)
	r := imports(t, "-badger", dir, db)
	if r.Kind != "badger" || r.Source != dir || r.Entries != 9 || len(r.Findings) != 0 {
		t.Errorf("the summary says %+v", r)
	}
	equal(t, dump(t, db), lettersDump)
	equal(t, files(t, dir), before)
}

func TestBadger_keepsWhenEntriesExpire(t *testing.T) {
	dir := badgerFolder(t, func(tx *badger.Txn) error {
		past := badger.NewEntry([]byte("past"), []byte("v"))
		past.ExpiresAt = 1000
		never := badger.NewEntry([]byte("never"), []byte("v"))
		never.ExpiresAt = 1 << 62
		return errors.Join(tx.SetEntry(past), tx.SetEntry(never),
			tx.SetEntry(badger.NewEntry([]byte("hour"), []byte("v")).WithTTL(time.Hour)),
			tx.SetEntry(badger.NewEntry([]byte("meta"), []byte("v")).WithMeta(3)))
	})
	to := filepath.Join(t.TempDir(), "db")
	r := imports(t, "-badger", dir, to)
	equal(t, fmt.Sprint(r.Findings), "[1 value in this run had user metadata, which was not imported]")
	equal(t, dump(t, to), "hour=v\nmeta=v\nnever=v\n")
	expires := watched(t, dir)
	if left := time.Until(expires["hour"]); left > time.Hour || left < 50*time.Minute {
		t.Errorf("what expires in an hour expires in %v", left)
	}
	if left := time.Until(expires["never"]); left < 50*365*24*time.Hour {
		t.Errorf("what expires in ages expires in %v", left)
	}
	if _, found := expires["meta"]; !found || !expires["meta"].IsZero() {
		t.Errorf("what never expires expires at %v", expires["meta"])
	}
}

// watched imports a folder, and returns when the keys expire, as those learn it who watch.
func watched(t testing.TB, dir string) map[string]time.Time {
	t.Helper()
	from, err := openBadger(dir)
	ok(t, err)
	db, err := stoat.Open(t.TempDir(), nil)
	ok(t, err)
	ok(t, db.Put([]byte("before"), nil))
	at := db.Position()
	job, err := intake.Start(db, from.identity(), intake.Options{})
	ok(t, err)
	ok(t, readAll(t.Context(), from, job, progress.NewLine(nil, nil, "", 0)))
	expires := map[string]time.Time{}
	for change, err := range db.Watch(t.Context(), stoat.Range{Limit: 3}, at) {
		if err != nil {
			t.Error(err)
			break
		}
		expires[string(change.Key)] = change.Expires
	}
	ok(t, errors.Join(db.Close(), from.close()))
	return expires
}

func TestBadger_goesOnAfterAnInterrupt(t *testing.T) {
	goesOn(t, "-badger", badgerFolder(t, letters))
}

func TestBadger_refusesAFolderThatHasChanged(t *testing.T) {
	dir, db := badgerFolder(t, letters), filepath.Join(t.TempDir(), "db")
	o, err := parse([]string{"-badger", dir, db})
	ok(t, err)
	if err := o.run(&countdown{t.Context(), 3}, nil, nil); !errors.Is(err, errInterrupted) {
		t.Fatal(err)
	}
	source, err := badger.Open(badgerOptions(dir))
	ok(t, err)
	ok(t, errors.Join(source.Update(func(tx *badger.Txn) error {
		return tx.Set([]byte("k"), []byte("later"))
	}), source.Close()))
	fails(t, exitError, "-restart", "-badger", dir, db)
	if r := imports(t, "-badger", dir, "-restart", db); r.Entries != 10 {
		t.Errorf("the summary says %+v", r)
	}
	equal(t, dump(t, db), lettersDump+"k=later\n")
}

func TestBadger_leavesAFolderInUseAlone(t *testing.T) {
	dir := badgerFolder(t, letters)
	source, err := badger.Open(badgerOptions(dir))
	ok(t, err)
	fails(t, exitError, "cannot open", "-badger", dir, filepath.Join(t.TempDir(), "db"))
	ok(t, source.Close())
}

func TestBadger_leavesWhatWasNotClosedAlone(t *testing.T) {
	dir := badgerFolder(t, letters)
	source, err := badger.Open(badgerOptions(dir))
	ok(t, err)
	ok(t, source.Update(func(tx *badger.Txn) error { return tx.Set([]byte("k"), []byte("crash")) }))
	torn := filepath.Join(t.TempDir(), "torn")
	ok(t, os.CopyFS(torn, os.DirFS(dir)))
	ok(t, source.Close())
	before := files(t, torn)
	fails(t, exitError, "have its program open and close it", "-badger", torn,
		filepath.Join(t.TempDir(), "db"))
	equal(t, files(t, torn), before)
}
