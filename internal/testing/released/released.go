// Package released runs the tests of modules that others have released, in copies of these modules.
package released

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Module is a released module, in a folder that must not be changed.
type Module struct {
	Path, Version, Dir string
}

// Fetch returns a module from the module cache or the proxy, or fails the test. Without a version,
// it is the one that the module in the current folder requires.
func Fetch(t testing.TB, path, version string) Module {
	t.Helper()
	if version == "" {
		out := Go(t, ".", "list", "-m", "-f", "{{.Version}}", path)
		version = strings.TrimSpace(string(out))
	}
	m := Module{Path: path, Version: version}
	out := Go(t, ".", "mod", "download", "-json", path+"@"+version)
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// Go runs the go command in a folder and returns its output, or fails the test.
func Go(t testing.TB, dir string, args ...string) []byte {
	t.Helper()
	out, err := command(dir, args...).Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr(err))
	}
	return out
}

// command returns the go command in dir, whose tests leave files only in dir and beside it.
func command(dir string, args ...string) *exec.Cmd {
	c := exec.Command("go", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if dir != "." {
		c.Env = append(c.Env, "TMPDIR="+filepath.Dir(dir))
	}
	return c
}

// stderr returns what a command printed that failed.
func stderr(err error) []byte {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.Stderr
	}
	return nil
}

// Results are the outcomes of tests, nested ones included, which are "pass", "fail" or "skip", and
// what each top-level test printed.
type Results struct {
	Outcome, Output map[string]string
}

// Test runs the tests of the module in dir, a folder of [testing.TB.TempDir], with arguments for go
// test. A test that has started and not ended has failed.
func Test(t testing.TB, dir string, args ...string) Results {
	t.Helper()
	args = append([]string{"test", "-json", "-vet=off"}, args...)
	out, err := command(dir, args...).Output() // an error if tests fail, which the output tells
	r := Results{Outcome: map[string]string{}, Output: map[string]string{}}
	for line := range bytes.Lines(out) {
		var event struct{ Action, Test, Output string }
		if json.Unmarshal(line, &event) != nil || event.Test == "" {
			continue
		}
		switch event.Action {
		case "run":
			r.Outcome[event.Test] = "fail" // unless another outcome follows
		case "pass", "fail", "skip":
			r.Outcome[event.Test] = event.Action
		case "output":
			name, _, _ := strings.Cut(event.Test, "/")
			r.Output[name] += event.Output
		}
	}
	if len(r.Outcome) == 0 {
		t.Fatalf("go test ran nothing: %v\n%s%s", err, out, stderr(err))
	}
	return r
}

// Passed returns how many tests passed, nested ones included.
func (r Results) Passed() int {
	n := 0
	for _, outcome := range r.Outcome {
		if outcome == "pass" {
			n++
		}
	}
	return n
}
