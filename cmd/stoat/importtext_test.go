package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// packed returns text as gzip and as zstd have it.
func packed(t testing.TB, text string) (gz, zst string) {
	t.Helper()
	var a, b bytes.Buffer
	g := gzip.NewWriter(&a)
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []io.WriteCloser{g, z} {
		_, err := io.WriteString(w, text)
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return a.String(), b.String()
}

func TestImport_readsStandardInputAndCompressedFiles(t *testing.T) {
	text := "\ufeff{\"id\":\"a\"}\n\n{\"id\":\"b\"}\n"
	gz, zst := packed(t, text)
	more, _ := packed(t, "{\"id\":\"c\"}\n")
	skip := "\x50\x2a\x4d\x18\x03\x00\x00\x00abc"
	for name, source := range map[string]string{
		"plain": text, "gzip": gz, "zstd": zst, "two gzip": gz + more, "skippable zstd": skip + zst,
	} {
		want := "a\nb\n"
		if strings.HasPrefix(name, "two") {
			want += "c\n"
		}
		db := filepath.Join(t.TempDir(), "db")
		output(t, "import", "-jsonl", written(t, source), "-key", "id", db)
		equal(t, output(t, "keys", db), want)
		db = filepath.Join(t.TempDir(), "db")
		if r := execute(t, source, "import", "-jsonl", "-", "-key", "id", db); r.code != exitOK {
			t.Errorf("%s from standard input: %s", name, r.err)
		}
		equal(t, output(t, "keys", db), want)
	}
	dump := "{\"stoat\":2}\n{\"key\":\"k\",\"value\":\"v\"}\n{\"end\":true}\n"
	gz, _ = packed(t, dump)
	db := filepath.Join(t.TempDir(), "db")
	output(t, "load", db, written(t, gz))
	equal(t, output(t, "scan", db), "k\tv\n")
	if r := execute(t, gz, "bulk-load", db); r.code != exitOK {
		t.Error(r.err)
	}
}

func TestImport_saysWhatIsWrongWithACompressedFile(t *testing.T) {
	gz, zst := packed(t, strings.Repeat("{\"id\":\"a\"}\n", 1000))
	for source, want := range map[string]string{
		gz[:len(gz)/2]:               "the gzip data is cut short",
		gz[:12] + "x" + gz[13:]:      "the gzip data is ",
		gz[:2]:                       "the gzip data is cut short",
		zst[:len(zst)/2]:             "the zstd data is cut short",
		zst[:len(zst)-1] + "\x00":    "the zstd data is damaged",
		"\xfd7zXZ\x00and so on":      "compressed as xz",
		"PK\x03\x04 and so on, more": "compressed as zip",
	} {
		db := filepath.Join(t.TempDir(), "db")
		file := written(t, source)
		fails(t, execute(t, "", "import", "-jsonl", file, "-key", "id", db), exitError, file, want)
	}
}

func TestImport_goesOnInACompressedFile(t *testing.T) {
	gz, zst := packed(t, "\ufeff1\n\n2\n3\n4\n\n\n5\n6\n7\n8\n9\n")
	for _, source := range []string{gz, zst} {
		file := written(t, source)
		goesOn(t, &importFlags{jsonl: file, into: &path{"to"}}, "-jsonl", file, "-bucket", "to")
	}
	gz, _ = packed(t, "a;b\n\n1;\"x\ny\"\r\n2;\n\n3;z\n4;\"\n\n\"\n5;5\n6;6\n7;7\n8;8\n")
	file := written(t, gz)
	o := &importFlags{csv: file, delimiter: ";", into: new(path)}
	goesOn(t, o, "-csv", file, "-delimiter", ";")
}

func TestImport_ofStandardInputIsAllOrNothing(t *testing.T) {
	var lines strings.Builder
	for i := range 25_000 {
		fmt.Fprintln(&lines, i)
	}
	db := filepath.Join(t.TempDir(), "db")
	for _, flags := range [][]string{{}, {"-feed", "f"}, {"-bucket", "b"}} {
		args := append([]string{"import", "-jsonl", "-", db}, flags...)
		fails(t, execute(t, lines.String()+"x\n", args...), exitError,
			"standard input line 25001: not JSON", "this run has imported nothing")
		equal(t, output(t, "dump", db), "{\"stoat\":2}\n{\"end\":true}\n")
	}
	ctx, cancel := context.WithCancel(t.Context())
	in := &interrupter{strings.NewReader(lines.String()), lines.Len() - 100, cancel}
	o := &importFlags{jsonl: "-", into: new(path)}
	err := importHere(ctx, newStdio(in, io.Discard, io.Discard), o, db)
	if !errors.Is(err, errInterrupted) || !strings.HasSuffix(err.Error(), "imported nothing") {
		t.Errorf("interrupted it returns %v", err)
	}
	equal(t, output(t, "dump", db), "{\"stoat\":2}\n{\"end\":true}\n")
	if r := execute(t, lines.String(), "import", "-jsonl", "-", db); r.code != exitOK ||
		!strings.HasPrefix(r.out, "25,000 entries, ") {
		t.Errorf("exit code %d, it prints %s%s", r.code, r.out, r.err)
	}
}

func TestImportCSV_takesOtherDelimiters(t *testing.T) {
	want := "a\t{\"id\":\"a\",\"x\":\"1,;\\u0009|\\\"\"}\n"
	for _, c := range []struct{ delimiter, text string }{
		{",", "id,x\na,\"1,;\t|\"\"\"\n"},
		{";", "id;x\na;\"1,;\t|\"\"\"\n"},
		{"|", "id|x\r\n\"a\"|\"1,;\t|\"\"\"\r\n"},
		{"tab", "id\tx\na\t\"1,;\t|\"\"\"\n"},
		{`\t`, "id\tx\na\t\"1,;\t|\"\"\"\n"},
		{"§", "id§x\na§\"1,;\t|\"\"\"\n"},
	} {
		db := filepath.Join(t.TempDir(), "db")
		output(t, "import", "-csv", written(t, c.text), "-delimiter", c.delimiter, "-key", "id", db)
		equal(t, output(t, "scan", db), want)
	}
	file := written(t, "id;x\na;1\n")
	fails(t, execute(t, "", "import", "-csv", file, "-key", "id", "db"), exitError,
		`all columns are one, "id;x"`)
	for _, bad := range []string{"ab", `"`, "\n", "\xff"} {
		fails(t, execute(t, "", "import", "-csv", file, "-delimiter", bad, "db"), exitUsage,
			"want one character")
	}
	fails(t, execute(t, "", "import", "-tsv", file, "-delimiter", ";", "db"), exitUsage, "is for -csv")
}

func TestImportTSV_takesQuotesAsTheyStand(t *testing.T) {
	file := written(t, "id\tx\r\n\"a\t5\" disk\r\nb\t\n")
	db := filepath.Join(t.TempDir(), "db")
	output(t, "import", "-tsv", file, "-key", "id", db)
	equal(t, output(t, "scan", db), `"a	{"id":"\"a","x":"5\" disk"}
b	{"id":"b","x":""}
`)
}

func TestImportCSV_keepsTheEndsOfLinesInAField(t *testing.T) {
	file := written(t, "id,x\r\na,\"one\r\ntwo\nthree\r\"\r\n")
	db := filepath.Join(t.TempDir(), "db")
	output(t, "import", "-csv", file, "-key", "id", "-value", "x", db)
	equal(t, output(t, "get", db, "a"), "one\r\ntwo\nthree\r")
}

func TestImport_storesTheFieldThatIsTheValue(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	output(t, "import", "-key", "k", "-value", "v", db, "-jsonl", written(t, `{"k":"a","v":"te\"xt"}
{"k64":"/w==","v":{"x": [1 ]}}
{"k":3,"v64":"AP8="}
{"k":"null","v":null}
`))
	equal(t, output(t, "scan", "-json", db), `{"key":"3","value64":"AP8="}
{"key":"a","value":"te\"xt"}
{"key":"null","value":"null"}
{"key64":"/w==","value":"{\"x\": [1 ]}"}
`)
	for line, want := range map[string]string{
		`{"k":"a"}`:             `no field "v" to be the value`,
		`{"k":"a","v64":1}`:     `the field "v64" is not base64 text`,
		`{"k":"a","v64":"?"}`:   `"v64" is not base64`,
		`{"k64":"?","v":"x"}`:   `"k64" is not base64`,
		`["k","v"]`:             "not a JSON object",
		`{"v":"x"}`:             `no field "k" to be the key`,
		`{"k64":"","v":"x"}`:    "the key is empty",
		`{"k":["a"],"v":"x"}`:   `the field "k" is neither a text nor a number`,
		`{"K":"a","v":"x"}`:     `no field "k"`,
		`{"k":"a","V":"x"}`:     `no field "v"`,
		`{"k":true,"v":"text"}`: `the field "k" is neither a text nor a number`,
	} {
		fails(t, execute(t, line, "import", "-key", "k", "-value", "v", db, "-jsonl", "-"), exitError,
			"standard input line 1: "+want)
	}
	rows := filepath.Join(t.TempDir(), "db")
	file := written(t, "k64,v64,x\n/w==,AP8=,1\n")
	output(t, "import", "-key", "k", "-value", "v", rows, "-csv", file)
	equal(t, output(t, "scan", "-json", rows), `{"key64":"/w==","value64":"AP8="}`+"\n")
}

func TestImport_keepsWhenEntriesExpire(t *testing.T) {
	at := time.Now().Add(time.Hour)
	lines := fmt.Sprintf(`{"k":"text","v":"1","e":%q}
{"k":"number","v":"2","e":%d}
{"k":"never","v":"3"}
{"k":"null","v":"4","e":null}
{"k":"twice","v":"5"}
{"k":"over","v":"6","e":"2001-01-01T00:00:00Z"}
{"k":"twice","v":"7","e":978307200.5}
`, at.Format(time.RFC3339Nano), at.Unix())
	db := filepath.Join(t.TempDir(), "db")
	r := summary(t, "import", "-key", "k", "-value", "v", "-expires", "e", db, "-jsonl",
		written(t, lines))
	if r.Entries != 5 || r.Expired != 2 {
		t.Errorf("the summary says %+v", r)
	}
	equal(t, output(t, "scan", db), "never\t3\nnull\t4\nnumber\t2\ntext\t1\n")
	fails(t, execute(t, `{"k":"a","v":"","e":"soon"}`, "import", "-key", "k", "-expires", "e", db,
		"-jsonl", "-"), exitError, `"soon" is no time of expiry`)
	fails(t, execute(t, "", "import", "-expires", "e", db, "-jsonl", "-"), exitUsage, "give -key")
}
