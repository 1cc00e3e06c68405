package gokv_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	released "github.com/philippgille/gokv"
	"github.com/philippgille/gokv/encoding"
	suite "github.com/philippgille/gokv/test"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/adapters/gokv"
)

var _ released.Store = (*gokv.Store)(nil)

// TestSuite runs the suite of gokv on databases of several kinds, with both codecs of gokv.
func TestSuite(t *testing.T) {
	codecs := map[string]gokv.Codec{"JSON": encoding.JSON, "gob": encoding.Gob}
	for _, kind := range []struct {
		name string
		open func(t *testing.T) *stoat.DB
	}{
		{"in memory", func(t *testing.T) *stoat.DB { return opened(t)(stoat.OpenMemory(nil)) }},
		{"on disk", func(t *testing.T) *stoat.DB { return opened(t)(stoat.Open(t.TempDir(), nil)) }},
		{"encrypted", func(t *testing.T) *stoat.DB {
			key := bytes.Repeat([]byte{7}, 32)
			return opened(t)(stoat.Open(t.TempDir(), &stoat.Options{Key: key}))
		}},
	} {
		for name, codec := range codecs {
			t.Run(kind.name+" "+name, func(t *testing.T) {
				t.Run("Store", func(t *testing.T) {
					suite.TestStore(gokv.New(kind.open(t), codec), t)
				})
				t.Run("Types", func(t *testing.T) {
					suite.TestTypes(gokv.New(kind.open(t), codec), t)
				})
				t.Run("ConcurrentInteractions", func(t *testing.T) {
					suite.TestConcurrentInteractions(t, 1000, gokv.New(kind.open(t), codec))
				})
			})
		}
	}
}

// opened fails the test unless a database was opened, and closes it in the end.
func opened(t *testing.T) func(*stoat.DB, error) *stoat.DB {
	return func(db *stoat.DB, err error) *stoat.DB {
		t.Helper()
		ok(t, err)
		t.Cleanup(func() { ok(t, db.Close()) })
		return db
	}
}

// outcome is that of a case of the suite, in the output of tests; ours have less before it.
var outcome = regexp.MustCompile(`(?m)^ {8,}--- (\w+): `)

// TestSuite_isAsDocumented counts the cases of the suite, which must be what docs/adapters.md says.
func TestSuite_isAsDocumented(t *testing.T) {
	program, err := os.Executable()
	ok(t, err)
	out, err := exec.Command(program, "-test.run=^TestSuite$", "-test.v").CombinedOutput()
	passed, all := 0, 0
	for _, found := range outcome.FindAllSubmatch(out, -1) {
		all++
		if string(found[1]) == "PASS" {
			passed++
		}
	}
	document, readErr := os.ReadFile(filepath.Join("..", "..", "docs", "adapters.md"))
	ok(t, readErr)
	row := fmt.Sprintf("\n| `adapters/gokv` | `test` of gokv v0.7.0, on three kinds of stores with "+
		"two codecs | %d of %d | none |\n", passed, all)
	if err != nil || !bytes.Contains(document, []byte(row)) {
		t.Errorf("the suite ends with %v, or docs/adapters.md lacks this row:%s", err, row)
	}
}
