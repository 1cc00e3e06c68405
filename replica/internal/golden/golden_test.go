package golden_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each section of the document of the format is in its table of vectors, with a file that exists;
// and each file of vectors is there.
func TestVectors_coverTheDocument(t *testing.T) {
	root := filepath.Join("..", "..")
	p, err := os.ReadFile(filepath.Join(root, "..", "docs", "replica-format.md"))
	if err != nil {
		t.Fatal(err)
	}
	text, table, found := strings.Cut(string(p), "\n## Test vectors\n")
	if !found {
		t.Fatal("the document has no section about test vectors")
	}
	covered, named := map[string]bool{}, map[string]bool{}
	rows := regexp.MustCompile("(?m)^\\| ([^|]+) \\| `([a-z]+[.]json)` \\|")
	for _, row := range rows.FindAllStringSubmatch(table, -1) {
		for _, section := range strings.Split(row[1], ", ") {
			covered[section] = true
		}
		named[row[2]] = true
	}
	for _, line := range regexp.MustCompile(`(?m)^##+ (.+)$`).FindAllStringSubmatch(text, -1) {
		if !covered[line[1]] {
			t.Errorf("section %q is not in the table of vectors", line[1])
		}
		delete(covered, line[1])
	}
	for section := range covered {
		t.Errorf("the table of vectors has a section %q, which the document lacks", section)
	}
	files, err := os.ReadDir(filepath.Join(root, "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !named[f.Name()] {
			t.Errorf("the table of vectors lacks %s", f.Name())
		}
		delete(named, f.Name())
	}
	for name := range named {
		t.Errorf("there is no %s", name)
	}
}
