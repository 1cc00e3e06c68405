package boltcompat_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	boltModule = "go.etcd.io/bbolt"
	ourModule  = "github.com/stoatdb/stoat/boltcompat"
)

// foreign is a module of others whose tests run here.
type foreign struct {
	path, version, dir string
}

// fetch returns a module from the module cache or the proxy. Without a version, it is the one that
// this module requires.
func fetch(t *testing.T, path, version string) foreign {
	t.Helper()
	if version == "" {
		out := command(t, ".", "go", "list", "-m", "-f", "{{.Version}}", path)
		version = strings.TrimSpace(string(out))
	}
	var found struct{ Dir string }
	out := command(t, ".", "go", "mod", "download", "-json", path+"@"+version)
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatal(err)
	}
	return foreign{path, version, found.Dir}
}

// command runs a command and returns its output.
func command(t *testing.T, dir, name string, args ...string) []byte {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, &stderr)
	}
	return out
}

var boltImport = regexp.MustCompile(`(?m)^(import )?(\s*)((?:\w+ )?)"go\.etcd\.io/bbolt"`)

// rewrite returns Go source whose import of bbolt is one of ours.
func rewrite(source []byte) []byte {
	return boltImport.ReplaceAllFunc(source, func(line []byte) []byte {
		m := boltImport.FindSubmatch(line)
		name := m[3]
		if len(name) == 0 {
			name = []byte("bbolt ")
		}
		return bytes.Join([][]byte{m[1], m[2], name, []byte(`"` + ourModule + `"`)}, nil)
	})
}

// require makes the module in dir require ours, from this working tree.
func require(t *testing.T, dir string) {
	t.Helper()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	command(t, dir, "go", "mod", "edit",
		"-require", ourModule+"@v0.0.0", "-replace", ourModule+"="+here,
		"-require", "github.com/stoatdb/stoat@v0.0.0",
		"-replace", "github.com/stoatdb/stoat="+filepath.Dir(here))
}

// results are the outcomes of the top-level tests of a run: "pass", "fail" or "skip".
type results struct {
	outcome map[string]string
	output  map[string]string
	all     int // tests that passed, nested ones included
}

// runTests runs the tests of the module in dir.
func runTests(t *testing.T, dir string, args ...string) results {
	t.Helper()
	c := exec.Command("go", append([]string{"test", "-json", "-vet=off"}, args...)...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := c.Output() // an error if tests fail, which is in the output
	r := results{outcome: map[string]string{}, output: map[string]string{}}
	var other strings.Builder
	for line := range bytes.Lines(out) {
		var event struct{ Action, Test, Output string }
		if json.Unmarshal(line, &event) != nil || event.Test == "" {
			other.Write(line)
			continue
		}
		name, _, inner := strings.Cut(event.Test, "/")
		switch event.Action {
		case "output":
			r.output[name] += event.Output
		case "run":
			if !inner {
				r.outcome[name] = "fail" // unless another outcome follows
			}
		case "pass", "fail", "skip":
			if event.Action == "pass" {
				r.all++
			}
			if !inner {
				r.outcome[name] = event.Action
			}
		}
	}
	if len(r.outcome) == 0 {
		t.Fatalf("go test ran nothing: %v\n%s", err, &other)
	}
	return r
}
