package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
)

// stored returns the path of a new database with these entries in its root bucket.
func stored(t testing.TB, entries map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "stored.db")
	db, err := stoat.Open(dir, nil)
	if err == nil {
		err = db.Update(func(tx *stoat.Tx) error {
			for key, value := range entries {
				if err := tx.Put([]byte(key), []byte(value)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// mixed are entries of all kinds.
var mixed = map[string]string{
	"array": `[1, 2]`, "binary": "\xff\x00", "empty": "", "false": "false", "number": "1.50e3",
	"object": `{"b": 1, "a":"x"}`, "quoted": `"x"`, "spaces": ` 1 `, "lines": "{\n}", "\xff": "key",
	"text": "a \"b\"\t\r\n,;", "broken": `{"a"`, "return": "\r\n",
}

func TestExport_writesLinesOfJSON(t *testing.T) {
	equal(t, output(t, "export", "-jsonl", "-", stored(t, mixed)), `{"key":"array","value":[1, 2]}
{"key":"binary","value64":"/wA="}
{"key":"broken","value":"{\"a\""}
{"key":"empty","value":""}
{"key":"false","value":false}
{"key":"lines","value":"{\n}"}
{"key":"number","value":1.50e3}
{"key":"object","value":{"b": 1, "a":"x"}}
{"key":"quoted","value":"\"x\""}
{"key":"return","value":"\u000d\n"}
{"key":"spaces","value":" 1 "}
{"key":"text","value":"a \"b\"\u0009\u000d\n,;"}
{"key64":"/w==","value":"key"}
`)
	documents := stored(t, map[string]string{"a": `{"n":1}`, "b": "{\n \"n\": 2\n}", "c": "3"})
	equal(t, output(t, "export", "-values", "-jsonl", "-", documents), "{\"n\":1}\n{\"n\":2}\n3\n")
	equal(t, output(t, "export", "-key", "k", "-value", "v", "-jsonl", "-", documents, "-prefix", "c"),
		`{"k":"c","v":3}`+"\n")
	fails(t, execute(t, "", "export", "-values", "-jsonl", "-", stored(t, mixed)), exitError,
		`the value of "binary" is not JSON`)
}

func TestExport_writesRowsOfFields(t *testing.T) {
	db := stored(t, map[string]string{
		"1": `{"id":"1","name":"A, \"B\"","n":1.0}`,
		"2": `{"name":"two\nlines","id":"2","more":{"x":[1, null]}}`,
		"3": ` {"id":3,"n":null,"more":true} `,
	})
	equal(t, output(t, "export", "-csv", "-", "-key", "id", db), `id,name,n,more
1,"A, ""B""",1.0,
2,"two
lines",,"{""x"":[1, null]}"
3,,,true
`)
	equal(t, output(t, "export", "-csv", "-", "-columns", "n,none", "-delimiter", "tab", db),
		"key\tn\tnone\n1\t1.0\t\n2\t\t\n3\t\t\n")
	equal(t, output(t, "export", "-csv", "-", "-columns", "none", "-values", db),
		"none\n\"\"\n\"\"\n\"\"\n")
	equal(t, output(t, "export", "-csv", "-", "-value", "v", "-delimiter", ";", "-limit", "1", db),
		"key;v\n1;\"{\"\"id\"\":\"\"1\"\",\"\"name\"\":\"\"A, \\\"\"B\\\"\"\"\",\"\"n\"\":1.0}\"\n")
	fails(t, execute(t, "", "export", "-csv", "-", "-key", "name", db), exitError,
		`a field "name" that is not their key`)
	equal(t, output(t, "export", "-csv", "-", "-key", "name", "-values", "-limit", "1", db),
		"id,name,n\n1,\"A, \"\"B\"\"\",1.0\n")
	equal(t, output(t, "export", "-csv", "-", stored(t, nil)), "key,value\n")
}

func TestExport_writesRowsOfKeysAndValues(t *testing.T) {
	db := stored(t, map[string]string{"a": "1", "b": `{"x":1}`, "c": "\ufeffx"})
	equal(t, output(t, "export", "-csv", "-", db),
		"key,value\na,1\nb,\"{\"\"x\"\":1}\"\nc,\"\ufeffx\"\n")
	db = stored(t, map[string]string{"a": "1", "\xff": "\xfe"})
	equal(t, output(t, "export", "-csv", "-", db), "key64,value64\nYQ==,MQ==\n/w==,/g==\n")
}

// roundTrips exports a database, imports that, and wants what there was.
func roundTrips(t testing.TB, db string) {
	t.Helper()
	for _, flags := range [][]string{
		{"-jsonl"}, {"-value", "value", "-csv"}, {"-value", "value", "-delimiter", "tab", "-csv"},
	} {
		file, again := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "again.db")
		output(t, append(append([]string{"export", db}, flags...), file)...)
		args := append([]string{"import", again, "-key", "key"}, flags...)
		if flags[0] == "-jsonl" {
			args = append([]string{"import", again, "-key", "key", "-value", "value"}, flags...)
		}
		output(t, append(args, file)...)
		equal(t, output(t, "dump", again), output(t, "dump", db))
	}
}

func TestExport_isImportedAsItWas(t *testing.T) {
	roundTrips(t, stored(t, mixed))
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const letters = "a1{}[]:\",;\t\r\n \\\x00é\xff"
	text := func(n int) string {
		var b strings.Builder
		for range random.IntN(n) {
			b.WriteByte(letters[random.IntN(len(letters))])
		}
		return b.String()
	}
	for range 5 {
		entries := map[string]string{}
		for range 300 {
			entries["k"+text(5)] = text(12)
		}
		roundTrips(t, stored(t, entries))
	}
}

func TestExport_ofRowsIsImportedAsItWas(t *testing.T) {
	file := written(t, "id,name\na,\"x\ny\"\nb,\nc,\"\"\"\"\n")
	db := filepath.Join(t.TempDir(), "db")
	output(t, "import", "-csv", file, "-key", "id", "-bucket", "b", db)
	again := filepath.Join(t.TempDir(), "again")
	text := output(t, "export", "-csv", again, "-key", "id", "-bucket", "b", db)
	if !strings.HasPrefix(text, "3 entries, ") {
		t.Errorf("it prints %q", text)
	}
	want, err := os.ReadFile(file)
	got, gotErr := os.ReadFile(again)
	if err := errors.Join(err, gotErr); err != nil {
		t.Fatal(err)
	}
	equal(t, string(got), string(want))
}

func TestExport_saysWhatIsLeftOut(t *testing.T) {
	r := execute(t, "", "export", "-jsonl", "-", sample(t))
	if r.code != exitOK || r.err != "stoat: note: 2 buckets within it not exported: export each with "+
		"-bucket\n" {
		t.Errorf("exit code %d, stderr %q", r.code, r.err)
	}
}

func TestExport_replacesTheFileOnlyWhenComplete(t *testing.T) {
	file := written(t, "earlier")
	db := stored(t, mixed)
	fails(t, execute(t, "", "export", "-csv", file, "-columns", "a", db), exitError,
		"not a JSON object")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := &exportFlags{jsonl: file, key: "key", expires: "e", selection: &selection{in: new(path)}}
	s := newStdio(nil, io.Discard, io.Discard)
	if _, err := o.write(ctx, s, db, s.out); !errors.Is(err, errInterrupted) {
		t.Errorf("interrupted it returns %v", err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, string(got), "earlier")
	var complaint strings.Builder
	if run([]string{"export", "-csv", "-", db}, nil, fullDisk{}, &complaint) != exitError {
		t.Errorf("a full disk is no error: %s", complaint.String())
	}
}

func TestExport_refusesWrongArguments(t *testing.T) {
	db := sample(t)
	wide := map[string]string{}
	for i := range exportColumnsMax + 1 {
		wide[fmt.Sprint(i)] = fmt.Sprintf(`{"f%d":1}`, i)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{db}, exitUsage, "either -jsonl or -csv"},
		{[]string{db, "-jsonl", "a", "-csv", "b"}, exitUsage, "either -jsonl or -csv"},
		{[]string{db, "-jsonl", "a", "-columns", "b"}, exitUsage, "for -csv"},
		{[]string{db, "-csv", "a", "-columns", "b", "-value", "c"}, exitUsage, "exclude each other"},
		{[]string{db, "-csv", "a", "-delimiter", "xy"}, exitUsage, "want one character"},
		{[]string{db, "-csv", "a", "-key", ""}, exitUsage, "is empty"},
		{[]string{db, "-jsonl", "-", "-limit", "-1"}, exitUsage, "negative"},
		{[]string{db, "-jsonl", "-", "-bucket", "none"}, exitError, "no bucket none"},
		{[]string{stored(t, wide), "-csv", "-"}, exitError, "more than 1,000 different fields"},
	} {
		fails(t, execute(t, "", append([]string{"export"}, c.args...)...), c.code, c.want)
	}
}
