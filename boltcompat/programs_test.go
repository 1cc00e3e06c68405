package boltcompat_test

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/released"
)

// TestPrograms_passTheirOwnTests runs the tests of modules that use bbolt, all of which must pass.
func TestPrograms_passTheirOwnTests(t *testing.T) {
	programs := []struct{ path, version string }{
		{"github.com/timshannon/bolthold", "v0.0.0-20240314194003-30aac6950928"},
	}
	for _, p := range programs {
		t.Run(p.path, func(t *testing.T) {
			dir := t.TempDir()
			names := copyProgram(t, released.Fetch(t, p.path, p.version), dir)
			r := runTests(t, dir, "-timeout", "10m", ".")
			passed := 0
			for name, outcome := range r.outcome {
				if outcome == "pass" {
					passed++
				} else {
					t.Errorf("%s: %s:\n%s", name, outcome, r.output[name])
				}
			}
			for _, name := range names {
				if r.outcome[name] == "" {
					t.Errorf("%s has not run", name)
				}
			}
			wantInDocument(t, "all %d pass.", passed)
			t.Logf("%d tests pass; with nested ones, %d", passed, r.all)
		})
	}
}

// copyProgram makes dir a copy of a module that imports this package where it imported bbolt, and
// returns the names of the tests in its root.
func copyProgram(t *testing.T, m released.Module, dir string) (names []string) {
	t.Helper()
	rewritten := 0
	err := filepath.WalkDir(m.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(m.Dir, path)
		if err != nil {
			return err
		}
		text := read(t, path)
		if strings.HasSuffix(name, ".go") {
			ours := rewrite(text)
			if !slices.Equal(ours, text) {
				rewritten++
			}
			text = ours
			if strings.HasSuffix(name, "_test.go") && filepath.Dir(name) == "." {
				names = append(names, testsIn(text)...)
			}
		}
		write(t, filepath.Join(dir, name), text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if rewritten == 0 {
		t.Fatalf("no file of %s imports bbolt", m.Path)
	}
	require(t, dir)
	return names
}
