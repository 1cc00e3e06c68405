package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/commands/keyfile"
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
	binary := keyFile(t, strings.Repeat("\xab", keyfile.Bytes))
	text := keyFile(t, strings.Repeat("aB", keyfile.Bytes)+"\n")
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
	other := keyFile(t, strings.Repeat("\xac", keyfile.Bytes))
	fails(t, execute(t, "", "get", db, "animal"), exitError, "encrypted", "-key-file")
	fails(t, execute(t, "", "get", "-key-file", other, db, "animal"), exitError, "-key-file")
	fails(t, execute(t, "", "get", "-key-file", text, sample(t), "ant"), exitError, "-key-file")
}

func TestKeyFile_mustHoldAKey(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	for _, content := range []string{"", "password", strings.Repeat("a", 2*keyfile.Bytes-1),
		strings.Repeat("x", 2*keyfile.Bytes), strings.Repeat("\xab", keyfile.Bytes+1)} {
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

func TestKeyFile_isForOtherPrograms(t *testing.T) {
	installProgram(t, importProgram)
	key := keyFile(t, strings.Repeat("ab", keyfile.Bytes))
	r := execute(t, "", "import", "-key-file", key, "-bolt", "x.db", "to")
	equal(t, r.out, "<-bolt=x.db>\n<-key-file="+key+">\n<-->\n<to>\n")
	short := keyFile(t, "ab")
	fails(t, execute(t, "", "import", "-key-file", short, "-bolt", "x.db", "to"), exitUsage, short)
}

func TestRekey_changesTheKey(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	old := keyFile(t, strings.Repeat("ab", keyfile.Bytes))
	newer := keyFile(t, strings.Repeat("cd", keyfile.Bytes))
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

// TestKeyFile_isForBackups writes and restores backups with the same key, another, and none.
func TestKeyFile_isForBackups(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "db")
	key := keyFile(t, strings.Repeat("ab", keyfile.Bytes))
	other := keyFile(t, strings.Repeat("cd", keyfile.Bytes))
	output(t, "put", "-key-file", key, db, "animal", "least weasel")
	get := func(dir string, flags ...string) string {
		return output(t, append([]string{"get", dir, "animal"}, flags...)...)
	}
	output(t, "backup", db, dir+"/other", "-key-file", key, "-new-key-file", other)
	equal(t, get(dir+"/other", "-key-file", other), "least weasel")
	output(t, "backup", db, dir+"/plain", "-key-file", key, "-plain")
	equal(t, get(dir+"/plain"), "least weasel")
	output(t, "restore", dir+"/plain", dir+"/again", "-new-key-file", key)
	equal(t, get(dir+"/again", "-key-file", key), "least weasel")

	stream := output(t, "backup", db, "-", "-key-file", key)
	if strings.Contains(stream, "weasel") {
		t.Error("one can read the stream")
	}
	fails(t, execute(t, stream, "restore", "-", dir+"/none"), exitError, "-key-file")
	for name, flags := range map[string][]string{
		"same": {"-key-file", key}, "new": {"-key-file", key, "-new-key-file", other},
		"bare": {"-key-file", key, "-plain"},
	} {
		r := execute(t, stream, append([]string{"restore", "-", dir + "/" + name}, flags...)...)
		if r.code != exitOK {
			t.Errorf("restoring to %s returns %d: %s", name, r.code, r.err)
		}
	}
	equal(t, get(dir+"/same", "-key-file", key), "least weasel")
	equal(t, get(dir+"/new", "-key-file", other), "least weasel")
	equal(t, get(dir+"/bare"), "least weasel")
	fails(t, execute(t, "", "backup", db, dir+"/x", "-key-file", key, "-plain", "-new-key-file", key),
		exitUsage, "exclude")
	fails(t, execute(t, "", "backup", db, dir+"/x", "-key-file", key, "-plain", "-link"), exitUsage,
		"-link")

	output(t, "salvage", db, dir+"/saved", "-key-file", key)
	equal(t, get(dir+"/saved", "-key-file", key), "least weasel")
}
