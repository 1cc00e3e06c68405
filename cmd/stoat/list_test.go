package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

func TestScan_printsKeysAndValues(t *testing.T) {
	db := sample(t)
	equal(t, output(t, "scan", db),
		"ant\t1\nbee\t2\nbeetle\t\ncow\ttwo\nlines\n\xff\x00\t\x00\xff\n")
	equal(t, output(t, "scan", "-json", db), `{"key":"ant","value":"1"}
{"key":"bee","value":"2"}
{"key":"beetle","value":""}
{"key":"cow","value":"two\nlines"}
{"key64":"/wA=","value64":"AP8="}
`)
	equal(t, output(t, "scan", "-hex", "-start", "ff", db), "ff00\t00ff\n")
	equal(t, output(t, "scan", "-bucket", "a/c", db), "deep\tin c\n")
	equal(t, output(t, "scan", "-bucket", "a", db), "")
}

func TestKeys_printsTheSelection(t *testing.T) {
	db := sample(t)
	for _, c := range []struct{ args, want string }{
		{"-prefix bee", "bee beetle"},
		{"-prefix bee -reverse", "beetle bee"},
		{"-prefix bee -start bef", ""},
		{"-prefix bee -start beet", "beetle"},
		{"-prefix bee -end beet", "bee"},
		{"-prefix bee -start a -end z", "bee beetle"},
		{"-start bee -end cow", "bee beetle"},
		{"-end cow -reverse -limit 2", "beetle bee"},
		{"-limit 1", "ant"},
		{"-start z -end a", ""},
		{"-prefix x", ""},
	} {
		got := output(t, append([]string{"keys", db}, strings.Fields(c.args)...)...)
		if got := strings.Join(strings.Fields(got), " "); got != c.want {
			t.Errorf("keys %s prints %q, want %q", c.args, got, c.want)
		}
	}
	equal(t, output(t, "keys", "-json", "-prefix", "bee", db), `{"key":"bee"}
{"key":"beetle"}
`)
}

func TestBuckets_printsPathsThatCanBeUsed(t *testing.T) {
	db := sample(t)
	equal(t, output(t, "buckets", db), "a\ns\\/t\n")
	equal(t, output(t, "buckets", "-bucket", "a", db), "a/b\na/c\n")
	equal(t, output(t, "get", "-bucket", `s\/t`, db, "key"), "value")
	fails(t, execute(t, "", "buckets", "-bucket", "a/x", db), exitError, "no bucket a/x")
}

func TestBuckets_printsTheTree(t *testing.T) {
	db := sample(t)
	equal(t, output(t, "buckets", "-tree", db), db+`
├── a
│   ├── b
│   └── c
└── s\/t
`)
	equal(t, output(t, "buckets", "-tree", "-bucket", "a", db), "a\n├── b\n└── c\n")
	equal(t, output(t, "buckets", "-tree", "-json", db), `{"bucket":["a"],"sequence":0}
{"bucket":["a","b"],"sequence":0}
{"bucket":["a","c"],"sequence":0}
{"bucket":["s/t"],"sequence":0}
`)
}

func TestStats_countsCommitsAndBytes(t *testing.T) {
	db := sample(t)
	var r statsReport
	if err := json.Unmarshal([]byte(output(t, "stats", "-json", db)), &r); err != nil {
		t.Fatal(err)
	}
	if r.Database != db || r.Commits != 8 || r.Entries < 8 || r.DiskBytes == 0 || r.Files == 0 {
		t.Errorf("stats of the sample: %+v", r)
	}
	for line := range strings.Lines(output(t, "stats", db)) {
		if len(line) > 80 {
			t.Errorf("a line of %d columns: %s", len(line), line)
		}
	}
}

func TestPath_isReadAsItIsPrinted(t *testing.T) {
	for _, c := range []struct {
		text string
		want path
	}{
		{"a", path{"a"}},
		{"a/b", path{"a", "b"}},
		{`a\/b/c`, path{"a/b", "c"}},
		{`a\\/b`, path{`a\`, "b"}},
		{`\xff\x00`, path{"\xff\x00"}},
		{"ä/ö", path{"ä", "ö"}},
		{"", nil},
	} {
		var p path
		if err := p.Set(c.text); err != nil || p.String() != c.text || len(p) != len(c.want) {
			t.Errorf("%q is read as %q and printed as %q (%v)", c.text, p, p.String(), err)
		}
		for i := range c.want {
			if p[i] != c.want[i] {
				t.Errorf("%q is read as %q", c.text, p)
			}
		}
	}
	for _, text := range []string{"/", "a/", "/a", "a//b", `a\`, `\x`, `\x1`, `\xgg`, `\n`, `\x+1`} {
		if err := new(path).Set(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func FuzzPath(f *testing.F) {
	for _, seed := range []string{"a/b", `a\/b`, `\xff`, `\\`, "", "/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var p, again path
		if p.Set(text) != nil {
			return
		}
		if err := again.Set(p.String()); err != nil {
			t.Fatalf("%q is printed as %q: %v", text, p.String(), err)
		}
		equal(t, strings.Join(again, "/"), strings.Join(p, "/"))
	})
}

func TestScan_reportsADirectoryThatIsNoDatabase(t *testing.T) {
	dir := t.TempDir()
	fails(t, execute(t, "", "scan", dir), exitError, dir)
	if files, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || files != nil {
		t.Errorf("scan left %q (%v)", files, err)
	}
}
