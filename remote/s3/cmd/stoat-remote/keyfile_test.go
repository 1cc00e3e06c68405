package main

import (
	"bytes"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoatdb/stoat"
)

// keyFile returns a file with the key of a number, as hexadecimal digits.
func keyFile(t testing.TB, n byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "key")
	digits := hex.EncodeToString(bytes.Repeat([]byte{n}, 32)) + "\n"
	ok(t, os.WriteFile(name, []byte(digits), 0o600))
	return name
}

// isReadable reports whether a file below a folder shows a value.
func isReadable(t testing.TB, root string) (shown bool) {
	t.Helper()
	ok(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		p, err := os.ReadFile(path)
		shown = shown || bytes.Contains(p, []byte("a marked value"))
		return err
	}))
	return shown
}

// An encrypted database goes to a store and back, and to a standby, with its key.
func TestKeyFile_isForTheStoreAndTheDirectory(t *testing.T) {
	root := t.TempDir()
	path := func(name string) string { return filepath.Join(root, name) }
	key, other := keyFile(t, 1), keyFile(t, 2)
	opts := &stoat.Options{Key: bytes.Repeat([]byte{1}, 32)}
	db, err := stoat.Open(path("db"), opts)
	ok(t, err)
	ok(t, db.Put([]byte("key"), []byte("a marked value")))
	ok(t, db.Flush())
	ok(t, db.Close())

	contains(t, output(t, "init", "-key-file", key, path("db"), path("store")), "commit 1 is in")
	contains(t, output(t, "status", "-key-file", key, path("store")), "commit 1 ")
	contains(t, output(t, "get", "-key-file", key, path("store"), "key"), "a marked value")
	contains(t, output(t, "scan", "-key-file", key, path("store")), "a marked value")
	contains(t, output(t, "reader", "-once", "-key-file", key, path("store")), " requests ")
	contains(t, output(t, "verify", "-deep", "-key-file", key, path("store")), "restored and checked")
	output(t, "pin", "-key-file", key, path("store"), "a")
	contains(t, output(t, "pins", "-key-file", key, path("store")), "a")
	output(t, "restore", "-pin", "a", "-key-file", key, path("store"), path("copy"))
	output(t, "unpin", "-key-file", key, path("store"), "a")
	output(t, "gc", "-key-file", key, path("db"), path("store"))
	now := path("now")
	ok(t, os.WriteFile(now, nil, 0o600))
	output(t, "standby", "-trigger", now, "-key-file", key, path("store"), path("standby"))
	if isReadable(t, root) {
		t.Error("one can read what an encrypted file has")
	}
	copied, err := stoat.Open(path("copy"), opts)
	ok(t, err)
	value, err := copied.Get([]byte("key"))
	if ok(t, err); string(value) != "a marked value" {
		t.Errorf("the copy has %q", value)
	}
	ok(t, copied.Close())
	output(t, "restore", "-plain", "-key-file", key, path("store"), path("plain"))
	wantKeys(t, path("plain"), 1)
	if !isReadable(t, root) {
		t.Error("what is not encrypted cannot be found, either")
	}

	fails(t, exitError, []string{"status", path("store")}, "encrypted", "-key-file")
	fails(t, exitError, []string{"status", "-key-file", other, path("store")}, "key")
	output(t, "rekey", "-key-file", key, "-new-key-file", other, path("store"))
	contains(t, output(t, "status", "-key-file", other, path("store")), "commit 1 ")
	fails(t, exitError, []string{"status", "-key-file", key, path("store")}, "key")
}

func TestKeyFile_refusesWhatIsNone(t *testing.T) {
	dir, store := shipped(t, 1)
	key := keyFile(t, 1)
	none := filepath.Join(t.TempDir(), "none")
	fails(t, exitError, []string{"status", "-key-file", none, store}, "read the key", none)
	bad := filepath.Join(t.TempDir(), "bad")
	ok(t, os.WriteFile(bad, []byte("short"), 0o600))
	fails(t, exitUsage, []string{"status", "-key-file", bad, store}, "is no key")
	fails(t, exitUsage, []string{"rekey", store}, "-key-file")
	fails(t, exitUsage, []string{"rekey", "-key-file", key, store}, "-new-key-file")
	fails(t, exitError, []string{"status", "-key-file", key, store}, "not encrypted")
	fails(t, exitError, []string{"rekey", "-key-file", key, "-new-key-file", key, store},
		"not encrypted")
	// A plain directory may go to an encrypted store, if that is said.
	encrypted := filepath.Join(t.TempDir(), "encrypted")
	fails(t, exitError, []string{"init", "-key-file", key, dir, encrypted}, "not encrypted")
	fails(t, exitError, []string{"init", "-plain", "-key-file", key, dir, encrypted}, "another store")
	output(t, "init", "-plain", "-key-file", key, newDB(t, 1), encrypted)
	contains(t, output(t, "status", "-key-file", key, encrypted), "commit 1 ")
}
