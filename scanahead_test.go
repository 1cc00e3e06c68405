package stoat_test

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stoatdb/stoat"
)

// longLog returns a closed database whose scans decode many blocks, and what is under a key.
func longLog(t *testing.T, n int) (dir string, value func(i int) string) {
	t.Helper()
	dir = t.TempDir()
	db, err := stoat.Open(dir, nil)
	ok(t, err)
	value = func(i int) string {
		var noise [48]byte
		random := rand.NewChaCha8([32]byte{byte(i), byte(i >> 8)})
		_, _ = random.Read(noise[:])
		return fmt.Sprintf("{\"number\": %d, \"hash\": \"%s\", \"kind\": \"of a long log\"}",
			i, base64.StdEncoding.EncodeToString(noise[:]))
	}
	update(t, db, func(tx *stoat.Tx) {
		for i := range n {
			ok(t, tx.Put(binary.BigEndian.AppendUint64(nil, uint64(i)), []byte(value(i))))
		}
	})
	ok(t, db.Compact(t.Context()))
	ok(t, db.Close())
	return dir, value
}

// checkLog compares the first most entries that a scan yields, or all if there are fewer, and calls
// halfway in the middle.
func checkLog(
	t *testing.T, tx *stoat.Tx, r stoat.Range, most int, value func(i int) string, halfway func(),
) (n int) {
	for k, v := range tx.Scan(r) {
		if i := int(binary.BigEndian.Uint64(k)); string(v) != value(i) {
			t.Errorf("entry %d is %q", i, v)
		}
		if n++; n == most/2 {
			halfway()
		}
		if n == most {
			break
		}
	}
	return n
}

func TestScan_ofMoreThanTheCacheBesideOthers(t *testing.T) {
	defer runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(4)))
	const entries = 8000
	dir, value := longLog(t, entries)
	db, err := stoat.Open(dir, &stoat.Options{MemoryLimit: 2 << 20})
	ok(t, err)
	var scans sync.WaitGroup
	for i := range 6 {
		scans.Go(func() {
			view(t, db, func(tx *stoat.Tx) {
				most := entries
				if i%3 == 0 {
					most /= 2 // the loop ends early
				}
				r := stoat.Range{Reverse: i%2 == 0}
				equal(t, checkLog(t, tx, r, most, value, func() {}), most)
				ok(t, tx.Err())
			})
		})
	}
	scans.Wait()
	ok(t, db.Close())
}

func TestScan_meetsTheEndOfItsTransactionAndOfTheDatabase(t *testing.T) {
	defer runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(4)))
	const entries = 4000
	dir, value := longLog(t, entries)
	db, err := stoat.Open(dir, nil)
	ok(t, err)
	ended, reading := begin(t, db, false), begin(t, db, false)
	n := checkLog(t, ended, stoat.Range{}, entries, value, func() { ok(t, ended.Rollback()) })
	if n >= entries {
		t.Errorf("the loop of an ended transaction yields %d entries", n)
	}
	n = checkLog(t, reading, stoat.Range{Reverse: true}, entries, value, func() {
		ok(t, db.Close())
		runtime.GC()
	})
	equal(t, n, entries)
}

// A file that shrinks under its map faults when it is touched, as an unreadable sector does. Begin,
// unlike View, lets a fault outside of Stoat's own checks crash the process.
func TestScan_survivesAFileThatFailsBehindItsHelpers(t *testing.T) {
	defer runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(4)))
	const entries = 8000
	source, value := longLog(t, entries)
	for i := range 12 {
		dir := t.TempDir()
		ok(t, os.CopyFS(dir, os.DirFS(source)))
		tables, err := filepath.Glob(filepath.Join(dir, "*.table"))
		ok(t, err)
		db, err := stoat.Open(dir, nil)
		ok(t, err)
		tx := begin(t, db, false)
		if i%3 == 0 {
			checkLog(t, tx, stoat.Range{}, entries, value, func() {})
		}
		n := checkLog(t, tx, stoat.Range{Reverse: i%2 == 0}, entries, value, func() {
			for _, table := range tables {
				info, err := os.Stat(table)
				ok(t, err)
				if os.Truncate(table, info.Size()*int64(i)/12) != nil {
					return // some systems do not truncate what is mapped
				}
			}
		})
		if (n == entries) != (tx.Err() == nil) {
			t.Errorf("the loop yields %d entries, error %v", n, tx.Err())
		}
		ok(t, tx.Rollback())
		ok(t, db.Close())
	}
}
