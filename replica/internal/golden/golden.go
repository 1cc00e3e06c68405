// Package golden compares what the packages of replica make with the test vectors in
// replica/testdata. Only tests import it.
package golden

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

// update says what Compare does. It is immutable once the flags are parsed.
var update = flag.Bool("update", false, "write the test vectors instead of comparing with them")

// path returns the path of a file of vectors, from the package replica or one in replica/internal.
func path(name string) string {
	root := "."
	if _, err := os.Stat("go.mod"); err != nil {
		root = filepath.Join("..", "..")
	}
	return filepath.Join(root, "testdata", name)
}

// Compare fails the test if the vectors, as JSON, are not those of the file. With the flag -update,
// it writes the file.
func Compare[V any](t *testing.T, name string, vectors V) {
	t.Helper()
	p, err := json.MarshalIndent(vectors, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	p = append(p, '\n')
	if *update {
		if err := os.WriteFile(path(name), p, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path(name))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(p, want) {
		t.Errorf("%s differs: the format or the rules have changed, which needs a new version, "+
			"see docs/replica-format.md", name)
	}
}

// Read stores the vectors of the file in v.
func Read[V any](t testing.TB, name string, v *V) {
	t.Helper()
	p, err := os.ReadFile(path(name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(p, v); err != nil {
		t.Fatal(err)
	}
}
