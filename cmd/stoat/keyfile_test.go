package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// keyFile writes a file with a key and returns its name.
func keyFile(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestKeyFile_opensAnEncryptedDatabase(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	binary := keyFile(t, strings.Repeat("\xab", keyBytes))
	text := keyFile(t, strings.Repeat("aB", keyBytes)+"\n")
	output(t, "put", "-key-file", binary, db, "animal", "least weasel")
	equal(t, output(t, "get", "-key-file", text, db, "animal"), "least weasel")
	output(t, "compact", db, "-key-file", text)
	output(t, "check", db, "-key-file", text)
	backup := filepath.Join(t.TempDir(), "backup")
	output(t, "backup", "-key-file", text, db, backup)
	equal(t, output(t, "get", "-key-file", text, backup, "animal"), "least weasel")

	for _, dir := range []string{db, backup} {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			content, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil || bytes.Contains(content, []byte("weasel")) {
				t.Errorf("%s is readable without the key (%v)", f.Name(), err)
			}
		}
	}
	other := keyFile(t, strings.Repeat("\xac", keyBytes))
	fails(t, execute(t, "", "get", db, "animal"), exitError, "encrypted", "-key-file")
	fails(t, execute(t, "", "get", "-key-file", other, db, "animal"), exitError, "-key-file")
	fails(t, execute(t, "", "get", "-key-file", text, sample(t), "ant"), exitError, "-key-file")
}

func TestKeyFile_mustHoldAKey(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	for _, content := range []string{"", "password", strings.Repeat("a", 2*keyBytes-1),
		strings.Repeat("x", 2*keyBytes), strings.Repeat("\xab", keyBytes+1)} {
		r := execute(t, "", "put", "-key-file", keyFile(t, content), db, "k", "v")
		fails(t, r, exitUsage, "is no key", "64 hexadecimal digits")
		if content != "" && strings.Contains(r.err, content) {
			t.Errorf("the message quotes the key: %s", r.err)
		}
	}
	fails(t, execute(t, "", "put", "-key-file", db+"/none", db, "k", "v"), exitError, "read the key")
	if _, err := os.Stat(db); err == nil {
		t.Error("a database was made without a key")
	}
}

func TestKeyFile_isNotForOtherPrograms(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	key := keyFile(t, strings.Repeat("ab", keyBytes))
	r := execute(t, "", "import", "-key-file", key, "-bolt", db+".bolt", db)
	fails(t, r, exitUsage, "-key-file does not work with this source")
}

func TestRekey_changesTheKey(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	old := keyFile(t, strings.Repeat("ab", keyBytes))
	newer := keyFile(t, strings.Repeat("cd", keyBytes))
	output(t, "put", "-key-file", old, db, "animal", "least weasel")
	output(t, "rekey", db, "-key-file", old, "-new-key-file", newer)
	equal(t, output(t, "get", "-key-file", newer, db, "animal"), "least weasel")
	fails(t, execute(t, "", "get", "-key-file", old, db, "animal"), exitError, "-key-file")

	fails(t, execute(t, "", "rekey", db, "-key-file", newer), exitUsage, "-new-key-file")
	fails(t, execute(t, "", "rekey", db, "-new-key-file", newer), exitUsage, "-key-file")
	fails(t, execute(t, "", "rekey", db, "-key-file", old, "-new-key-file", old), exitError, "key")
	fails(t, execute(t, "", "rekey", db+"-none", "-key-file", old, "-new-key-file", newer), exitError,
		"no database")
	fails(t, execute(t, "", "rekey", sample(t), "-key-file", old, "-new-key-file", newer), exitError,
		"not encrypted")
}
