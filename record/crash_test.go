package record_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// What a killed process leaves is its files as they are; one that a power cut has torn is shorter.
func TestCrash_leavesRecordsIndexesAndCountInAgreement(t *testing.T) {
	dir := t.TempDir()
	db, err := stoat.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	r := newRand(t)
	c := mustOpen(t, db, "people", personOptions(record.CodecBinary))
	model := people{}
	for round := range 12 {
		for range 10 {
			update(t, db, func(tx *stoat.Tx) error {
				for range 1 + r.IntN(4) {
					step(t, r, tx, c, model)
				}
				return nil
			})
		}
		if round == 6 {
			if err := db.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		killed := filepath.Join(t.TempDir(), "killed")
		if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		if round%2 == 0 {
			tear(t, killed, r.Int64N(3000))
			checkCopy(t, killed, nil)
		} else {
			checkCopy(t, killed, model)
		}
	}
}

// tear cuts bytes off the newest log, if there is one.
func tear(t *testing.T, dir string, bytes int64) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil {
		t.Fatal(err)
	}
	if len(logs) == 0 {
		return
	}
	newest := slices.Max(logs)
	info, err := os.Stat(newest)
	if err == nil {
		err = os.Truncate(newest, max(info.Size()-bytes, 0))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// checkCopy opens a copy of a database, and compares it with the model, if there is one.
func checkCopy(t *testing.T, dir string, model people) {
	t.Helper()
	db, err := stoat.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := mustOpen(t, db, "people", personOptions(record.CodecBinary))
	view(t, db, func(tx *stoat.Tx) error {
		if model != nil {
			compare(t, tx, c, model)
		}
		return c.Verify(tx)
	})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
