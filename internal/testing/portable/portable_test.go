// Package portable type-checks the packages of the project, with their tests, for other platforms.
//
// That takes seconds where a build takes a minute, and finds the same: what it does not do is
// generate code.
package portable

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var (
	platforms = flag.String("platforms", "windows/amd64",
		"check for each `GOOS/GOARCH`, with spaces between")
	modules = flag.Bool("modules", false, "check the modules beside the library, too")
)

// root is the folder of the library's module.
const root = "../../.."

func TestModules_compile(t *testing.T) {
	dirs := []string{root}
	if *modules {
		dirs = allModules(t)
	}
	for _, platform := range strings.Fields(*platforms) {
		for _, dir := range dirs {
			name, err := filepath.Rel(root, dir)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(platform+" "+name, func(t *testing.T) {
				t.Parallel()
				for _, err := range check(t, dir, platform) {
					t.Error(err)
				}
			})
		}
	}
}

// allModules returns the folders of the project's modules.
func allModules(t *testing.T) (dirs []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "testdata" {
			return filepath.SkipDir
		}
		if err == nil && d.Name() == "go.mod" {
			dirs = append(dirs, filepath.Dir(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

func TestCheck_findsWhatDoesNotCompile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":            "module sample\n\ngo 1.26\n",
		"sample.go":         "package sample\n\nimport \"os\"\n\nvar Pid = os.Getpid() + one\n",
		"sample_linux.go":   "package sample\n\nconst one = 1\n",
		"sample_windows.go": "package sample\n\nconst one = 1\n",
		"sample_test.go":    "package sample\n\nvar _ = two\n",
		"two_linux_test.go": "package sample\n\nconst two = 2\n",
		"other_test.go":     "package sample_test\n\nimport \"sample\"\n\nvar _ = sample.Two\n",
		"export_test.go":    "package sample\n\nconst Two = 2\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for platform, want := range map[string]string{
		"linux/arm64":   "[]",
		"windows/amd64": "[undefined: two]",
		"js/wasm":       "[undefined: one undefined: one undefined: two]",
	} {
		var got []string
		for _, err := range check(t, dir, platform) {
			var where types.Error
			if !errors.As(err, &where) {
				t.Fatal(err)
			}
			got = append(got, where.Msg)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", platform, got, want)
		}
	}
}

// listed is what go list says of a package.
type listed struct {
	ImportPath string
	Dir        string
	Name       string
	ForTest    string // it is compiled for the test of this package
	GoFiles    []string
	ImportMap  map[string]string // from paths in the source
	Module     *struct {
		Main      bool
		GoVersion string
	}
	Error *struct{ Err string }
}

// check returns what keeps the packages of the module in a folder, and their tests, from being
// compiled for a platform.
func check(t *testing.T, dir, platform string) []error {
	system, processor, _ := strings.Cut(platform, "/")
	cmd := exec.Command("go", "list", "-e", "-deps", "-test", "-json=ImportPath,Dir,Name,ForTest,"+
		"GoFiles,ImportMap,Module,Error", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list the packages for %s: %v: %s", platform, err, &stderr)
	}
	c := &checker{sizes: types.SizesFor("gc", processor), known: map[string]*types.Package{}}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &listed{}
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			return c.all
		} else if err != nil {
			t.Fatal(err)
		}
		c.check(p)
	}
}

// checker checks packages for one platform, each after those that it imports.
type checker struct {
	files token.FileSet
	sizes types.Sizes
	known map[string]*types.Package // by import path
	all   []error
}

// check type-checks a package. Only those of the module itself are checked beyond declarations.
func (c *checker) check(p *listed) {
	if strings.HasSuffix(p.ImportPath, ".test") || p.ImportPath == "unsafe" {
		return
	}
	if p.Error != nil {
		c.all = append(c.all, errors.New(p.Error.Err))
	}
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(&c.files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			c.all = append(c.all, err)
			return
		}
		parsed = append(parsed, f)
	}
	own := p.Module != nil && p.Module.Main
	config := types.Config{
		Importer: importer{c, p.ImportMap}, Sizes: c.sizes, IgnoreFuncBodies: !own,
		Error: func(err error) {
			if own {
				c.all = append(c.all, err)
			}
		},
	}
	if own {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	path, _, _ := strings.Cut(p.ImportPath, " ")
	c.known[p.ImportPath], _ = config.Check(path, &c.files, parsed, nil) // Error has the errors
}

// importer finds what a package imports.
type importer struct {
	*checker
	from map[string]string // as [listed.ImportMap]
}

// Import implements [types.Importer].
func (i importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if mapped, ok := i.from[path]; ok {
		path = mapped
	}
	if p := i.known[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("package %s is not listed", path)
}
