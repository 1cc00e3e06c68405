package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
)

// filled returns the path of a database with all that a dump has to carry.
func filled(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "filled.db")
	db, err := stoat.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *stoat.Tx) error {
		if err := fill(tx, "root"); err != nil {
			return err
		}
		for _, name := range []string{"plain", "sl/ash", "\xff\xfe", "ünï"} {
			b, err := tx.CreateBucket([]byte(name))
			if err != nil {
				return err
			}
			if err := fill(b, name); err != nil {
				return err
			}
			if _, err := b.CreateBucket([]byte("empty")); err != nil {
				return err
			}
			inner, err := b.CreateBucket([]byte("inner\x80"))
			if err != nil {
				return err
			}
			if err := fill(inner, "inner of "+name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// fill writes entries that are hard to write down, and a sequence.
func fill(b stoat.KeySpace, value string) error {
	entries := map[string]string{
		"text":         value,
		"empty":        "",
		"<html> & \"q": "</html>\n\t\r\u2028\u0000\u007f",
		"replacement":  "\ufffd",
		"\x00":         "\x00",
		"\xff":         "\xff\xfe\x00binary",
		"cut \xe2\x82": "cut \xe2\x82",
		"long":         strings.Repeat("0123456789abcdef\n", 10_000),
	}
	var key [4]byte
	for i := range uint32(300) {
		binary.LittleEndian.PutUint32(key[:], i*0x01030507)
		entries[string(key[:])] = fmt.Sprint(value, i)
	}
	for key, value := range entries {
		if err := b.Put([]byte(key), []byte(value)); err != nil {
			return err
		}
	}
	return b.SetSequence(uint64(len(value)) << 55)
}

func TestDump_isLoadedAsItWas(t *testing.T) {
	first := filled(t)
	file := filepath.Join(t.TempDir(), "dump.jsonl")
	equal(t, output(t, "dump", first, file), "")
	text := output(t, "dump", first)
	onDisk, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, string(onDisk), text)

	second := filepath.Join(t.TempDir(), "second.db")
	equal(t, output(t, "load", second, file), "")
	equal(t, output(t, "dump", second), text)

	third := filepath.Join(t.TempDir(), "third.db")
	if r := execute(t, text, "load", third); r.code != exitOK {
		t.Fatal(r.err)
	}
	equal(t, output(t, "dump", third, "-"), text)
	if r := execute(t, text, "load", third, "-"); r.code != exitOK { // over itself
		t.Fatal(r.err)
	}
	equal(t, output(t, "dump", third), text)
}

func TestDump_hasTheDocumentedForm(t *testing.T) {
	db := sample(t)
	equal(t, output(t, "dump", db), `{"stoat":2}
{"key":"ant","value":"1"}
{"key":"bee","value":"2"}
{"key":"beetle","value":""}
{"key":"cow","value":"two\nlines"}
{"key64":"/wA=","value64":"AP8="}
{"bucket":["a"],"sequence":0}
{"bucket":["a","b"],"sequence":0}
{"bucket":["a","b"],"key":"deep","value":"in b"}
{"bucket":["a","c"],"sequence":0}
{"bucket":["a","c"],"key":"deep","value":"in c"}
{"bucket":["s/t"],"sequence":0}
{"bucket":["s/t"],"key":"key","value":"value"}
{"end":true}
`)
}

func TestDump_replacesTheFileOnlyWhenComplete(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "dump.jsonl")
	if err := os.WriteFile(file, []byte("earlier"), 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, execute(t, "", "dump", filepath.Join(dir, "none.db"), file), exitError, "no database")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, string(text), "earlier")
	output(t, "dump", sample(t), file)
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != 1 {
		t.Errorf("files left: %q (%v)", names, err)
	}
	fails(t, execute(t, "", "dump", sample(t), dir), exitError, "not a regular file")
}

func TestDump_endsWhenInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := newStdio(nil, io.Discard, io.Discard)
	if err := dump(ctx, s, sample(t), io.Discard); !errors.Is(err, errInterrupted) {
		t.Errorf("dump returns %v when interrupted", err)
	}
}

func TestLoad_refusesWhatIsNoDump(t *testing.T) {
	dir := t.TempDir()
	for _, text := range []string{
		"", "\n", "hello\n", "{}\n", `{"key":"a","value":"b"}` + "\n", `{"stoat":0}`,
		`{"stoat":1,"end":true}`, `{"stoat":2}{"stoat":2}`, `{"stoat":-5}`, `{"stoat":1.5}`,
		`{"stoat":null}`, `{"Stoat":1}`, `{"stoat":2,"stoat":2}`, `{"stoat":1,"key":null}`,
	} {
		db := filepath.Join(dir, "db")
		fails(t, execute(t, text, "load", db), exitError, "standard input line 1: ", "dump")
	}
	fails(t, execute(t, `{"stoat":3}`, "load", filepath.Join(dir, "db")), exitError, "line 1: ",
		"made by a newer stoat")
	fails(t, execute(t, "", "load", filepath.Join(dir, "db"), filepath.Join(dir, "none")), exitError,
		"none")
	if names, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || names != nil {
		t.Errorf("load created %q (%v)", names, err)
	}
}

func TestLoad_namesTheBadLineAndLoadsNothingOfItsBatch(t *testing.T) {
	for _, line := range []string{
		"",
		"null",
		"hello",
		`{"key":"a"}`,
		`{"value":"a"}`,
		`{"bucket":["a"]}`,
		`{"key":"a","value":"b","sequence":1}`,
		`{"key":"a","key64":"YQ==","value":"b"}`,
		`{"key":"a","value":"b","value64":"YQ=="}`,
		`{"bucket":["a"],"bucket64":["YQ=="],"sequence":1}`,
		`{"key":"a","value":"b"} {"key":"a","value":"b"}`,
		`{"key":"a","value":"b","colour":"red"}`,
		`{"key":"","value":"b"}`,
		`{"key64":"?","value":"b"}`,
		`{"bucket":["a",""],"sequence":1}`,
		`{"bucket":["a"],"sequence":-1}`,
		`{"bucket":["a"],"sequence":18446744073709551616}`,
		`{"bucket":["a"],"end":true}`,
		"{\"key\":\"\xff\",\"value\":\"b\"}",
		`{"stoat":2}`,
	} {
		text := `{"stoat":2}` + "\n" + `{"key":"good","value":"1"}` + "\n" + line + "\n{\"end\":true}\n"
		db := filepath.Join(t.TempDir(), "db")
		t.Run(line, func(t *testing.T) {
			fails(t, execute(t, text, "load", db), exitError, "standard input line 3: ",
				"before line 2 are loaded")
			equal(t, output(t, "scan", db), "")
		})
	}
}

func TestLoad_refusesWhatPackageJSONLetsPass(t *testing.T) {
	for _, c := range []struct{ line, complaint string }{
		{`{"key":"a","value":"\ud800"}`, `\ud800 is half a character`},
		{`{"key":"a","value":"\uDFFF"}`, `\uDFFF is half a character`},
		{`{"key":"a","value":"\ud800\ud800"}`, `\ud800 is half a character`},
		{`{"key":"a","value":"\ud800x\udc00"}`, `\ud800 is half a character`},
		{`{"key":"\ud83d\ude00\udE00","value":"b"}`, `\udE00 is half a character`},
		{`{"bucket":["\ud800\\udc00"],"sequence":1}`, `\ud800 is half a character`},
		{`{"key":"a","key":"a","value":"b"}`, `"key" is repeated`},
		{`{"key":"a","value":"b","value" : "c"}`, `"value" is repeated`},
		{`{"bucket":["a"],"bucket":["b"],"sequence":1}`, `"bucket" is repeated`},
		{`{"end":true,"end":true}`, `"end" is repeated`},
		{`{"key":"a","value":"b","Value":"c"}`, `"Value" is not a field of a dump`},
		{`{"key":"a","Value":"b"}`, `"Value" is not a field of a dump`},
		{`{"KEY":"a","value":"b"}`, `"KEY" is not a field of a dump`},
		{`{"\u006bey":"a","value":"b"}`, `"\\u006bey" is not a field of a dump`},
		{`{"key":"a","value":"b","":1}`, `"" is not a field of a dump`},
		{`{"key":"a","value":"b","x":{"key":"a"}}`, `"x" is not a field of a dump`},
		{`{"key":"a","value":"b","bucket":null}`, "null or false"},
		{`{"key":"a","value":"b","end":false}`, "null or false"},
		{`{"stoat":0,"key":"a","value":"b"}`, "neither"},
	} {
		text := `{"stoat":2}` + "\n" + `{"key":"good","value":"1"}` + "\n" + c.line + "\n{\"end\":true}\n"
		db := filepath.Join(t.TempDir(), "db")
		t.Run(c.line, func(t *testing.T) {
			fails(t, execute(t, text, "load", db), exitError, "standard input line 3: "+c.complaint,
				"before line 2 are loaded")
			equal(t, output(t, "scan", db), "")
		})
	}
}

func TestLoad_readsEveryEscape(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	text := `{"stoat":2}` + "\n" + `{ "key" : "\ud83d\uDE00\u00e4\ufffd" , ` +
		`"value":"\\ud800 \"key\":null \/\b\f\n\r\t" }` + "\n" + `{"end":true}` + "\n"
	if r := execute(t, text, "load", db); r.code != exitOK {
		t.Fatal(r.err)
	}
	equal(t, output(t, "scan", db), "😀ä\ufffd\t\\ud800 \"key\":null /\b\f\n\r\t\n")
}

func TestLoad_keepsWhatWasLoadedBeforeTheError(t *testing.T) {
	var text bytes.Buffer
	text.WriteString(`{"stoat":2}` + "\n")
	for i := range batchEntriesMax + 5 {
		fmt.Fprintf(&text, `{"key":"%08d","value":"v"}`+"\n", i)
	}
	db := filepath.Join(t.TempDir(), "db")
	fails(t, execute(t, text.String(), "load", db), exitError, "cut short",
		fmt.Sprintf("line %d: ", batchEntriesMax+7),
		fmt.Sprintf("before line %d are loaded", batchEntriesMax+2))
	if n := strings.Count(output(t, "keys", db), "\n"); n != batchEntriesMax {
		t.Errorf("%d keys are loaded, want %d", n, batchEntriesMax)
	}
	text.WriteString(`{"end":true}` + "\n")
	if r := execute(t, text.String(), "load", db); r.code != exitOK {
		t.Fatal(r.err)
	}
	if n := strings.Count(output(t, "keys", db), "\n"); n != batchEntriesMax+5 {
		t.Errorf("%d keys are loaded, want %d", n, batchEntriesMax+5)
	}
	text.WriteString(`{"end":true}` + "\n")
	fails(t, execute(t, text.String(), "load", db), exitError, "after the end")
}

func TestLoad_takesLinesOfOtherSystems(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	text := "{\"stoat\":2}\r\n {\"bucket\":[],\"key\":\"a\",\"value\":\"b\"} \r\n{\"end\":true}"
	if r := execute(t, text, "load", db); r.code != exitOK {
		t.Fatal(r.err)
	}
	equal(t, output(t, "scan", db), "a\tb\n")
}

func FuzzParseRecord(f *testing.F) {
	for line := range strings.Lines(output(f, "dump", filled(f))) {
		if len(line) < 200 {
			f.Add([]byte(line))
		}
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := parseRecord(line)
		if err != nil {
			return
		}
		if k, err := r.kind(); err != nil || k != entryKind {
			return
		}
		e := r.entry()
		if e.value == nil {
			e.value = []byte{}
		}
		var again bytes.Buffer
		if err := entryRecord(r.path(), &e).write(&again); err != nil {
			t.Fatal(err)
		}
		s, err := parseRecord(again.Bytes())
		if err != nil {
			t.Fatalf("%s is written as %s: %v", line, again.Bytes(), err)
		}
		got := s.entry()
		if !bytes.Equal(got.key, e.key) || !bytes.Equal(got.value, e.value) ||
			!got.expires.Equal(e.expires) {
			t.Fatalf("%s is written as %s", line, again.Bytes())
		}
		equal(t, strings.Join(s.path(), "/"), strings.Join(r.path(), "/"))
	})
}

func BenchmarkParseRecord(b *testing.B) {
	for _, size := range []int{20, 2000} {
		value := strings.Repeat("a line of text,\n\"ü\"", size/20)
		var line bytes.Buffer
		e := &entry{key: []byte("some/key"), value: []byte(value)}
		if err := entryRecord(path{"a"}, e).write(&line); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.SetBytes(int64(line.Len()))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := parseRecord(line.Bytes()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
