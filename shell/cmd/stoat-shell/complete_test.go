package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
)

func TestComplete_makesTheLineLonger(t *testing.T) {
	s, _, _ := newShell(t)
	for line, want := range map[string]string{
		"ge":                     "get ",
		"sta":                    "stats ",
		"c":                      "cd ",
		"help sc":                "help scan ",
		"get -h":                 "get -hex ",
		"scan -prefix be":        "scan -prefix bee",
		"get be":                 "get bee",
		"get beet":               "get beetle ",
		"get 'bee k":             "get 'bee keeper' ",
		`get "bee`:               `get bee`,
		"get none":               "get none",
		"get -hex ff":            "get -hex ff0",
		"get -hex ff01":          "get -hex ff01 ",
		"get -hex zz":            "get -hex zz",
		"get -hex f":             "get -hex ff0",
		"get -hex a":             "get -hex a",
		"get -hex 6":             "get -hex 6",
		"cd an":                  "cd animals ",
		"cd animals/":            "cd animals/",
		"cd animals/s":           "cd 'animals/small ones' ",
		"get -bucket an":         "get -bucket animals ",
		"get -bucket animals st": "get -bucket animals stoat ",
		"get -bucket=animals st": "get -bucket=animals stoat ",
		"stats be":               "stats be",
		"unknown be":             "unknown be",
		`get "\q`:                `get "\q`,
		"":                       "",
	} {
		got := line
		if c, ok := s.complete(line); ok {
			got = c.apply(line)
		}
		if got != want {
			t.Errorf("%q becomes %q, want %q", line, got, want)
		}
	}
}

func TestComplete_isWithinTheCurrentBucket(t *testing.T) {
	s, _, said := newShell(t)
	if code, _ := s.do("cd animals"); code != exitOK {
		t.Fatal(said)
	}
	c, ok := s.complete("get ")
	if got := c.apply("get "); !ok || got != "get stoat " {
		t.Errorf("becomes %q", got)
	}
	if c, ok := s.complete("get ant"); ok {
		t.Errorf("found %q", c.names)
	}
}

func TestComplete_listsABoundedNumberOfKeys(t *testing.T) {
	s, _, _ := newShell(t)
	db, err := stoat.Open(s.db, nil)
	ok(t, err)
	ok(t, db.Update(func(tx *stoat.Tx) error {
		for i := range 1000 {
			ok(t, tx.Put(fmt.Appendf(nil, "many-%03d", i), nil))
		}
		return nil
	}))
	ok(t, db.Close())
	c, found := s.complete("get m")
	if !found || c.word != "many-" || len(c.names) != candidatesMax || !c.more {
		t.Errorf("%q with %d candidates, more: %v", c.word, len(c.names), c.more)
	}
}

func TestComplete_ofADatabaseThatIsNotThereFindsNothing(t *testing.T) {
	s, _, _ := newShell(t)
	s.db += "-not-there"
	if c, found := s.complete("get b"); found {
		t.Errorf("found %q", c.names)
	}
}

// typed returns the lines that a person who types the keys has entered, and what was shown.
func typed(t testing.TB, s *shell, keys string) (lines []string, shown string) {
	t.Helper()
	var out bytes.Buffer
	editor := newTerminal(screen{&interruptReader{strings.NewReader(keys)}, &out}, new(history))
	editor.AutoCompleteCallback = completeOnTab(editor, s.complete)
	for {
		line, err := editor.ReadLine()
		if err == io.EOF {
			return lines, out.String()
		}
		ok(t, err)
		lines = append(lines, line)
	}
}

func TestPrompt_completesAtTab(t *testing.T) {
	s, _, _ := newShell(t)
	lines, _ := typed(t, s, "ge\tbeetl\t\r")
	if len(lines) != 1 || lines[0] != "get beetle " {
		t.Errorf("%q", lines)
	}
	if _, shown := typed(t, s, "get bee\t\r"); !strings.Contains(shown, "'bee keeper'") ||
		!strings.Contains(shown, "beetle") {
		t.Errorf("shown: %q", shown)
	}
}

func TestPrompt_anInterruptEmptiesTheLine(t *testing.T) {
	s, _, _ := newShell(t)
	lines, _ := typed(t, s, "del everything\x1b[D\x1b[D\x03get ant\r")
	if len(lines) != 2 || lines[0] != "" || lines[1] != "get ant" {
		t.Errorf("%q", lines)
	}
}
