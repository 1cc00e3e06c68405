package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	signals "os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stoatdb/stoat/bench/engine"
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
	gone := filepath.Join(t.TempDir(), "gone")
	for _, c := range []struct{ args, want string }{
		{"-suite poems", `no suite "poems"; there are ssb, `},
		{"-engine oracle", `no engine "oracle"; there are automerge, badger, badger-snappy, `},
		{"-op fly", `no row "fly"; there are append, `},
		{"-suite ssb -data poems", `suite ssb has no data set "poems"; it has messages, random`},
		{"-profile huge", `-profile "huge" must be quick, full or large`},
		{"-rounds -1", "-rounds -1 is negative"},
		{"-n -5", "-n -5 is negative"},
		{"-sync maybe", `-sync "maybe" must be always, never or both`},
		{"-order middle", `-order "middle" must be be or le`},
		{"-memory 1", "-memory 1 is less than 64 MiB"},
		{"-memory much", `"much" is not a size such as 1GiB`},
		{"-memory 1GiB -turns", "-memory limits processes of one engine"},
		{"-memory 1GiB -profile large", "-memory and -profile large both limit memory"},
		{"-suite load -turns", "-turns needs the suite ssb"},
		{"-storage fast=", `-storage "fast=" is not NAME=DIR`},
		{"-storage a=x,a=y", `-storage has two places named "a"`},
		{"-storage " + file + "/x -out " + t.TempDir(), "not a directory"},
		{"-storage " + file + " -out " + t.TempDir(), "not a directory"},
		{"-storage " + gone + " -out " + gone, "cannot measure in -storage " + gone + ": "},
		{"-storage a=" + gone + " -out " + t.TempDir(), "no such file or directory"},
		{"-out " + file + "/x", "not a directory"},
		{"-op fieldsum -engine badger", "suite strategies has no engine badger"},
		{"-suite items -data messages", `-data "messages": none of the suites has this data set`},
		{"-data poems", `-data "poems": none of the suites has this data set`},
		{"list ssb", `list takes no arguments; got "ssb"`},
		{"install ssb", `install takes no arguments; got "ssb"`},
		{"report", "usage: bench report FILE"},
		{"report a b", "report needs one results.json, got 2"},
		{"advise -no", "flag provided but not defined: -no"},
		{"-external log", `external engine "log" is not NAME=COMMAND`},
		{"-no", "flag provided but not defined: -no"},
		{"-external bbolt=x", "bbolt is the name of a built-in engine"},
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

func TestBench_makesNoPlaceThatWasNamed(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	refused(t, "-storage", gone, "-out", filepath.Join(t.TempDir(), "out"))
	if _, err := os.Stat(gone); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder was made: %v", err)
	}
}

func TestBench_saysWhyAnEngineCannotBeMeasured(t *testing.T) {
	if _, err := engine.Find("lmdb"); err == nil {
		t.Skip("it can be here")
	}
	text := refused(t, "-engine", "lmdb", "-out", t.TempDir())
	if !strings.Contains(text, "nothing can be measured: lmdb is not measured: built without") {
		t.Error(text)
	}
}

func TestBench_noticesFirstThatTheReportCannotBeWritten(t *testing.T) {
	const out = "/proc" // nobody, not even root, can make a file there
	if _, err := os.Stat(filepath.Join(out, "self")); err != nil {
		t.Skip(err)
	}
	text := refused(t, "-out", out, "-storage", t.TempDir())
	if !strings.Contains(text, "cannot write the report to -out /proc: ") {
		t.Error(text)
	}
}

func TestReplaceFile_keepsTheOldOneUntilTheNewOneIsWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, c := range []struct {
		text, want string
		err        error
	}{
		{"first", "first", nil}, {"half", "first", errors.New("disk full")}, {"new", "new", nil},
	} {
		err := replaceFile(path, func(w io.Writer) error {
			_, err := io.WriteString(w, c.text)
			return errors.Join(err, c.err)
		})
		if !errors.Is(err, c.err) {
			t.Errorf("error %v instead of %v", err, c.err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != c.want {
			t.Errorf("%q instead of %q: %v", got, c.want, err)
		}
	}
	if names, err := os.ReadDir(filepath.Dir(path)); err != nil || len(names) != 1 {
		t.Errorf("left: %v, %v", names, err)
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
	if err != nil || len(r.Results) != 1 || empty(r) || r.Failures() > 0 {
		t.Errorf("report %+v: %v", r, err)
	}
	for name, want := range map[string]string{"report.html": "</html>", "results.csv": "bbolt",
		"results.txt": "engine=bbolt"} {
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

// ended starts a run without an end, sends it a signal in round 3, and returns the report that it
// leaves.
func ended(t testing.TB, signal os.Signal) *report.Report {
	t.Helper()
	out := t.TempDir()
	cmd := bench(t, "-suite", "ssb", "-engine", "bbolt", "-op", "append", "-n", "5000",
		"-rounds", "1000", "-out", out)
	progress, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer timer.Stop()
	buf := make([]byte, 4096)
	for seen := ""; !strings.Contains(seen, "round 3 "); {
		n, err := progress.Read(buf)
		if err != nil {
			t.Fatal(err, seen)
		}
		seen += string(buf[:n])
	}
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	for err = nil; err == nil; {
		_, err = progress.Read(buf)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("a run that was stopped is no failure")
	}
	r, err := report.Read(filepath.Join(out, "results.json"))
	if err != nil || len(r.Results) != 1 {
		t.Fatalf("report %+v: %v", r, err)
	}
	rounds := make(map[int]bool)
	for _, m := range r.Results[0].Measurements {
		rounds[m.Round] = true
	}
	if !rounds[1] || !rounds[2] {
		t.Errorf("rounds %v", rounds)
	}
	return r
}

func TestBench_leavesAReportWhenStopped(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			if signals.Ignored(signal) {
				t.Skip("the test was started to ignore it, and so is the program")
			}
			if r := ended(t, signal); !slices.Equal(r.Notes, []string{"The run was interrupted."}) {
				t.Errorf("notes %q", r.Notes)
			}
		})
	}
}

func TestBench_leavesResultsWhenKilled(t *testing.T) {
	r := ended(t, os.Kill)
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "still in progress") {
		t.Errorf("notes %q", r.Notes)
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
	for _, want := range []string{"Suite ssb", "Suite strategies", "Suite items", "Suite docs",
		"Suite queue", "lmdb"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
