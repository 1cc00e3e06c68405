package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestHelp_fitsIntoATerminal(t *testing.T) {
	overview := output(t, "help")
	if output(t, "-h") != overview {
		t.Error("-h prints something else")
	}
	texts := []string{overview}
	for _, c := range commands() {
		text := output(t, "help", c.Name)
		if c.Name != "help" && output(t, c.Name, "-h") != text {
			t.Errorf("%s -h prints something else than help %s", c.Name, c.Name)
		}
		contains(t, overview, "\n  "+c.Name+" ")
		texts = append(texts, text)
	}
	narrow(t, "help", strings.Join(texts, "\n"))
}

// narrow fails the test if a line has more than 80 columns.
func narrow(t testing.TB, what, text string) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("%s prints %d columns: %s", what, n, line)
		}
	}
}

// Commands that take the role of the writer say so.
func TestHelp_saysWhoBecomesTheWriter(t *testing.T) {
	for _, c := range commands() {
		takes := strings.Contains(output(t, "help", c.Name), "Takes the role of the writer")
		want := slices.Contains([]string{"init", "gc", "detach", "standby"}, c.Name)
		if takes != want {
			t.Errorf("%s: %v", c.Name, takes)
		}
	}
}

func TestRun_refusesWrongArguments(t *testing.T) {
	dir, store := shipped(t, 1)
	for _, args := range [][]string{
		{"probe"}, {"init", dir}, {"status", store, "x"}, {"status", "-colour", store},
		{"restore", store}, {"pin", store}, {"gc", "-retention", "-1h", dir, store},
		{"gc", "-retention", "0", dir, store}, {"reader", "-poll", "0", store},
		{"scan", "-limit", "-1", store}, {"help", "x"}, {"clone", store},
		{"clone", store, ""}, {"clone", "-commit", "1", "-pin", "x", store, store},
		{"detach", dir, store}, {"status", ""}, {"init", "", store},
		{"restore", store, ""}, {"pin", store, "Not a name"}, {"get", "-bucket", "a//b", store, "k"},
	} {
		fails(t, exitUsage, args, "stoat remote help "+args[0])
	}
	fails(t, exitUsage, nil, "no command")
	fails(t, exitUsage, []string{"stats"}, `"stats"`, "stoat remote help")
}

// Output for people fits into 80 columns; JSON is one object a line.
func TestRun_printsTablesAndJSON(t *testing.T) {
	_, store := shipped(t, 5)
	output(t, "pin", store, strings.Repeat("long", 30))
	for _, args := range [][]string{
		{"status", store}, {"pins", store}, {"verify", store}, {"reader", "-once", store},
	} {
		narrow(t, args[0], output(t, args...))
		lines := bufio.NewScanner(strings.NewReader(output(t, append(args, "-json")...)))
		n := 0
		for ; lines.Scan(); n++ {
			var fields map[string]any
			err := json.Unmarshal(lines.Bytes(), &fields)
			for name := range fields {
				if name != strings.ToLower(name) {
					err = fmt.Errorf("the field %s is not in lower case", name)
				}
			}
			if err != nil {
				t.Errorf("%s -json prints %s (%v)", args[0], lines.Bytes(), err)
			}
		}
		if n != 1 {
			t.Errorf("%s -json prints %d lines", args[0], n)
		}
	}
}

func TestRun_endsWithAnInterrupt(t *testing.T) {
	dir, store := shipped(t, 3)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{
		{"probe", store}, {"init", dir, store}, {"status", store}, {"verify", store},
		{"restore", store, filepath.Join(t.TempDir(), "copy")}, {"pin", store, "a"}, {"gc", dir, store},
	} {
		r := execute(ctx, args...)
		if r.code != exitInterrupted || r.err != "stoat-remote: interrupted\n" {
			t.Errorf("%s: exit code %d, stderr %q", args[0], r.code, r.err)
		}
	}
	output(t, "verify", "-deep", store)
	output(t, "init", dir, store)
}
