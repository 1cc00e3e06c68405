package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// expiring returns the path of a database with keys that expire, in the root bucket and in another.
func expiring(t testing.TB) string {
	t.Helper()
	db := filepath.Join(t.TempDir(), "expiring.db")
	for _, args := range [][]string{
		{"put", db, "hour", "1", "-ttl", "1h"},
		{"put", db, "stays", "2"},
		{"put", db, "week", "3", "-ttl", "7d"},
		{"put", db, "-bucket", "a/b", "day", "4", "-ttl", "1d"},
	} {
		output(t, args...)
	}
	return db
}

func TestTTL_saysHowLongAKeyStays(t *testing.T) {
	db := expiring(t)
	for key, want := range map[string]string{
		"hour": `^(1h0m0s|59m\d+(\.\d+)?s)\n$`, "stays": "^never\n$", "week": `^16[78]h.*s\n$`,
	} {
		if text := output(t, "ttl", db, key); !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("ttl of %s prints %q", key, text)
		}
	}
	equal(t, output(t, "ttl", "-json", db, "stays"), `{"key":"stays"}`+"\n")
	at := `"expires":"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z"}`
	inner := regexp.MustCompile(`^\{"bucket":\["a","b"\],"key":"day",` + at + "\n$")
	if text := output(t, "ttl", "-json", "-bucket", "a/b", db, "day"); !inner.MatchString(text) {
		t.Errorf("it prints %q", text)
	}
	whole := regexp.MustCompile(`^\{"key":"hour","value":"1",` + at + "\n$")
	if text := output(t, "get", "-json", db, "hour"); !whole.MatchString(text) {
		t.Errorf("get prints %q", text)
	}
	fails(t, execute(t, "", "ttl", db, "none"), exitNotFound, `"none"`)
	fails(t, execute(t, "", "ttl", db, "-set", "1h", "none"), exitNotFound, `"none"`)
	fails(t, execute(t, "", "ttl", db, "-bucket", "x", "-stay", "none"), exitError, "no bucket x")
}

func TestTTL_changesHowLongAKeyStays(t *testing.T) {
	db := expiring(t)
	output(t, "ttl", db, "hour", "-stay")
	equal(t, output(t, "ttl", db, "hour"), "never\n")
	output(t, "ttl", db, "stays", "-set", "2d12h")
	text := output(t, "ttl", db, "stays")
	if !strings.HasPrefix(text, "59h") && text != "60h0m0s\n" {
		t.Errorf("it stays for %s", text)
	}
	equal(t, output(t, "scan", db, "-end", "t"), "hour\t1\nstays\t2\n")
	output(t, "put", db, "week", "new")
	equal(t, output(t, "ttl", db, "week"), "never\n")
	none := filepath.Join(t.TempDir(), "none.db")
	fails(t, execute(t, "", "ttl", none, "key", "-stay"), exitError, "no database at "+none)
	for _, args := range [][]string{
		{"-set", "0"}, {"-set", "-1h"}, {"-set", "soon"}, {"-set", "1x"}, {"-set", "d"},
		{"-set", "9999999d"}, {"-set", "1h", "-stay"}, {"-stay", "-json"},
	} {
		fails(t, execute(t, "", append([]string{"ttl", db, "hour"}, args...)...), exitUsage)
	}
}

func TestScan_printsWhenKeysExpire(t *testing.T) {
	db := expiring(t)
	at := `20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z`
	text := output(t, "scan", "-expires", db)
	if !regexp.MustCompile("^hour\t" + at + "\t1\nstays\tnever\t2\nweek\t" + at + "\t3\n$").
		MatchString(text) {
		t.Errorf("scan prints %q", text)
	}
	keys := output(t, "keys", "-expires", "-reverse", db)
	if !regexp.MustCompile("^week\t" + at + "\nstays\tnever\nhour\t" + at + "\n$").MatchString(keys) {
		t.Errorf("keys prints %q", keys)
	}
	// What each of them says is the same moment.
	moment := strings.Split(text, "\t")[1]
	for _, text := range []string{
		keys, output(t, "get", "-json", db, "hour"), output(t, "ttl", "-json", db, "hour"),
		output(t, "scan", "-json", db), output(t, "dump", db),
		execute(t, "", "export", "-jsonl", "-", db).out, execute(t, "", "export", "-csv", "-", db).out,
	} {
		if !strings.Contains(text, moment) {
			t.Errorf("%s is not in %s", moment, text)
		}
	}
}

func TestDump_keepsWhenKeysExpire(t *testing.T) {
	db := expiring(t)
	text := output(t, "dump", db)
	if n := strings.Count(text, `,"expires":"`); n != 3 {
		t.Errorf("%d of 3 keys expire in %s", n, text)
	}
	again := filepath.Join(t.TempDir(), "again.db")
	if r := execute(t, text, "load", again); r.code != exitOK || r.err != "" {
		t.Fatal(r.err)
	}
	equal(t, output(t, "dump", again), text)
	for _, flags := range [][]string{{"-jsonl"}, {"-value", "value", "-csv"}} {
		file, to := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "to.db")
		if r := execute(t, "", append(append([]string{"export", db}, flags...), file)...); r.code != 0 {
			t.Fatal(r.err)
		}
		args := []string{"import", to, "-key", "key", "-value", "value", "-expires", "expires"}
		output(t, append(args, flags[len(flags)-1], file)...)
		equal(t, output(t, "scan", "-json", to), output(t, "scan", "-json", db))
	}
}

func TestLoad_leavesOutWhatHasExpired(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	output(t, "put", db, "over", "earlier")
	output(t, "put", db, "other", "earlier")
	text := `{"stoat":2}
{"key":"over","value":"1","expires":"2001-02-03T04:05:06Z"}
{"bucket":["b"],"sequence":0}
{"bucket":["b"],"key":"gone","value":"1","expires":"2001-02-03T04:05:06.789Z"}
{"end":true}
`
	r := execute(t, text, "load", db)
	if r.code != exitOK || r.err != "stoat: note: of standard input, 2 entries had expired and were "+
		"not loaded\n" {
		t.Errorf("exit code %d, stderr %q", r.code, r.err)
	}
	equal(t, output(t, "scan", db), "other\tearlier\n")
	equal(t, output(t, "buckets", db), "b\n")
	equal(t, output(t, "scan", "-bucket", "b", db), "")
}

func TestLoad_saysWhatAnOldDumpLacks(t *testing.T) {
	text := "{\"stoat\":1}\n{\"key\":\"a\",\"value\":\"1\"}\n{\"end\":true}\n"
	note := "stoat: note: standard input is a dump of version 1, which does not say when entries " +
		"expire: all of them stay\n"
	for _, name := range []string{"load", "bulk-load"} {
		db := filepath.Join(t.TempDir(), "db")
		if r := execute(t, text, name, db); r.code != exitOK || r.err != note {
			t.Errorf("%s: exit code %d, stderr %q", name, r.code, r.err)
		}
		equal(t, output(t, "scan", db), "a\t1\n")
	}
	mixed := strings.Replace(text, "}\n{\"end", ",\"expires\":\"2030-01-01T00:00:00Z\"}\n{\"end", 1)
	r := execute(t, mixed, "load", filepath.Join(t.TempDir(), "db"))
	if r.code != exitError || !strings.Contains(r.err, "line 2: a time of expiry, which a dump of "+
		"version 1 does not have") {
		t.Errorf("exit code %d, stderr %q", r.code, r.err)
	}
}

func TestLoad_refusesBadTimesOfExpiry(t *testing.T) {
	for line, want := range map[string]string{
		`{"key":"a","value":"b","expires":"soon"}`:                      "not what dump writes",
		`{"key":"a","value":"b","expires":7}`:                           "not what dump writes",
		`{"key":"a","value":"b","expires":null}`:                        "null or false",
		`{"key":"a","expires":"2030-01-01T00:00:00Z"}`:                  "without a key and a value",
		`{"expires":"2030-01-01T00:00:00Z","end":true}`:                 "without a key and a value",
		`{"key":"a","value":"b","expires":"9999-12-31T23:59:59-10:00"}`: "in the year 10000",
	} {
		text := fmt.Sprintf("{\"stoat\":2}\n%s\n{\"end\":true}\n", line)
		fails(t, execute(t, text, "load", filepath.Join(t.TempDir(), "db")), exitError, want)
	}
	db := filepath.Join(t.TempDir(), "db")
	far := `{"key":"a","value":"b","expires":"9999-12-31T23:59:59Z"}`
	if r := execute(t, "{\"stoat\":2}\n"+far+"\n{\"end\":true}\n", "load", db); r.code != exitOK {
		t.Error(r.err)
	}
	if text := output(t, "dump", db); !strings.Contains(text, far) {
		t.Errorf("it is dumped as %s", text)
	}
}
