package stoat_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/folder"
)

// TestSalvageWithKey_savesWhatIsReadable damages files of an encrypted database and salvages it.
func TestSalvageWithKey_savesWhatIsReadable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	db := openKeyed(t, dir, keyed(1))
	for n := range 3 {
		fillSecret(t, db, 100*n, 30)
	}
	ok(t, db.Compact(t.Context()))
	want := sum(t, db)
	ok(t, db.Close())
	files := contents(t, dir)
	lost := 0
	for name, p := range files {
		kind, _ := folder.Parse(name)
		for _, how := range slices.Sorted(maps.Keys(damages([]byte(p)))) {
			if kind == folder.Other || kind == folder.ManifestCopy || len(how)%8 > 0 {
				continue // a sample
			}
			changed := maps.Clone(files)
			changed[name] = string(damages([]byte(p))[how])
			got := salvageKeyed(t, name+", "+how, changed)
			if got > want {
				t.Errorf("%s, %s: more was saved than there was", name, how)
			}
			if got < want {
				lost++
			}
		}
	}
	if lost == 0 {
		t.Error("no damage has lost anything")
	}
	_, err := stoat.Salvage(t.Context(), dir, filepath.Join(t.TempDir(), "new"))
	wantErr(t, err, stoat.ErrKey)
	_, err = stoat.SalvageWithKey(t.Context(), dir, filepath.Join(t.TempDir(), "new"), keyed(2).Key)
	wantErr(t, err, stoat.ErrKey)
}

// salvageKeyed salvages these files, and returns how much was saved.
func salvageKeyed(t *testing.T, what string, files map[string]string) (saved int) {
	t.Helper()
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "new")
	for name, p := range files {
		ok(t, os.WriteFile(filepath.Join(dir, name), []byte(p), 0o600))
	}
	_, err := stoat.SalvageWithKey(t.Context(), dir, to, keyed(1).Key)
	if err != nil {
		if !errors.Is(err, stoat.ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
		return 0
	}
	if _, readable := plaintext(t, to); len(readable) > 0 {
		t.Errorf("%s: one can read %q", what, readable)
	}
	db := openKeyed(t, to, keyed(1))
	ok(t, db.Check(t.Context()))
	ok(t, db.View(func(tx *stoat.Tx) error {
		for bucket := range tx.Buckets() {
			b, err := tx.Bucket(bucket)
			ok(t, err)
			for k, v := range b.Scan(stoat.Range{}) {
				saved += len(k) + len(v)
			}
		}
		return tx.Err()
	}))
	ok(t, db.Close())
	return saved
}

// TestSalvageWithKey_wantsTheKey wants an error that says what is wrong, and nothing to be written,
// where the key opens nothing.
func TestSalvageWithKey_wantsTheKey(t *testing.T) {
	for name, c := range map[string]struct {
		opts *stoat.Options
		gone bool // the files with the key are
		key  []byte
		want error
	}{
		"encrypted":        {keyed(1), false, nil, stoat.ErrKey},
		"another key":      {keyed(1), false, keyed(2).Key, stoat.ErrKey},
		"not encrypted":    {nil, false, keyed(1).Key, stoat.ErrKey},
		"lost key files":   {keyed(1), true, keyed(1).Key, stoat.ErrCorrupt},
		"lost, and no key": {keyed(1), true, nil, stoat.ErrKey},
	} {
		t.Run(name, func(t *testing.T) {
			dir, to := filepath.Join(t.TempDir(), "db"), filepath.Join(t.TempDir(), "new")
			db := openKeyed(t, dir, c.opts)
			fillSecret(t, db, 0, 10)
			ok(t, db.Close())
			for _, n := range []uint64{1, 2} {
				if c.gone {
					ok(t, os.Remove(filepath.Join(dir, folder.KeyName(n))))
				}
			}
			_, err := stoat.SalvageWithKey(t.Context(), dir, to, c.key)
			wantErr(t, err, c.want)
			if c.gone && c.key != nil && !strings.Contains(err.Error(), "are lost") {
				t.Errorf("%v does not say what is lost", err)
			}
			if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a folder was made, or %v", err)
			}
		})
	}
}
