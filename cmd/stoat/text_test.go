package main

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
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

func TestUnits_haveThreeSignificantDigits(t *testing.T) {
	for n, want := range map[float64]string{
		0: "0 B", 999: "999 B", 1000: "1.00 kB", 9994: "9.99 kB", 9996: "10.0 kB",
		123456: "123 kB", 999499: "999 kB", 999500: "1.00 MB", 98.7e6: "98.7 MB", 5e12: "5.00 TB",
	} {
		equal(t, byteText(n), want)
	}
	for d, want := range map[time.Duration]string{
		0: "0 ns", 999: "999 ns", 1234: "1.23 µs", 56 * time.Millisecond: "56.0 ms",
		999_600: "1.00 ms", 90 * time.Second: "90.0 s", 2 * time.Hour: "7200 s",
	} {
		equal(t, durationText(d), want)
	}
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234",
	} {
		equal(t, countText(n), want)
	}
	equal(t, counted(1, "file"), "1 file")
	equal(t, counted(1000, "file"), "1,000 files")
	equal(t, shorten("src/net/http/", 13), "src/net/http/")
	equal(t, shorten("src/net/http/", 7), "src…tp/")
}

func TestProgress_showsShareRateAndTimeLeft(t *testing.T) {
	equal(t, progressLine("load", 25e6, 100e6, time.Second),
		"load  ██████░░░░░░░░░░░░░░░░░░ 25 %  25.0 MB/s  3s left")
	equal(t, progressLine("load", 5e6, 0, 2*time.Second), "load  5.00 MB  2.50 MB/s")
	equal(t, progressLine("dump", 300, 200, time.Second),
		"dump  ███████████████████████░ 99 %  300 B/s  0s left")
	equal(t, progressLine("dump", 0, 200, 0),
		"dump  "+strings.Repeat("░", barColumns)+"  0 %  0 B/s  - left")
	line := progressLine("compare", 1, 1e15, time.Second)
	if n := utf8.RuneCountInString(line); n > progressColumns {
		t.Errorf("a line of %d columns", n)
	}
}

func TestProgress_isDrawnOnATerminalOnly(t *testing.T) {
	var screen bytes.Buffer
	s := &stdio{err: &screen}
	p := newProgress(s, "load", 100)
	p.add(50)
	p.finish()
	equal(t, screen.String(), "")
	s.errTerminal = true
	p = newProgress(s, "load", 100)
	p.finish()
	equal(t, screen.String(), "")
	p = newProgress(s, "load", 100)
	p.drawn = p.drawn.Add(-time.Second)
	p.add(50)
	p.finish()
	text := screen.String()
	if !strings.HasPrefix(text, "\rload  █") || !strings.HasSuffix(text, "\r") {
		t.Errorf("drawn: %q", text)
	}
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
