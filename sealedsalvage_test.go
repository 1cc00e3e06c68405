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
// What is saved was stored.
func TestSalvageWithKey_savesWhatIsReadable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	db := openKeyed(t, dir, keyed(1))
	for n := range 3 {
		fillSecret(t, db, 100*n, 15)
	}
	ok(t, db.Compact(t.Context()))
	stored := pairs(t, db)
	ok(t, db.Close())
	files := contents(t, dir)
	lost, tried := 0, make(map[string]int) // by what was done
	for name, p := range files {
		if kind, _ := folder.Parse(name); kind == folder.Other || kind == folder.ManifestCopy {
			continue
		}
		all := damages([]byte(p))
		for _, how := range sample(all, tried) {
			changed := maps.Clone(files)
			changed[name] = string(all[how])
			got := salvageKeyed(t, name+", "+how, changed)
			for k, v := range got {
				if want, there := stored[k]; !there || v != want {
					t.Errorf("%s, %s: %q was saved with a value that was not stored", name, how, k)
				}
			}
			if len(got) < len(stored) {
				lost++
			}
		}
	}
	if lost == 0 {
		t.Error("no damage has lost anything")
	}
	for _, kind := range []string{
		"a bit", "a page twice", "cut off", "doubled", "extended by a bit", "extended by zeros",
		"pages swapped", "zeros",
	} {
		if tried[kind] == 0 {
			t.Errorf("of %v, %s was not tried", tried, kind)
		}
	}
}

// sample returns every eighth damage, or fewer in short tests, and one of each kind that was not
// tried; it counts both.
func sample(all map[string][]byte, tried map[string]int) (some []string) {
	step := 8
	if testing.Short() {
		step = 64
	}
	for i, how := range slices.Sorted(maps.Keys(all)) {
		if kind := damageKind(how); i%step == 4 || tried[kind] == 0 {
			some = append(some, how)
			tried[kind]++
		}
	}
	return some
}

// damageKind returns what was done, without the place.
func damageKind(how string) string {
	kind, _, _ := strings.Cut(how, " at ")
	return kind
}

// salvageKeyed salvages these files, and returns what was saved.
func salvageKeyed(t *testing.T, what string, files map[string]string) map[string]string {
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
		return nil
	}
	if _, readable := plaintext(t, to); len(readable) > 0 {
		t.Errorf("%s: one can read %q", what, readable)
	}
	opts := keyed(1)
	opts.ReadOnly = true
	db := openKeyed(t, to, opts)
	ok(t, db.Check(t.Context()))
	saved := pairs(t, db)
	ok(t, db.Close())
	return saved
}

// pairs returns what is in the buckets of a database, whose names may be lost.
func pairs(t *testing.T, db *stoat.DB) map[string]string {
	t.Helper()
	all := make(map[string]string)
	ok(t, db.View(func(tx *stoat.Tx) error {
		for name := range tx.Buckets() {
			for k, v := range bucket(t, tx, string(name)).Scan(stoat.Range{}) {
				all[string(k)] = string(v)
			}
		}
		return tx.Err()
	}))
	return all
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
