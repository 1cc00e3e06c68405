package cometdb_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// suite is the tests of a released module, and the file in testdata that registers Stoat there.
type suite struct {
	module, version string
	registers       string
}

// TestSuites runs the tests that the modules bring along, unchanged, with Stoat in place of the
// engines. How many pass, and which do not, must be what docs/adapters.md says.
func TestSuites(t *testing.T) {
	document, err := os.ReadFile(filepath.Join("..", "..", "docs", "adapters.md"))
	ok(t, err)
	for _, s := range []suite{
		{"github.com/cometbft/cometbft-db", "v1.0.4", "cometbft.go"},
		{"github.com/cometbft/cometbft-db", "v0.14.1", "cometbft.go"},
		{"github.com/cosmos/cosmos-db", "v1.1.3", "cosmos.go"},
	} {
		name := path.Base(s.module) + " " + s.version
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s.copyTo(t, dir)
			r := runTests(t, dir)
			row := fmt.Sprintf("\n| `adapters/cometdb` | tests of %s, on seven kinds of stores | %s |\n",
				name, r.summary())
			if !bytes.Contains(document, []byte(row)) {
				t.Errorf("docs/adapters.md lacks this row:%s%s", row, r.failures())
			}
		})
	}
}

// isEngine matches the files of the engines that Stoat stands in for; their tests stay.
var isEngine = regexp.MustCompile(`^(goleveldb|memdb|pebble)(_batch|_iterator)?\.go$`)

// copyTo makes dir the module with its tests, and with Stoat in place of its engines.
func (s suite) copyTo(t *testing.T, dir string) {
	t.Helper()
	var found struct{ Dir string }
	out := command(t, ".", "mod", "download", "-json", s.module+"@"+s.version)
	ok(t, json.Unmarshal(out, &found))
	for _, pattern := range []string{"*.go", "go.*"} {
		files, err := filepath.Glob(filepath.Join(found.Dir, pattern))
		ok(t, err)
		for _, file := range files {
			if !isEngine.MatchString(filepath.Base(file)) {
				copyFile(t, file, dir)
			}
		}
	}
	for _, name := range []string{"stoat.go", s.registers} {
		copyFile(t, filepath.Join("testdata", "engines", name), dir)
	}
	requireOurs(t, dir)
}

// copyFile copies a file to a folder.
func copyFile(t *testing.T, file, dir string) {
	t.Helper()
	content, err := os.ReadFile(file)
	ok(t, err)
	ok(t, os.WriteFile(filepath.Join(dir, filepath.Base(file)), content, 0o644))
}

// requireOurs makes the module in dir require the adapter and the library of this working tree.
func requireOurs(t *testing.T, dir string) {
	t.Helper()
	here, err := filepath.Abs(".")
	ok(t, err)
	const library = "github.com/stoatdb/stoat"
	const adapter = library + "/adapters/cometdb"
	command(t, dir, "mod", "edit", "-go=1.25.0",
		"-require", library+"@v0.0.0", "-replace", library+"="+filepath.Join(here, "..", ".."),
		"-require", adapter+"@v0.0.0", "-replace", adapter+"="+here)
}

// command runs the go command and returns its output.
func command(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	out, err := goCommand(dir, args...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		t.Fatalf("go %s: %v\n%s%s", strings.Join(args, " "), err, out, exit.Stderr)
	}
	ok(t, err)
	return out
}

// goCommand returns a go command in dir, whose tests leave their files in the folder of that.
func goCommand(dir string, args ...string) *exec.Cmd {
	c := exec.Command("go", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "TMPDIR="+filepath.Dir(dir))
	return c
}

// results are the outcomes of tests, nested ones included, which are "pass", "fail" or "skip", and
// what they printed.
type results struct {
	outcome, output map[string]string
}

// runTests runs the tests of the module in dir.
func runTests(t *testing.T, dir string) results {
	t.Helper()
	out, err := goCommand(dir, "test", "-json", "-vet=off", ".").Output()
	r := results{outcome: map[string]string{}, output: map[string]string{}}
	for line := range bytes.Lines(out) {
		var event struct{ Action, Test, Output string }
		ok(t, json.Unmarshal(line, &event))
		switch event.Action {
		case "run":
			r.outcome[event.Test] = "fail" // unless another outcome follows
		case "pass", "fail", "skip":
			r.outcome[event.Test] = event.Action
		case "output":
			r.output[event.Test] += event.Output
		}
	}
	delete(r.outcome, "") // that of the package
	if len(r.outcome) == 0 {
		t.Fatalf("go test ran nothing: %v\n%s", err, out)
	}
	return r
}

// others returns the tests that do not pass.
func (r results) others() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(r.outcome)) {
		if r.outcome[name] != "pass" {
			names = append(names, name)
		}
	}
	return names
}

// summary returns two cells of a table: how many tests pass, and the names of the others.
func (r results) summary() string {
	names := "none"
	if others := r.others(); len(others) > 0 {
		names = strings.Join(others, ", ")
	}
	return fmt.Sprintf("%d of %d | %s", len(r.outcome)-len(r.others()), len(r.outcome), names)
}

// failures returns what the tests printed that do not pass.
func (r results) failures() string {
	var all strings.Builder
	for _, name := range r.others() {
		all.WriteString(r.output[name])
	}
	return all.String()
}
