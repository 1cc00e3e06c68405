package main

import (
	"strings"
	"testing"
)

func TestRevert_takesBackWhatIsSelected(t *testing.T) {
	a, b := diverge(t) // b has set the note of milk, and so has a
	carry(t, b, a)
	a.put(item{Name: "bread", Amount: 2})
	root := a.root()
	args := []string{"revert", "-device", a.key, a.db, "-by", b.device}
	dry := output(t, append(args, "-dry-run")...)
	if !strings.HasPrefix(dry, "items milk: amount -1, note = \"two bottles\"\n") ||
		!strings.HasSuffix(dry, "would change 1 record\n") {
		t.Errorf("a dry run prints\n%s", dry)
	}
	if a.root() != root {
		t.Fatal("a dry run changes the space")
	}
	done := output(t, args...)
	if done != strings.Replace(dry, "would change", "changed", 1) {
		t.Errorf("after the dry run, it prints\n%s", done)
	}
	if text := output(t, "why", a.db, "items", "milk"); !strings.Contains(text, "two bottles") {
		t.Errorf("the record is\n%s", text)
	}
	bread := []string{"revert", "-json", "-device", a.key, a.db, "-in", "items", "-key", "bread",
		"-since", "1h"}
	want := `{"collection":"items","key":["bread"],"deleted":true}` + "\n"
	if got := output(t, bread...); got != want {
		t.Errorf("JSON is %s", got)
	}
	if text := output(t, "why", a.db, "items", "bread"); !strings.Contains(text, "is not there") {
		t.Errorf("the record is\n%s", text)
	}
	_, log, _ := strings.Cut(output(t, "heads", "-json", a.db), `"log":"`)
	if got := output(t, "revert", "-device", a.key, a.db, "-until", "2001-01-31", "-log",
		log[:8]); got != "changed 0 records\n" {
		t.Errorf("nothing is selected: %s", got)
	}
}

func TestRevert_saysWhatIsWrong(t *testing.T) {
	a := newStore(t, nil)
	a.put(item{Name: "milk"})
	for _, args := range [][]string{
		{}, {"-key", "milk"}, {"-since", "yesterday"}, {"-by", "xx"},
	} {
		fails(t, exitUsage, append([]string{"revert", "-device", a.key, a.db}, args...), "revert")
	}
	for _, args := range [][]string{{"-log", "ffff"}, {"-in", "items", "-key", "bread"}} {
		fails(t, exitNotFound, append([]string{"revert", "-device", a.key, a.db}, args...))
	}
}
