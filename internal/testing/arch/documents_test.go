package arch

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const repository = "../../.."

// document is one Markdown file, with its code separate from its prose.
type document struct {
	path string // from the repository's root, with slashes
	text string // without the blocks of code
	// spans are the inline code, and commands the lines of the shell code blocks.
	spans, commands []string
}

var (
	codeBlock = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")
	codeSpan  = regexp.MustCompile("`([^`]+)`")
)

// documents reads every document of the repository.
func documents(t *testing.T) []document {
	t.Helper()
	var all []document
	err := filepath.WalkDir(repository, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git") {
			return fs.SkipDir
		}
		if path.Ext(file) != ".md" {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(repository, file)
		all = append(all, parseDocument(filepath.ToSlash(name), string(text)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("%d documents found: the test looks in the wrong place", len(all))
	}
	return all
}

func parseDocument(path, text string) document {
	d := document{path: path}
	for _, block := range codeBlock.FindAllStringSubmatch(text, -1) {
		if block[1] == "sh" {
			d.commands = append(d.commands, strings.Split(block[2], "\n")...)
		}
	}
	d.text = codeBlock.ReplaceAllString(text, "")
	for _, span := range codeSpan.FindAllStringSubmatch(d.text, -1) {
		d.spans = append(d.spans, strings.Join(strings.Fields(span[1]), " "))
	}
	return d
}

// changelog reports whether the document describes the past, whose names may be gone.
func (d document) changelog() bool { return d.path == "CHANGELOG.md" }

// documentNamed returns a document by its path.
func documentNamed(t *testing.T, path string) document {
	t.Helper()
	for _, d := range documents(t) {
		if d.path == path {
			return d
		}
	}
	t.Fatalf("there is no %s", path)
	return document{}
}

// section returns the text under a heading of the second level.
func (d document) section(t *testing.T, heading string) string {
	t.Helper()
	_, rest, found := strings.Cut(d.text, "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no section %q", d.path, heading)
	}
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

// firstColumn returns the inline code in the first column of all tables in a text.
func firstColumn(text string) []string {
	var all []string
	for line := range strings.SplitSeq(text, "\n") {
		if rest, ok := strings.CutPrefix(line, "| "); ok {
			cell, _, _ := strings.Cut(rest, " |")
			for _, span := range codeSpan.FindAllStringSubmatch(cell, -1) {
				all = append(all, span[1])
			}
		}
	}
	return all
}

// read returns a file of the repository.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// exists reports whether the repository has a file or folder.
func exists(path string) bool {
	_, err := os.Stat(filepath.Join(repository, path))
	return err == nil
}

var (
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInSlugs = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// slugs returns the anchors of a document's headings.
func (d document) slugs() map[string]bool {
	all := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(d.text, -1) {
		slug := notInSlugs.ReplaceAllString(strings.ToLower(h[1]), "")
		all[strings.ReplaceAll(slug, " ", "-")] = true
	}
	return all
}

func TestDocuments_linkToWhatExists(t *testing.T) {
	all := documents(t)
	slugs := map[string]map[string]bool{}
	for _, d := range all {
		slugs[d.path] = d.slugs()
	}
	for _, d := range all {
		for _, found := range link.FindAllStringSubmatch(d.text, -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			target, anchor, hasAnchor := strings.Cut(found[1], "#")
			file := d.path
			if target != "" {
				file = path.Join(path.Dir(d.path), target)
			}
			if !exists(file) {
				t.Errorf("%s links to %s, which does not exist", d.path, found[1])
			} else if hasAnchor && !slugs[file][anchor] {
				t.Errorf("%s links to %s, but %s has no such heading", d.path, found[1], file)
			}
		}
	}
}

func TestCodemap_listsEveryPackage(t *testing.T) {
	listed := map[string]bool{}
	for _, name := range firstColumn(documentNamed(t, "ARCHITECTURE.md").section(t, "Codemap")) {
		listed[name] = true
		if name != "stoat" && !exists(name) {
			t.Errorf("the codemap of ARCHITECTURE.md lists %s, which does not exist", name)
		}
	}
	want := map[string]bool{benchmark: true, trust: true, importing: true, shell: true,
		replicas: true, bucket: true, rafts: true, bolts: true, measuring: true,
		studio: true}
	for _, m := range adapters(t) {
		want[m] = true
	}
	for _, f := range load(t, library) {
		if f.pkg != "." {
			want[f.pkg] = true
		}
	}
	for name := range want {
		if !listed[name] {
			t.Errorf("the codemap of ARCHITECTURE.md lacks %s: add a line that says what it is", name)
		}
	}
}

var requirement = regexp.MustCompile(`(?m)^\s*(?:require )?([\w./-]+\.[\w./-]+) v[\w.+-]+$`)

func TestDependencies_areThoseOfTheModules(t *testing.T) {
	const name = "docs/dependencies.md"
	tables := map[string]string{}
	d := documentNamed(t, name)
	for part := range strings.SplitSeq(d.text, "\n| module ") {
		head, rows, _ := strings.Cut(part, "\n")
		of := library
		if span := codeSpan.FindStringSubmatch(head); span != nil && strings.HasPrefix(head, "of") {
			of = span[1]
		}
		tables[of] = rows
	}
	of := []string{library, benchmark, trust, importing, shell, replicas, bucket, rafts, bolts,
		measuring, studio}
	for _, of := range append(of, adapters(t)...) {
		listed := map[string]bool{}
		for _, m := range firstColumn(tables[of]) {
			listed[m] = true
		}
		required := map[string]bool{}
		for _, found := range requirement.FindAllStringSubmatch(read(t, path.Join(of, "go.mod")), -1) {
			required[found[1]] = found[1] != module
		}
		for m := range listed {
			if !required[m] {
				t.Errorf("%s lists %s, which the module in %s does not require", name, m, of)
			}
		}
		for m, foreign := range required {
			if foreign && !listed[m] {
				t.Errorf("%s does not list %s, which the module in %s requires", name, m, of)
			}
		}
	}
}

var namedFile = regexp.MustCompile(`\w+_test\.go`)

// TestMaps_nameEveryFile checks package comments that are maps of their files.
func TestMaps_nameEveryFile(t *testing.T) {
	for _, pkg := range []string{"internal/testing/torture", "internal/testing/torture/layers"} {
		named := map[string]bool{}
		for _, name := range namedFile.FindAllString(read(t, pkg+"/doc.go"), -1) {
			named[name] = true
		}
		for _, f := range load(t, library) {
			if name := path.Base(f.path); f.pkg == pkg && f.test && !named[name] {
				t.Errorf("the package comment of %s does not say what is in %s", pkg, name)
			}
		}
		for name := range named {
			if !exists(path.Join(pkg, name)) {
				t.Errorf("the package comment of %s names %s, which does not exist", pkg, name)
			}
		}
	}
}
