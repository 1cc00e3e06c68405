package boltcompat_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/released"
)

var allTests = flag.Bool("bolt.all", false, "run the tests of others at length")

// endless is a test that waits forever once it has failed: it leaves a transaction open, and
// closing the database waits for that. Other tests that fail end.
var endless = []string{"TestDB_WriteTo_and_Overwrite", "TestTx_TruncateBeforeWrite"}

// usesPages is the file of bbolt's tests that reads pages, by types that nobody else has.
const usesPages = "tx_check_test.go"

var inPackage = regexp.MustCompile(`(?m)^package bbolt$`)

var testNames = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// TestBolt_passesItsOwnTests runs the tests that bbolt's module brings along, on this package.
// Those that fail, or cannot run here, must be those that docs/boltcompat.md lists.
func TestBolt_passesItsOwnTests(t *testing.T) {
	bolt := released.Fetch(t, boltModule, "")
	dir := t.TempDir()
	leftOut, names := copyBoltTests(t, bolt, dir)
	args := []string{"-timeout", "15m", "-skip", "^(" + strings.Join(endless, "|") + ")$"}
	if !*allTests {
		args = append(args, "-short")
	}
	r := runTests(t, dir, args...)

	excepted := exceptions(t)
	for _, name := range slices.Concat(leftOut, endless) {
		r.outcome[name] = "fail"
	}
	passed := 0
	for _, name := range slices.Sorted(maps.Keys(r.outcome)) {
		outcome := r.outcome[name]
		if outcome == "fail" && !excepted[name] {
			t.Errorf("%s fails, and the document does not say why:\n%s", name, r.output[name])
		} else if outcome == "pass" && excepted[name] {
			t.Errorf("%s passes: the document must not list it", name)
		}
		if outcome == "pass" {
			passed++
		}
	}
	for name := range excepted {
		if r.outcome[name] == "" {
			t.Errorf("the document lists %s, which %s does not have", name, bolt.Version)
		}
	}
	for _, name := range names {
		if r.outcome[name] == "" {
			t.Errorf("%s has not run", name)
		}
	}
	if !*allTests { // so the rest of the tests are those that -short skips
		wantInDocument(t, "Of %d tests, %d short ones pass, and %d are listed here.",
			len(r.outcome), passed, len(excepted))
	}
	t.Logf("%s %s: %d of %d tests pass, %d are excepted; with nested ones, %d pass",
		bolt.Path, bolt.Version, passed, len(r.outcome), len(excepted), r.all)
}

// wantInDocument reports a sentence with counts that docs/boltcompat.md does not have.
func wantInDocument(t *testing.T, format string, counts ...any) {
	t.Helper()
	document := read(t, filepath.Join("..", "docs", "boltcompat.md"))
	want := fmt.Sprintf(format, counts...)
	if !strings.Contains(strings.Join(strings.Fields(string(document)), " "), want) {
		t.Errorf("the document does not say what is so: %q", want)
	}
}

// testsIn returns the names of the tests in Go source.
func testsIn(source []byte) (names []string) {
	for _, found := range testNames.FindAllSubmatch(source, -1) {
		if name := string(found[1]); name != "TestMain" {
			names = append(names, name)
		}
	}
	return names
}

// copyBoltTests makes dir a module with bbolt's tests, and returns their names, and those in files
// that test what is not exported. Its path lets it import bbolt's internal packages.
func copyBoltTests(t *testing.T, bolt released.Module, dir string) (leftOut, names []string) {
	t.Helper()
	write(t, filepath.Join(dir, "go.mod"), []byte("module go.etcd.io/bbolt/compat\n\ngo 1.25.0\n"))
	released.Go(t, dir, "mod", "edit", "-require", bolt.Path+"@"+bolt.Version)
	require(t, dir)
	files, err := filepath.Glob(filepath.Join(bolt.Dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests in %s: %v", bolt.Dir, err)
	}
	copied := func(from, to string) []byte {
		source := read(t, from)
		text := strings.ReplaceAll(string(rewrite(source)),
			`"go.etcd.io/bbolt/internal/btesting"`, `"go.etcd.io/bbolt/compat/btesting"`)
		write(t, filepath.Join(dir, to), []byte(text))
		return source
	}
	for _, file := range files {
		name := filepath.Base(file)
		if source := read(t, file); name == usesPages || inPackage.Match(source) {
			leftOut = append(leftOut, testsIn(source)...)
			continue
		}
		names = append(names, testsIn(copied(file, name))...)
	}
	copied(filepath.Join(bolt.Dir, "internal", "btesting", "btesting.go"), "btesting/btesting.go")
	return leftOut, names
}

var exception = regexp.MustCompile(`(?m)^\| (Test\w+(?:, Test\w+)*) \| .+ \|$`)

// exceptions returns the tests that docs/boltcompat.md lists with a reason.
func exceptions(t *testing.T) map[string]bool {
	t.Helper()
	listed := map[string]bool{}
	document := read(t, filepath.Join("..", "docs", "boltcompat.md"))
	for _, row := range exception.FindAllSubmatch(document, -1) {
		for name := range strings.SplitSeq(string(row[1]), ", ") {
			listed[name] = true
		}
	}
	return listed
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}
