package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCounted_addsUpEachNoun(t *testing.T) {
	got := counted(`=== RUN   TestKill
    kill_test.go:42: trust: 10 kills
    --- PASS: TestCrash/puts (0.1s)
        crash_test.go:7: trust: 1200 crash points
        crash_test.go:7: trust: 34 crash points ` + `
    other_test.go:7: we trust: nobody
    other_test.go:7: distrust: 12 nobody
    other_test.go:7: trust: 7
PASS
`)
	want := []row{{noun: "kills", count: 10}, {noun: "crash points", count: 1234}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPassed_countsTestsAndTheirParts(t *testing.T) {
	got := passed(`=== RUN   TestA
    --- PASS: TestA/part (0.00s)
--- PASS: TestA (0.10s)
--- SKIP: TestB (0.00s)
    a_test.go:7: said --- PASS: in passing
PASS
`)
	if got != 2 {
		t.Errorf("got %d", got)
	}
}

func TestFuzzed_isTheLastNumber(t *testing.T) {
	output := `fuzz: elapsed: 0s, gathering baseline coverage: 0/12 completed
fuzz: elapsed: 3s, execs: 15000 (5000/sec), new interesting: 2 (total: 14)
fuzz: elapsed: 4s, execs: 20001 (5001/sec), new interesting: 2 (total: 14)
PASS`
	if got := fuzzed(output); got != 20001 {
		t.Errorf("got %d", got)
	}
	if got := fuzzed("PASS"); got != 0 {
		t.Errorf("got %d of nothing", got)
	}
}

func TestTargets_areTheNamesOnly(t *testing.T) {
	got := targets("FuzzA\nFuzzB_raw\nok  \tsome/package\t0.004s\n")
	if want := []string{"FuzzA", "FuzzB_raw"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestTable_hasARowForEachNoun(t *testing.T) {
	var all tally
	all.addAll([]row{{noun: "kills", count: 999}}, 1400*time.Millisecond)
	all.addAll([]row{{noun: "crash points", count: 1234567}}, time.Hour)
	all.addAll([]row{{noun: "kills", count: 1}}, 200*time.Millisecond)
	const want = "| what | count | seconds | lost |\n| --- | --: | --: | --: |\n" +
		"| kills | 1,000 | 2 | 0 |\n| crash points | 1,234,567 | 3,600 | 0 |\n"
	if got := all.table(); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestPlace_replacesOnlyTheTable(t *testing.T) {
	for _, c := range []struct{ document, want string }{
		{"a\n<!-- trust -->\nold\n<!-- /trust -->\nz\n", "a\n<!-- trust -->\nnew\n<!-- /trust -->\nz\n"},
		{"<!-- trust -->\n<!-- /trust -->", "<!-- trust -->\nnew\n<!-- /trust -->"},
		{"<!-- trust -->\n", ""},
		{"<!-- /trust -->\n<!-- trust -->\n", ""},
		{"", ""},
	} {
		got, err := place([]byte(c.document), "new\n")
		if string(got) != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%q: got %q, %v", c.document, got, err)
		}
	}
}

func TestWrite_changesTheFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(name, []byte("a\n<!-- trust -->\n<!-- /trust -->\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(name, "new\n"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(name)
	if err != nil || !bytes.Contains(got, []byte("-->\nnew\n<!--")) {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.WriteFile(name, []byte("no place"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(name, "new\n"); !errors.Is(err, errNoPlace) {
		t.Errorf("without a place: %v", err)
	}
}

func TestSteps_becomeCommandLines(t *testing.T) {
	s := step{
		dir: here, args: "./kill -run ^Test(A|B) -s SEED",
		level: [levels]string{usual: "-rounds 3"},
	}
	want := []string{
		"test", "-v", "-count", "1", "-timeout", "1h", "./kill", "-run", "^Test(A|B)", "-s", "7",
		"-rounds", "3",
	}
	args := s.arguments(usual, 7)
	if !slices.Equal(args, want) {
		t.Errorf("got %q", args)
	}
	const line = "go -C trust test -v -count 1 -timeout 1h ./kill -run '^Test(A|B)' -s 7 -rounds 3"
	if got := again(s.dir, args); got != line {
		t.Errorf("got %s", got)
	}
	got := again(library, fuzzArguments("./x", "FuzzA", quick))
	if !strings.Contains(got, "'^FuzzA$'") {
		t.Errorf("got %s", got)
	}
	for _, s := range steps {
		if !slices.Contains([]string{library, here, signed, bucket, meters}, s.dir) {
			t.Errorf("%s is in no module: %s", s.name, s.dir)
		}
	}
}

// TestSteps_reachAllThatCounts looks for tests that log what they tried in folders that no step
// names.
func TestSteps_reachAllThatCounts(t *testing.T) {
	counts := regexp.MustCompile(`(?m)^\s+t\.Logf\("trust: %d `)
	run := map[string]bool{}
	for _, s := range steps {
		for word := range strings.FieldsSeq(s.args) {
			run[filepath.Join(s.dir, word)] = true
		}
	}
	found := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !counts.Match(text) {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if found++; err == nil && !run[folder] {
			t.Errorf("no step runs the tests in %s", folder)
		}
		return err
	})
	if err != nil || found < 20 {
		t.Errorf("%d files have such tests, error %v", found, err)
	}
}

// sample returns a runner of a module whose test logs or fails.
func sample(t *testing.T, body string) *runner {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module sample\n\ngo 1.25\n",
		"a_test.go": "package sample\n\nimport \"testing\"\n\n" +
			"func TestA(t *testing.T) { " + body + " }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &runner{root: dir, progress: t.Output()}
}

func TestStep_countsWhatTestsLog(t *testing.T) {
	r := sample(t, `t.Logf("trust: %d sheep", 12)`)
	s := step{name: "sheep", dir: library, args: "."}
	for range 2 {
		if err := r.step(context.Background(), s); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.tally.rows) != 1 || r.tally.rows[0].noun != "sheep" || r.tally.rows[0].count != 24 {
		t.Errorf("got %v", r.tally.rows)
	}
}

func TestStep_thatFailsSaysHowToRunItAgain(t *testing.T) {
	r := sample(t, `t.Error("a sheep is missing")`)
	err := r.step(context.Background(), step{name: "sheep", dir: library, args: ". -run ^TestA"})
	var l *lost
	if !errors.As(err, &l) {
		t.Fatalf("got %v", err)
	}
	said := strings.Contains(l.output, "a sheep is missing")
	if !said || !strings.Contains(err.Error(), "'^TestA'") {
		t.Errorf("got %q and %q", err, l.output)
	}
}

func TestStep_thatCountsNothingFails(t *testing.T) {
	r := sample(t, "")
	err := r.step(context.Background(), step{name: "sheep", dir: library, args: "."})
	if !errors.Is(err, errNothing) {
		t.Errorf("got %v", err)
	}
}

func TestRun_refusesWhatItDoesNotKnow(t *testing.T) {
	for _, args := range [][]string{
		{"-quick", "-nightly"}, {"-seed", "0"}, {"-fast"}, {"everything"},
	} {
		var out, progress bytes.Buffer
		if code := run(context.Background(), args, &out, &progress); code != 2 || progress.Len() == 0 {
			t.Errorf("%q: exit code %d, %q", args, code, &progress)
		}
	}
}

func TestSkipped_isTheReason(t *testing.T) {
	const reason = "versitygw cannot be installed: exit status 1"
	output := "=== RUN   TestServers\n    a_test.go:1: " + reason + "\n--- SKIP: TestServers (0.00s)\n"
	if got := skipped(output); got != reason {
		t.Errorf("got %q", got)
	}
	if got := skipped(strings.ReplaceAll(output, "SKIP", "PASS")); got != "" {
		t.Errorf("a test that passes is skipped: %q", got)
	}
}
