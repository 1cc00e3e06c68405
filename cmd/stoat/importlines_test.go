package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestImportJSONL_numbersLines(t *testing.T) {
	file := written(t, "\ufeff{\"a\": 1}\r\n\n [1, \"<ä>\"] \nnull")
	db := filepath.Join(t.TempDir(), "db")
	r := summary(t, "import", "-jsonl", file, "-bucket", "x/y", db)
	if r.Kind != "jsonl" || r.Entries != 3 || r.Bytes != 8+11+4 || r.Bucket != "x/y" || r.Resumed ||
		r.Source != file || r.Database != db || len(r.Findings) != 0 {
		t.Errorf("the summary says %+v", r)
	}
	equal(t, output(t, "scan", "-bucket", "x/y", "-json", db),
		`{"bucket":["x","y"],"key":"\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000","value":"{\"a\": 1}"}
{"bucket":["x","y"],"key":"\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0001","value":"[1, \"<ä>\"]"}
{"bucket":["x","y"],"key":"\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0002","value":"null"}
`)
	if r := summary(t, "import", "-jsonl", file, "-bucket", "x/y", db); r.Entries != 3 {
		t.Errorf("the second summary says %+v", r)
	}
	if n := strings.Count(output(t, "keys", "-hex", "-bucket", "x/y", db), "\n"); n != 6 {
		t.Errorf("imported twice, there are %d entries", n)
	}
}

func TestImportJSONL_takesKeysFromAField(t *testing.T) {
	file := written(t, `{"id":"b","n":1}
{"n":2,"id":17.50}
{"id":"\u0061","n":3}
{"id":"b","n":4}
`)
	db := filepath.Join(t.TempDir(), "db")
	text := output(t, "import", "-jsonl", file, "-key", "id", db)
	if !strings.HasPrefix(text, "4 entries, 79 B in ") || strings.Count(text, "\n") != 1 {
		t.Errorf("it prints %q", text)
	}
	equal(t, output(t, "scan", db), `17.50	{"n":2,"id":17.50}
a	{"id":"\u0061","n":3}
b	{"id":"b","n":4}
`)
}

func TestImportJSONL_saysWhatIsBadAndWhere(t *testing.T) {
	long := `"` + strings.Repeat("x", keyBytesMax+1) + `"`
	for line, want := range map[string]string{
		`{"id":"a"`:           "not JSON: unexpected end",
		`{"id":"a"} x`:        "not JSON: invalid character 'x'",
		"{\"id\":\"\xff\"}":   "not valid UTF-8",
		`["id"]`:              "not a JSON object",
		`null`:                "not a JSON object",
		`{"ID":"a"}`:          `no field "id"`,
		`{"id":true}`:         `the field "id" is neither a text nor a number`,
		`{"id":null}`:         `the field "id" is neither a text nor a number`,
		`{"id":{}}`:           `the field "id" is neither a text nor a number`,
		`{"id":""}`:           "the key is empty",
		`{"id":` + long + `}`: "the key has 65536 bytes",
	} {
		file := written(t, "{\"id\":1}\n\n"+line+"\n{\"id\":2}\n")
		db := filepath.Join(t.TempDir(), "db")
		fails(t, execute(t, "", "import", "-jsonl", file, "-key", "id", db), exitError,
			file+" line 3: "+want, "-skip-bad", "this run has imported nothing")
		equal(t, output(t, "keys", db), "")
		text := output(t, "import", "-jsonl", file, "-key", "id", db, "-skip-bad")
		if !strings.Contains(text, "left out because they make no sense: 1 record\n") {
			t.Errorf("it prints %q", text)
		}
		equal(t, output(t, "keys", db), "1\n2\n")
	}
}

func TestImportJSONL_goesOnBehindTheLastCommit(t *testing.T) {
	file := written(t, "\ufeff1\n\n2\n3\n4\n\n\n5\n6\n7\n8\n9\n")
	goesOn(t, &importFlags{jsonl: file, into: &path{"to"}}, "-jsonl", file, "-bucket", "to")
}

func TestImportCSV_makesObjectsOfRows(t *testing.T) {
	file := written(t, "\ufeff\"id\",na\\me\r\n1,\"a \"\"quote\"\"\"\r\n\r\n"+
		"0,\"two\nlines\x01\"\r\n2,\r\n")
	db := filepath.Join(t.TempDir(), "db")
	if r := summary(t, "import", "-csv", file, "-key", "id", db); r.Entries != 3 || r.Kind != "csv" {
		t.Errorf("the summary says %+v", r)
	}
	equal(t, output(t, "scan", db), `0	{"id":"0","na\\me":"two\nlines\u0001"}
1	{"id":"1","na\\me":"a \"quote\""}
2	{"id":"2","na\\me":""}
`)
	numbered := filepath.Join(t.TempDir(), "db")
	output(t, "import", "-csv", file, numbered)
	if text := output(t, "scan", numbered, "-limit", "1", "-hex", "-raw"); !strings.HasSuffix(text,
		"\x00\t"+`{"id":"1","na\\me":"a \"quote\""}`+"\n") {
		t.Errorf("the first entry is %q", text)
	}
}

func TestImportCSV_refusesABadHeader(t *testing.T) {
	for header, want := range map[string]string{
		"":             "the file is empty",
		"a,,b\n":       "column 2 has no name",
		"a,b,a\n":      `two columns are named "a"`,
		"a,\xff\n":     "not valid UTF-8",
		"a,b\n1,2\n":   `no column "id" to be the key`,
		"\"a,b\n1,2\n": "quote",
	} {
		fails(t, execute(t, "", "import", "-csv", written(t, header), "-key", "id", "db"), exitError,
			"the header: ", want)
	}
}

func TestImportCSV_saysWhatIsBadAndWhere(t *testing.T) {
	for row, want := range map[string]string{
		"1":          "1 field, and the header has 2",
		"1,2,3":      "3 fields, and the header has 2",
		"1,a\"b":     "bare \"",
		"1,\"a\"b":   "\"",
		"\xff,1":     "not valid UTF-8",
		",1":         "the key is empty",
		"1,\"open\n": "\"", // and all up to the end
	} {
		file := written(t, "id,x\n\n8,\"two\nlines\"\n"+row+"\n9,\n")
		db := filepath.Join(t.TempDir(), "db")
		fails(t, execute(t, "", "import", "-csv", file, "-key", "id", db), exitError,
			file+" line 5: ", want, "-skip-bad")
		r := summary(t, "import", "-csv", file, "-key", "id", db, "-skip-bad")
		if r.Skipped != 1 || r.Entries < 1 {
			t.Errorf("%q: the summary says %+v", row, r)
		}
	}
}

func TestImportCSV_goesOnBehindTheLastCommit(t *testing.T) {
	file := written(t, "\ufeffa,b\n\n1,\"x\ny\"\r\n2,\n\n3,z\n4,\"\n\n\"\n5,5\n6,6\n7,7\n8,8\n")
	goesOn(t, &importFlags{csv: file, into: new(path)}, "-csv", file)
	goesOn(t, &importFlags{csv: file, key: "a", into: new(path)}, "-csv", file, "-key", "a")
}

func TestImportCSV_countsLinesOfLaterRunsToo(t *testing.T) {
	file := written(t, "a,b\n1,\"x\ny\"\n2,2\n3,3\n4,4\n5\n")
	db := filepath.Join(t.TempDir(), "db")
	o := &importFlags{csv: file, into: new(path)}
	if err := importPart(t.Context(), t, o, db, 3, func() error { return errHere }); err == nil {
		t.Fatal("the first run succeeds")
	}
	fails(t, execute(t, "", "import", "-csv", file, db), exitError, file+" line 7: 1 field",
		"3 entries imported so far")
}
