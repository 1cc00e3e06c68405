package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPromises_nameTestsThatExist looks up each test that docs/durability.md names.
func TestPromises_nameTestsThatExist(t *testing.T) {
	const root = "../../.."
	doc, err := os.ReadFile(filepath.Join(root, "docs", "durability.md"))
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool)
	defined := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range defined.FindAllStringSubmatch(string(text), -1) {
			known[found[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(doc), -1)
	if len(named) < 20 {
		t.Errorf("docs/durability.md names %d tests", len(named))
	}
	for _, name := range named {
		if !known[name[1]] {
			t.Errorf("docs/durability.md names %s, which no file has", name[1])
		}
	}
}
