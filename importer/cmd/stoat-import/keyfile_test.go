package main

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoatdb/stoat"
)

func TestKeyFile_encryptsTheDatabase(t *testing.T) {
	key := bytes.Repeat([]byte{0xab}, 32)
	dir := t.TempDir()
	file, db := boltFile(t, nested), filepath.Join(dir, "db")
	keyName, other := filepath.Join(dir, "key"), filepath.Join(dir, "other")
	ok(t, os.WriteFile(keyName, []byte(hex.EncodeToString(key)+"\n"), 0o600))
	ok(t, os.WriteFile(other, bytes.Repeat([]byte{0xac}, 32), 0o600))

	fails(t, exitError, "read the key", "-bolt", file, "-key-file", filepath.Join(dir, "none"), db)
	if _, err := os.Stat(db); !os.IsNotExist(err) {
		t.Errorf("a database was created without its key (%v)", err)
	}
	imports(t, "-bolt", file, "-key-file", keyName, db)
	equal(t, dumpKeyed(t, db, key), nestedDump)
	if _, err := stoat.Open(db, nil); err == nil {
		t.Error("the database is not encrypted")
	}
	fails(t, exitError, "key", "-bolt", file, db)
	fails(t, exitError, "key", "-bolt", file, "-key-file", other, db)
	imports(t, "-bolt", file, "-key-file", keyName, "-bucket", "more", db) // it exists
}
