package cometdb_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/released"
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
			r := released.Test(t, dir, ".")
			row := fmt.Sprintf("\n| `adapters/cometdb` | tests of %s, on seven kinds of stores | %s |\n",
				name, summary(r))
			if !bytes.Contains(document, []byte(row)) {
				t.Errorf("docs/adapters.md lacks this row:%s%s", row, failures(r))
			}
		})
	}
}

// isEngine matches the files of the engines that Stoat stands in for; their tests stay.
var isEngine = regexp.MustCompile(`^(goleveldb|memdb|pebble)(_batch|_iterator)?\.go$`)

// copyTo makes dir the module with its tests, and with Stoat in place of its engines.
func (s suite) copyTo(t *testing.T, dir string) {
	t.Helper()
	from := released.Fetch(t, s.module, s.version)
	for _, pattern := range []string{"*.go", "go.*"} {
		files, err := filepath.Glob(filepath.Join(from.Dir, pattern))
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
	released.Go(t, dir, "mod", "edit", "-go=1.25.0",
		"-require", library+"@v0.0.0", "-replace", library+"="+filepath.Join(here, "..", ".."),
		"-require", adapter+"@v0.0.0", "-replace", adapter+"="+here)
}

// summary returns two cells of a table: how many tests pass, and the names of the others.
func summary(r released.Results) string {
	names := "none"
	if others := others(r); len(others) > 0 {
		names = strings.Join(others, ", ")
	}
	return fmt.Sprintf("%d of %d | %s", r.Passed(), len(r.Outcome), names)
}

// others returns the tests that do not pass.
func others(r released.Results) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(r.Outcome)) {
		if r.Outcome[name] != "pass" {
			names = append(names, name)
		}
	}
	return names
}

// failures returns what the top-level tests printed that do not pass.
func failures(r released.Results) string {
	var all strings.Builder
	for _, name := range others(r) {
		all.WriteString(r.Output[name])
	}
	return all.String()
}
