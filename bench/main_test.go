package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat/bench/report"
)

// asBench makes the test binary be the program.
const asBench = "STOAT_TEST_AS_BENCH"

func TestMain(m *testing.M) {
	if os.Getenv(asBench) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// bench returns the command with the arguments.
func bench(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asBench+"=1")
	return cmd
}

// refused runs the program and returns what it says, which must be one line and no success.
func refused(t testing.TB, args ...string) string {
	t.Helper()
	var out, complaint bytes.Buffer
	cmd := bench(t, args...)
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := cmd.Run()
	text := complaint.String()
	if err == nil || strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "bench: ") {
		t.Fatalf("bench %v: %v\n%s%s", args, err, out.String(), text)
	}
	return text
}

func TestBench_saysWhatIsWrongWithItsArguments(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("no report"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"-suite poems", `no suite "poems", but ssb, `},
		{"-engine oracle", `no engine "oracle", but badger, badger-snappy, `},
		{"-op fly", `no row "fly", but append, `},
		{"-suite ssb -data poems", `suite ssb has no data set "poems", but messages, random`},
		{"-profile huge", `-profile "huge" is none of quick, full, large`},
		{"-rounds -1", "-rounds -1 is negative"},
		{"-n -5", "-n -5 is negative"},
		{"-sync maybe", `-sync "maybe" is none of always, never, both`},
		{"-order middle", `-order "middle" is neither be nor le`},
		{"-storage fast=", `-storage "fast=" names no folder; give NAME=DIR`},
		{"-storage a=x,a=y", `-storage has two places named "a"`},
		{"-storage " + file + "/x -out " + t.TempDir(), "not a directory"},
		{"-out " + file + "/x", "not a directory"},
		{"-external log", `external engine "log" is not NAME=COMMAND`},
		{"-no", "flag provided but not defined: -no"},
		{"-external bbolt=x", "bbolt is the name of an engine that is built in"},
		{"advise " + file, "line 1"},
		{"advise " + file + "2", "no such file"},
		{"compare " + file, "usage: bench compare"},
		{"compare " + file + " " + file, "read report " + file},
		{"more", `no command "more"; usage:`},
		{"-rounds 1 more", `unexpected argument "more"; usage:`},
		{"report " + file, "read report " + file},
		{"report " + file + "2", "no such file"},
	} {
		if got := refused(t, strings.Fields(c.args)...); !strings.Contains(got, c.want) {
			t.Errorf("bench %s says %q, not %q", c.args, got, c.want)
		}
	}
}

func TestBench_measuresAndReports(t *testing.T) {
	out := t.TempDir()
	cmd := bench(t, "-suite", "ssb", "-engine", "stoat,bbolt", "-op", "append,read_random",
		"-n", "5000", "-out", out)
	printed, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"append", "read_random", "stoat", "bbolt", "Report: "} {
		if !strings.Contains(string(printed), want) {
			t.Errorf("no %q in\n%s", want, printed)
		}
	}
	r, err := report.Read(filepath.Join(out, "results.json"))
	if err != nil || len(r.Results) != 1 || len(r.Results[0].Measurements) == 0 || r.Failures() > 0 {
		t.Errorf("report %+v: %v", r, err)
	}
	for name, want := range map[string]string{"report.html": "</html>", "results.csv": "bbolt"} {
		b, err := os.ReadFile(filepath.Join(out, name))
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %v, without %s in it", name, err, want)
		}
	}
	left, err := filepath.Glob(filepath.Join(out, "stoat-bench-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("folders are left: %v, %v", left, err)
	}
}

func TestBench_leavesAReportWhenInterrupted(t *testing.T) {
	out := t.TempDir()
	cmd := bench(t, "-suite", "ssb", "-engine", "bbolt", "-n", "5000", "-rounds", "1000", "-out", out)
	progress, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	for seen := ""; !strings.Contains(seen, "round 3 "); {
		n, err := progress.Read(buf)
		if err != nil {
			t.Fatal(err, seen)
		}
		seen += string(buf[:n])
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer timer.Stop()
	for err = nil; err == nil; {
		_, err = progress.Read(buf)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("an interrupted run is no failure")
	}
	r, err := report.Read(filepath.Join(out, "results.json"))
	if err != nil || len(r.Results) != 1 {
		t.Fatalf("report %+v: %v", r, err)
	}
	rounds := make(map[int]bool)
	for _, m := range r.Results[0].Measurements {
		rounds[m.Round] = true
	}
	if !rounds[1] || !rounds[2] || !strings.Contains(fmt.Sprint(r.Notes), "interrupted") {
		t.Errorf("rounds %v, notes %v", rounds, r.Notes)
	}
}

func TestList_fitsInto80Columns(t *testing.T) {
	var out bytes.Buffer
	list(&out)
	for line := range strings.Lines(out.String()) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, want := range []string{"Suite ssb", "Suite strategies", "Suite items", "lmdb", "rocksdb"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
