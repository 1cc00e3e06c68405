package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestShell_saysHowToGetTheOtherProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	fails(t, execute(t, "", "shell", "my.db"), exitError, "stoat-shell", "go install")
}

func TestShell_hasTheOtherProgramDoIt(t *testing.T) {
	installProgram(t, shellProgram)
	r := execute(t, "", "shell", "-history", "h", "my.db")
	if r.code != 4 || r.err != "stoat-shell: no\n" {
		t.Errorf("exit code %d, stderr %q", r.code, r.err)
	}
	if first, rest, _ := strings.Cut(r.out, "\n"); !strings.HasPrefix(first, "<-stoat=") ||
		rest != "<-history=h>\n<-->\n<my.db>\n" {
		t.Errorf("arguments: %s", r.out)
	}
}

func TestShell_passesOnThatNoHistoryIsKept(t *testing.T) {
	installProgram(t, shellProgram)
	for _, c := range [][]string{
		{"<-->\n<my.db>\n", "shell", "my.db"},
		{"<-history=>\n<-->\n<my.db>\n", "shell", "-history=", "my.db"},
	} {
		_, rest, _ := strings.Cut(execute(t, "", c[1:]...).out, "\n")
		equal(t, rest, c[0])
	}
}

func TestCommands_tellsEachCommandAndItsFlags(t *testing.T) {
	var all []listedCommand
	if err := json.Unmarshal([]byte(output(t, "commands")), &all); err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		c := newProgram().Lookup(l.Name)
		if c == nil || c.Hidden || l.Arguments != c.Arguments || l.Summary == "" {
			t.Errorf("%+v", l)
		}
		if l.Name != "scan" {
			continue
		}
		switches := map[string]bool{}
		for _, f := range l.Flags {
			switches[f.Name] = f.Switch
		}
		if takes, found := switches["bucket"]; !found || takes || !switches["reverse"] {
			t.Errorf("flags of scan: %+v", l.Flags)
		}
	}
}
