package main

import (
	"bufio"
	"bytes"
	"testing"
)

func TestFormat_quotesOnATerminalOnly(t *testing.T) {
	var f format
	for _, c := range []struct{ value, item, document string }{
		{"plain", "plain", "plain\n"},
		{"naïve ☃", "naïve ☃", "naïve ☃\n"},
		{"", `""`, "\"\"\n"},
		{`"quoted"`, `"\"quoted\""`, `"\"quoted\""` + "\n"},
		{"two\nlines\n", `"two\nlines\n"`, "two\nlines\n"},
		{"of\r\nWindows\r\n", `"of\r\nWindows\r\n"`, "of\r\nWindows\r\n"},
		{"\x1b[31mred", `"\x1b[31mred"`, `"\x1b[31mred"` + "\n"},
		{"\xff", `"\xff"`, `"\xff"` + "\n"},
	} {
		equal(t, f.item([]byte(c.value), true), c.item)
		equal(t, f.document([]byte(c.value), true), c.document)
		equal(t, f.item([]byte(c.value), false), c.value)
		equal(t, f.document([]byte(c.value), false), c.value)
		raw := format{raw: true}
		equal(t, raw.item([]byte(c.value), true), c.value)
	}
}

func TestShorten_leavesOutTheMiddle(t *testing.T) {
	equal(t, shorten("src/net/http/", 13), "src/net/http/")
	equal(t, shorten("src/net/http/", 7), "src…tp/")
}

func TestTable_alignsWhatItPaints(t *testing.T) {
	var out bytes.Buffer
	s := &stdio{out: bufio.NewWriter(&out), colour: true}
	table := &table{s, []column{{width: 4}, {width: 6, right: true, look: bold}, {width: 3}}}
	for _, cells := range [][]string{{"a", "12", "x"}, {"µ", "", "y"}, {"long text", "1"}} {
		if err := table.row(cells...); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, out.String(),
		"a         \x1b[1m12\x1b[0m  x\nµ             y\nlong text       \x1b[1m1\x1b[0m\n")
}

func TestStdio_coloursWhereColoursAreUnderstood(t *testing.T) {
	for _, c := range []struct {
		goos, name string
		want       bool
	}{
		{"linux", "", true},
		{"linux", "NO_COLOR", false},
		{"windows", "", false},
		{"windows", "WT_SESSION", true},
	} {
		got := coloured(c.goos, func(name string) string {
			if name == c.name {
				return "1"
			}
			return ""
		})
		if got != c.want {
			t.Errorf("%s with %q: %v, want %v", c.goos, c.name, got, c.want)
		}
	}
	s := newStdio(nil, new(bytes.Buffer), new(bytes.Buffer))
	if s.outTerminal || s.errTerminal || s.colour {
		t.Error("a buffer is taken for a terminal")
	}
	equal(t, s.paint("text", bold), "text")
}
