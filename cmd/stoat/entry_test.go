package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
)

func TestGet_printsTheValueByteForByte(t *testing.T) {
	db := sample(t)
	equal(t, output(t, "get", db, "cow"), "two\nlines")
	equal(t, output(t, "get", db, "beetle"), "")
	equal(t, output(t, "get", "-hex", db, "ff00"), "00ff\n")
	equal(t, output(t, "get", "-hex", "-raw", db, "ff00"), "\x00\xff")
	equal(t, output(t, "get", "-base64", db, "YW50"), "MQ==\n")
	equal(t, output(t, "get", "-json", db, "cow"), `{"key":"cow","value":"two\nlines"}`+"\n")
	equal(t, output(t, "get", "-json", db, "beetle"), `{"key":"beetle","value":""}`+"\n")
	equal(t, output(t, "get", "-json", "-hex", db, "ff00"), `{"key64":"/wA=","value64":"AP8="}`+"\n")
	equal(t, output(t, "get", "-json", "-bucket", "a/b", db, "deep"),
		`{"bucket":["a","b"],"key":"deep","value":"in b"}`+"\n")
}

func TestGet_exitsWith3WithoutTheKey(t *testing.T) {
	db := sample(t)
	fails(t, execute(t, "", "get", db, "dog"), exitNotFound, `"dog"`, "not found")
	fails(t, execute(t, "", "get", db, "deep"), exitNotFound, `"deep"`)
	fails(t, execute(t, "", "get", "-bucket", "a/x", db, "deep"), exitError, "no bucket a/x")
}

func TestPut_readsTheValueFromStandardInput(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	for _, args := range [][]string{
		{"put", db, "text", "-"},
		{"put", db, "-", "-"},
	} {
		if r := execute(t, "a value\n", args...); r.code != exitOK {
			t.Fatal(r.err)
		}
	}
	equal(t, output(t, "get", db, "text"), "a value\n")
	equal(t, output(t, "get", db, "-"), "a value\n")
	if r := execute(t, "00FF\n", "put", "-hex", db, "00", "-"); r.code != exitOK {
		t.Fatal(r.err)
	}
	equal(t, output(t, "get", "-hex", db, "00"), "00ff\n")
	fails(t, execute(t, "no hex", "put", "-hex", db, "00", "-"), exitUsage, "no hex")
}

func TestPut_replacesTheValue(t *testing.T) {
	db := sample(t)
	output(t, "put", db, "ant", "new")
	equal(t, output(t, "get", db, "ant"), "new")
}

func TestPut_namesWhoHoldsTheLock(t *testing.T) {
	dir := sample(t)
	db, err := stoat.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	fails(t, execute(t, "", "put", dir, "a", "b"), exitError, "locked", "end that process")
	equal(t, output(t, "get", dir, "ant"), "1") // reading takes no lock
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	output(t, "put", dir, "a", "b")
}

func TestDel_deletesKeysAndNamesTheMissing(t *testing.T) {
	db := sample(t)
	output(t, "del", db, "ant", "bee")
	fails(t, execute(t, "", "del", db, "ant", "cow", "dog"), exitNotFound, `"ant"`, `"dog"`)
	output(t, "del", "-hex", db, "ff00")
	equal(t, output(t, "keys", db), "beetle\n")
	output(t, "del", "-bucket", "a/b", db, "deep")
	equal(t, output(t, "keys", "-bucket", "a/b", db), "")
	equal(t, output(t, "keys", "-bucket", "a/c", db), "deep\n")
	fails(t, execute(t, "", "del", "-bucket", "x", db, "deep"), exitError, "no bucket x")
}

func TestEntry_anEmptyKeyIsAMistake(t *testing.T) {
	db := sample(t)
	all := output(t, "dump", db)
	for _, args := range [][]string{
		{"get", db, ""},
		{"get", "-hex", db, ""},
		{"get", "-base64", "-bucket", "a", db, ""},
		{"put", db, "", "value"},
		{"put", db, "", "-"},
		{"del", db, ""},
		{"del", db, "ant", ""},
	} {
		fails(t, execute(t, "value", args...), exitUsage, "keys are never empty", "stoat help "+args[0])
	}
	equal(t, output(t, "dump", db), all)
	none := filepath.Join(t.TempDir(), "none.db")
	fails(t, execute(t, "", "put", none, "", "value"), exitUsage, "keys are never empty")
	if _, err := os.Stat(none); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("put without a key created %s (%v)", none, err)
	}
}

func TestPut_doesNotRepeatALongMistake(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	r := execute(t, strings.Repeat("no hex ", 10_000), "put", "-hex", db, "00", "-")
	fails(t, r, exitUsage, "no hex", "69999 bytes")
	if len(r.err) > 500 {
		t.Errorf("a message of %d bytes", len(r.err))
	}
}
