package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun_withoutACommandIsAMistake(t *testing.T) {
	fails(t, execute(t, ""), exitUsage, "no command", "stoat help")
	fails(t, execute(t, "", "gte"), exitUsage, `"gte"`, "stoat help")
}

func TestRun_refusesWrongArguments(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	for _, args := range [][]string{
		{"get", db},
		{"get", db, "a", "b"},
		{"get", "-colour", db, "a"},
		{"get", db, "a", "-bucket"},
		{"get", "-bucket", "a//b", db, "a"},
		{"get", "-hex", db, "xyz"},
		{"get", "-base64", db, "???"},
		{"get", "-hex", "-base64", db, "00"},
		{"get", "-json", "-raw", db, "a"},
		{"get", "", "a"},
		{"put", db, "a"},
		{"put", db, "a", "-1"},
		{"del", db},
		{"scan"},
		{"scan", db, "-limit", "-1"},
		{"scan", db, "-limit", "few"},
		{"keys", db, "-hex", "-start", "x"},
		{"buckets"},
		{"stats"},
		{"dump"},
		{"load"},
		{"tour", "here"},
		{"help", "gte"},
		{"version", "1"},
	} {
		t.Run(strings.Join(args[:1], " "), func(t *testing.T) {
			r := execute(t, "", args...)
			fails(t, r, exitUsage, "stoat help "+args[0])
			if r.out != "" {
				t.Errorf("stdout %q, want nothing", r.out)
			}
		})
	}
}

func TestRun_takesFlagsAnywhere(t *testing.T) {
	db := sample(t)
	for _, args := range [][]string{
		{"get", "-bucket", "a/b", db, "deep"},
		{"get", db, "--bucket", "a/b", "deep"},
		{"get", db, "deep", "-bucket=a/b"},
	} {
		equal(t, output(t, args...), "in b")
	}
}

func TestRun_takesArgumentsThatStartWithADash(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	fails(t, execute(t, "", "put", db, "-key", "value"), exitUsage, "-- before")
	output(t, "put", db, "--", "-key", "-value")
	equal(t, output(t, "get", db, "--", "-key"), "-value")
	equal(t, output(t, "get", "-bucket=", db, "--", "-key"), "-value")
}

// fullDisk is a writer on which there is no room.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestRun_reportsThatTheOutputCannotBeWritten(t *testing.T) {
	db := sample(t)
	var complaint strings.Builder
	if code := run([]string{"scan", db}, nil, fullDisk{}, &complaint); code != exitError {
		t.Errorf("exit code %d, want %d", code, exitError)
	}
	if !strings.Contains(complaint.String(), "disk full") {
		t.Errorf("stderr %q, want the reason", complaint.String())
	}
}

func TestRun_reportsAMissingDatabaseAndCreatesNone(t *testing.T) {
	db := filepath.Join(t.TempDir(), "none.db")
	for _, args := range [][]string{
		{"get", db, "a"},
		{"del", db, "a"},
		{"scan", db},
		{"keys", db},
		{"buckets", db},
		{"stats", db},
		{"dump", db},
	} {
		fails(t, execute(t, "", args...), exitError, "no database at "+db, "stoat put")
		if files, err := filepath.Glob(filepath.Join(filepath.Dir(db), "*")); err != nil || files != nil {
			t.Errorf("stoat %q created %q (%v)", args, files, err)
		}
	}
}

func TestHelp_saysAllAboutEachCommand(t *testing.T) {
	overview := output(t, "help")
	equal(t, output(t, "-h"), overview)
	equal(t, output(t, "--help"), overview)
	for _, c := range commands() {
		text := output(t, "help", c.name)
		equal(t, output(t, c.name, "-h"), text)
		if listed := strings.Contains(overview, "  "+c.name+" "); listed == c.hidden {
			t.Errorf("%s in the overview: %v, hidden: %v", c.name, listed, c.hidden)
		}
		for _, line := range strings.Split(text, "\n") {
			if len(line) > 80 {
				t.Errorf("help %s has a line of %d columns: %s", c.name, len(line), line)
			}
		}
	}
	for _, part := range []string{
		"usage: stoat scan [flags] DB\n", "-bucket PATH  ", "-limit N  ", "-reverse  ",
	} {
		if text := output(t, "help", "scan"); !strings.Contains(text, part) {
			t.Errorf("help scan lacks %q:\n%s", part, text)
		}
	}
}

func TestVersion_namesTheProgramAndTheToolchain(t *testing.T) {
	text := output(t, "version")
	if !strings.HasPrefix(text, "stoat ") || !strings.Contains(text, " go1") {
		t.Errorf("version prints %q", text)
	}
	equal(t, output(t, "-version"), text)
}
