package stoat_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/folder"
)

// TestKey_getsNoticeDamage damages the only table of an encrypted database, whose values do not
// compress and so are read one by one. Each get returns what was stored, or an error; and those of
// what was damaged return errors.
func TestKey_getsNoticeDamage(t *testing.T) {
	const n, seed = 400, 1
	dir := filepath.Join(t.TempDir(), "db")
	db := openKeyed(t, dir, keyed(1))
	rng := rand.NewChaCha8([32]byte{seed})
	want := make(map[string][]byte)
	update(t, db, func(tx *stoat.Tx) {
		for i := range n {
			key, value := fmt.Sprintf("key %06d", i), make([]byte, 300+i%200)
			_, _ = rng.Read(value)
			want[key] = value
			ok(t, tx.Put([]byte(key), value))
		}
	})
	ok(t, db.Compact(t.Context()))
	ok(t, db.Close())
	files := contents(t, dir)
	for name, p := range files {
		if kind, _ := folder.Parse(name); kind != folder.Table {
			continue
		}
		for how, damaged := range eachPageDamaged([]byte(p)) {
			changed := maps.Clone(files)
			changed[name] = string(damaged)
			if noticed := getEach(t, name+", "+how, changed, want); noticed == 0 {
				t.Errorf("%s, %s: no get notices it", name, how)
			}
		}
		if noticed := getEach(t, name, files, want); noticed > 0 || len(p) < n*300 {
			t.Errorf("of %d gets from %s of %d bytes, %d fail", n, name, len(p), noticed)
		}
	}
}

// eachPageDamaged is damages for each page of a file that has values.
func eachPageDamaged(p []byte) map[string][]byte {
	const page = 4096
	all := make(map[string][]byte)
	change := func(how string, at int, fn func(p []byte)) {
		p := bytes.Clone(p)
		fn(p)
		all[fmt.Sprint(how, " page ", at/page)] = p
	}
	for at := 0; at+3*page < len(p); at += page {
		change("a bit in", at, func(p []byte) { p[at+page/2] ^= 4 })
		change("the tag of", at, func(p []byte) { p[at+page-1] ^= 4 })
		change("the next in place of", at, func(p []byte) { copy(p[at:at+page], p[at+page:]) })
		all[fmt.Sprint("nothing behind page ", at/page)] = bytes.Clone(p[:at+page])
		change("zeros in place of", at, func(p []byte) { clear(p[at : at+page]) })
	}
	return all
}

// getEach gets each value from a database of these files, and returns how many fail.
func getEach(
	t *testing.T, what string, files map[string]string, want map[string][]byte,
) (failed int) {
	t.Helper()
	dir := t.TempDir()
	for name, p := range files {
		ok(t, os.WriteFile(filepath.Join(dir, name), []byte(p), 0o600))
	}
	opts := keyed(1)
	opts.ReadOnly = true
	db, err := stoat.Open(dir, opts)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	for key, value := range want {
		switch got, err := db.Get([]byte(key)); {
		case errors.Is(err, stoat.ErrCorrupt):
			failed++
		case err != nil || !bytes.Equal(got, value):
			t.Errorf("%s: of %s there are %d bytes, %v", what, key, len(got), err)
		}
	}
	ok(t, db.Close())
	ok(t, os.RemoveAll(dir))
	return failed
}
