package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/stoatdb/stoat"

// file is one parsed source file.
type file struct {
	path string // from the module's root, with slashes
	pkg  string // the folder of path; "." for the root package
	test bool
	text []byte
	set  *token.FileSet
	tree *ast.File
}

// in reports whether the file belongs to one of the packages.
func (f *file) in(pkgs ...string) bool {
	for _, pkg := range pkgs {
		if f.pkg == pkg || strings.HasPrefix(f.pkg, pkg+"/") {
			return true
		}
	}
	return false
}

// line returns the line that pos is on.
func (f *file) line(pos token.Pos) int { return f.set.Position(pos).Line }

// parse makes a file of source text.
func parse(path string, text []byte) (*file, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, path, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	pkg := filepath.ToSlash(filepath.Dir(path))
	return &file{path, pkg, strings.HasSuffix(path, "_test.go"), text, set, tree}, nil
}

// The modules of this repository, by their folders.
const (
	library   = "."
	benchmark = "bench"
	trust     = "trust"
	importing = "importer"
	shell     = "shell"
	replicas  = "replica"
	bucket    = "remote/s3"
	rafts     = "raftstore"
	bolts     = "boltcompat"
	measuring = "metrics"
	studio    = "studio"
)

// adapters returns the modules for the interfaces of others, by their folders.
func adapters(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(repository, "adapters", "*", "go.mod"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no adapters found: %v", err)
	}
	for i, name := range found {
		found[i] = path.Join("adapters", filepath.Base(filepath.Dir(name)))
	}
	return found
}

// parsed are the files that load has parsed, by module. The tests do not run in parallel.
var parsed = map[string][]*file{}

// load parses every Go file of a module, whatever its build constraints, except nested modules.
func load(t *testing.T, module string) []*file {
	t.Helper()
	if files := parsed[module]; files != nil {
		return files
	}
	var files []*file
	root := filepath.Join("..", "..", "..")
	top := filepath.Join(root, module)
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() && path == top {
			return nil
		}
		if d.IsDir() {
			return skip(path, d.Name())
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parse(filepath.ToSlash(name), text)
		if err != nil {
			return fmt.Errorf("parse %s: %w", name, err)
		}
		files = append(files, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("no Go files found: the test looks in the wrong place")
	}
	parsed[module] = files
	return files
}

// skip returns fs.SkipDir for folders outside of the module.
func skip(path, name string) error {
	if name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}
