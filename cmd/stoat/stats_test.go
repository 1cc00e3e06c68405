package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// statsOf returns what stats prints as JSON.
func statsOf(t testing.TB, args ...string) (r statsReport) {
	t.Helper()
	text := output(t, append([]string{"stats", "-json"}, args...)...)
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestStats_hasAReportThatFitsAScreen(t *testing.T) {
	db := sample(t)
	long := strings.Repeat("a long name/ü/", 10)
	output(t, "put", db, "-bucket", long+"inner", "key", "value")
	text := output(t, "stats", "-buckets", db)
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
	for _, part := range []string{
		"What is stored\n  commits                     9  since",
		"\nWhere it lies\n", "\nWhat it costs\n",
		"\nBucket ", " codec\n", " raw\n", "\n  (root)  ", "\n  a/b  ", `s\/t`, "…",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("stats lacks %q:\n%s", part, text)
		}
	}
}

func TestStats_countsWhatIsInEachBucket(t *testing.T) {
	db := sample(t)
	output(t, "put", db, "-bucket", `\xff`, "key", "value")
	if r := statsOf(t, db); r.Buckets != nil || r.RawBytes == 0 || r.SpaceAmplification != 1 {
		t.Errorf("stats of the sample: %+v", r)
	}
	text := output(t, "stats", "-json", "-buckets", db)
	stored := regexp.MustCompile(`,"storedBytes":\d+,"zstdBytes":0,"patternBytes":0`)
	if found := stored.FindAllString(text, -1); len(found) != 6 {
		t.Errorf("of %d buckets stats says how they are stored, want 6:\n%s", len(found), text)
	}
	text = stored.ReplaceAllString(text, "")
	want := `"buckets":[{"keys":5,"bytes":30},{"bucket":["a"],"keys":0,"bytes":0},` +
		`{"bucket":["a","b"],"keys":1,"bytes":8},{"bucket":["a","c"],"keys":1,"bytes":8},` +
		`{"bucket":["s/t"],"keys":1,"bytes":8},{"bucket64":["/w=="],"keys":1,"bytes":8}]}` + "\n"
	if !strings.HasSuffix(text, want) {
		t.Errorf("got:\n%s\nwant at the end:\n%s", text, want)
	}
}

func TestStats_ofADatabaseWithoutKeys(t *testing.T) {
	db := sample(t)
	output(t, "del", db, "ant", "bee", "beetle", "cow")
	output(t, "del", db, "-hex", "ff00")
	if r := statsOf(t, "-buckets", db); r.Buckets[0].Keys != 0 || r.Buckets[0].Bytes != 0 {
		t.Errorf("in the root bucket there is %+v", r.Buckets[0])
	}
}
