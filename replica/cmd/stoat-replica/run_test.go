package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
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
		if !strings.Contains(overview, "\n  "+c.Name+" ") {
			t.Errorf("the overview lacks %s", c.Name)
		}
		texts = append(texts, text)
	}
	for line := range strings.SplitSeq(strings.Join(texts, "\n"), "\n") {
		if utf8.RuneCountInString(line) > 80 {
			t.Errorf("help has a line of %d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
}

func TestRun_refusesWrongArguments(t *testing.T) {
	a := newStore(t, nil)
	for _, args := range [][]string{
		{"heads"}, {"heads", a.db, "x"}, {"heads", "-colour", a.db}, {"status"},
		{"create", a.db}, {"join", a.db, "x"}, {"log", "-limit", "-1", a.db},
		{"join", "-device", a.key, a.db, "x", "12"}, {"graph", a.db, "-limit", "few"},
		{"sync", "-device", a.key, a.db, "localhost:1", "12"}, {"help", "x"},
		{"create", "-root", "12", a.db, "x"}, {"heads", ""}, {"log", a.db, "ab:x"},
	} {
		fails(t, exitUsage, args, "stoat replica help "+args[0])
	}
	fails(t, exitUsage, nil, "no command")
	fails(t, exitUsage, []string{"hed"}, `"hed"`, "stoat replica help")
}

func TestRun_saysWhatIsMissing(t *testing.T) {
	a := newStore(t, nil)
	none := filepath.Join(t.TempDir(), "none")
	fails(t, exitError, []string{"heads", none}, "no database at", "create")
	fails(t, exitError, []string{"sync", "-device", a.key, none, "localhost:1", a.device},
		"no database at")
	if _, err := os.Stat(none); err == nil {
		t.Error("a command made the database")
	}
	fails(t, exitNotFound, []string{"heads", "-space", "x", a.db}, `"x"`, "create or join")
	fails(t, exitNotFound, []string{"log", a.db, "ffffffffffffff"}, "heads")
	fails(t, exitError, []string{"create", "-device", none, a.db, "x"}, "key file",
		"stoat replica device")
	fails(t, exitError, []string{"create", "-device", a.key, a.db, "team"}, "exists")
	fails(t, exitError, []string{"sync", "-device", a.key, a.db, "127.0.0.1:1", a.device},
		"127.0.0.1:1")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, exitError, []string{"import", "-device", a.key, a.db, file}, "not an export")
}

func TestRun_choosesTheOnlySpace(t *testing.T) {
	a := newStore(t, nil)
	if !strings.Contains(output(t, "heads", a.db), "own") {
		t.Error("the only space is not chosen")
	}
	output(t, "create", "-device", a.key, a.db, "second")
	fails(t, exitUsage, []string{"heads", a.db}, "-space", "second, team")
	output(t, "heads", a.db, "-space", "second")
	if n := strings.Count(output(t, "status", a.db), "space   "); n != 2 {
		t.Errorf("status shows %d of 2 spaces", n)
	}
}

func TestDevice_keepsTheKeyFromOthers(t *testing.T) {
	name := filepath.Join(t.TempDir(), "new", "key")
	id := output(t, "device", name)
	if output(t, "device", name) != id || len(id) != 65 {
		t.Error("the second time, it shows another device")
	}
	var v struct {
		Device string
		Made   bool
	}
	if err := json.Unmarshal([]byte(output(t, "device", "-json", name)), &v); err != nil ||
		v.Device+"\n" != id || v.Made {
		t.Errorf("JSON: %+v (%v)", v, err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v (%v)", info.Mode(), err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o602} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		fails(t, exitError, []string{"device", name}, name, "chmod 600")
	}
}

func TestDevice_refusesAnotherFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "key")
	digits := strings.Repeat("ab", 32)
	for _, text := range []string{"", "x", keyFilePrefix + "00", keyFilePrefix + "zz",
		keyFilePrefix + digits[1:], keyFilePrefix + digits + "ab", digits,
		keyFilePrefix + digits + strings.Repeat("\n", 2000)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r := execute(t, "", "device", name)
		fails(t, exitError, []string{"device", name}, name, "restore a copy", "another file")
		if strings.Contains(r.err, digits[1:]) {
			t.Errorf("the message quotes the key: %s", r.err)
		}
	}
	fails(t, exitError, []string{"device", filepath.Dir(name)}, "is not a file")
}

// Output for people fits into 80 columns; JSON is one object a line.
func TestRun_printsTablesAndJSON(t *testing.T) {
	a, _ := diverge(t)
	a.put(item{Name: "a name " + strings.Repeat("that is long ", 20), Note: "line\nbreak"})
	for _, command := range []string{"status", "heads", "log", "graph", "conflicts", "grants"} {
		text := output(t, command, a.db)
		for line := range strings.SplitSeq(text, "\n") {
			if utf8.RuneCountInString(line) > 80 {
				t.Errorf("%s prints %d columns: %s", command, utf8.RuneCountInString(line), line)
			}
		}
		if command == "graph" {
			continue
		}
		lines := bufio.NewScanner(strings.NewReader(output(t, command, "-json", a.db)))
		n := 0
		for ; lines.Scan(); n++ {
			if !json.Valid(lines.Bytes()) {
				t.Errorf("%s -json prints %s", command, lines.Bytes())
			}
		}
		if n == 0 {
			t.Errorf("%s -json prints nothing", command)
		}
	}
}

func TestCheckpoint_keepsTheState(t *testing.T) {
	a := newStore(t, nil)
	a.put(item{Name: "milk"})
	output(t, "checkpoint", "-device", a.key, a.db)
	if !strings.Contains(output(t, "log", "-limit", "1", a.db), "makes a checkpoint") {
		t.Error("the checkpoint is not the newest entry")
	}
	if !strings.Contains(output(t, "why", a.db, "items", "milk"), "items milk") {
		t.Error("a record is missing after a checkpoint")
	}
	output(t, "verify", a.db)
}

func TestRun_endsWithAnInterrupt(t *testing.T) {
	a := newStore(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, complaint strings.Builder
	file := filepath.Join(t.TempDir(), "file")
	code := run(ctx, []string{"export", "-device", a.key, a.db, file}, nil, &out, &complaint)
	if code != exitInterrupted || complaint.String() != "stoat-replica: interrupted\n" {
		t.Errorf("exit code %d, stderr %q", code, complaint.String())
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(file), ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("it leaves %q (%v)", left, err)
	}
}
