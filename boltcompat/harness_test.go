package boltcompat_test

import (
	"bytes"
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/released"
)

const (
	boltModule = "go.etcd.io/bbolt"
	ourModule  = "github.com/stoatdb/stoat/boltcompat"
)

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
	released.Go(t, dir, "mod", "edit",
		"-require", ourModule+"@v0.0.0", "-replace", ourModule+"="+here,
		"-require", "github.com/stoatdb/stoat@v0.0.0",
		"-replace", "github.com/stoatdb/stoat="+filepath.Dir(here))
}

// results are the outcomes of the top-level tests of a run: "pass", "fail" or "skip".
type results struct {
	outcome, output map[string]string
	all             int // tests that passed, nested ones included
}

// runTests runs the tests of the module in dir.
func runTests(t *testing.T, dir string, args ...string) results {
	t.Helper()
	r := released.Test(t, dir, args...)
	all := r.Passed()
	maps.DeleteFunc(r.Outcome, func(name, _ string) bool { return strings.Contains(name, "/") })
	return results{r.Outcome, r.Output, all}
}
