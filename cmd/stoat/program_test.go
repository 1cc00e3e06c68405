package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// asProgram is what the test binary does under the name of another program: it prints its
// arguments.
func asProgram(name string, args []string) int {
	for _, a := range args {
		fmt.Printf("<%s>\n", a)
	}
	fmt.Fprintf(os.Stderr, "%s: no\n", strings.TrimSuffix(name, ".exe"))
	return 4
}

// installProgram makes the test binary another program, too, and that the only one there is.
func installProgram(t *testing.T, p program) {
	t.Helper()
	dir := t.TempDir()
	putProgram(t, dir, p)
	t.Setenv("PATH", dir)
}

// putProgram makes the test binary another program, too, in a folder.
func putProgram(t *testing.T, dir string, p program) {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, p.name)
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if os.Link(binary, name) != nil { // on another file system
		image, err := os.ReadFile(binary)
		if err == nil {
			err = os.WriteFile(name, image, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Remove(name) })
}

func TestProgram_isFoundBesideThisOne(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	putProgram(t, filepath.Dir(binary), replicaProgram)
	equal(t, execute(t, "", "replica", "-json").out, "<-json>\n")
}
