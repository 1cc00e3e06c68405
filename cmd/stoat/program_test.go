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
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
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
	t.Setenv("PATH", dir)
}
