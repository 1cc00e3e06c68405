package arch

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// symbols are the names that the library declares, and the tests and files of all modules.
type symbols struct {
	tests    []string
	files    map[string]bool            // the names of Go files, without their folders
	packages map[string]map[string]bool // what each package declares, by its name
	members  map[string]map[string]bool // the fields and methods of each type, by its name
	embedded map[string][]string        // the types that each type embeds
}

func knownSymbols(t *testing.T) *symbols {
	t.Helper()
	s := &symbols{
		files:    map[string]bool{},
		packages: map[string]map[string]bool{},
		members:  map[string]map[string]bool{},
		embedded: map[string][]string{},
	}
	for _, f := range everything(t) {
		s.files[path.Base(f.path)] = true
		if f.test {
			s.tests = append(s.tests, firstGroups(testFunction, string(f.text))...)
		}
		if f.test || f.in(benchmark, trust, importing, shell, "examples") {
			continue
		}
		for _, d := range f.tree.Decls {
			s.declare(f.tree.Name.Name, d)
		}
	}
	return s
}

// declare records one declaration of a package.
func (s *symbols) declare(pkg string, d ast.Decl) {
	note := func(in map[string]map[string]bool, of, name string) {
		if in[of] == nil {
			in[of] = map[string]bool{}
		}
		in[of][name] = true
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		note(s.packages, pkg, d.Name.Name) // a method, too: documents name some without the type
		if d.Recv != nil {
			note(s.members, lastName(d.Recv.List[0].Type), d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					note(s.packages, pkg, name.Name)
				}
			case *ast.TypeSpec:
				note(s.packages, pkg, spec.Name.Name)
				ast.Inspect(spec.Type, func(n ast.Node) bool {
					field, ok := n.(*ast.Field)
					if !ok {
						return true
					}
					for _, name := range field.Names {
						note(s.members, spec.Name.Name, name.Name)
					}
					if base := lastName(field.Type); field.Names == nil && base != "" {
						s.embedded[spec.Name.Name] = append(s.embedded[spec.Name.Name], base)
					}
					return true
				})
			}
		}
	}
}

// lastName returns the name of a type without its package, type parameters and star.
func lastName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return lastName(x.X)
	case *ast.IndexExpr:
		return lastName(x.X)
	case *ast.IndexListExpr:
		return lastName(x.X)
	case *ast.SelectorExpr:
		return x.Sel.Name
	case *ast.Ident:
		return x.Name
	}
	return ""
}

// has reports whether a type, or one that it embeds, has the field or method.
func (s *symbols) has(of, member string) bool {
	return s.members[of][member] || slices.ContainsFunc(s.embedded[of], func(base string) bool {
		return base != of && s.has(base, member)
	})
}

var (
	between     = regexp.MustCompile(`[\s→(){}\[\],&*]+`)
	repoPath    = regexp.MustCompile(`^(internal|docs|cmd|bench|trust|examples)/[\w./-]+$`)
	testName    = regexp.MustCompile(`^(Test|Fuzz)[A-Z]\w*$`)
	errName     = regexp.MustCompile(`^Err[A-Z]\w*$`)
	dottedName  = regexp.MustCompile(`^[A-Za-z]\w*(\.[A-Za-z]\w*)+$`)
	metricName  = regexp.MustCompile(`^stoat(\.[a-z_]+)+$`) // which module metrics tests
	fileName    = regexp.MustCompile(`\.(html|json|csv|mjs|md|db|log|table|values)$`)
	placeholder = []string{"TestScan_skipsDeletedKeys", "FuzzX", "table.TableWriter", "page.After"}
)

// problem returns why a name does not exist, or "" if it does or is not one of ours.
func (s *symbols) problem(name string) string {
	switch {
	case slices.Contains(placeholder, name):
	case repoPath.MatchString(name):
		if !exists(name) && !strings.HasSuffix(name, "/TITLE.md") {
			return "there is no such path"
		}
	case testName.MatchString(name):
		if !(&commands{tests: s.tests}).hasTest(name) {
			return "there is no such test"
		}
	case strings.HasSuffix(name, ".go"):
		if base := path.Base(name); !s.files[base] && base == strings.ToLower(base) {
			return "there is no such file"
		}
	case errName.MatchString(name):
		for _, declared := range s.packages {
			if declared[name] {
				return ""
			}
		}
		return "there is no such error"
	case metricName.MatchString(name):
	case dottedName.MatchString(name) && !fileName.MatchString(name):
		return s.dotted(strings.Split(name, "."))
	}
	return ""
}

// dotted checks package.name, package.Type.member and Type.member. Other names belong to others.
func (s *symbols) dotted(parts []string) string {
	of := parts[0]
	switch of {
	case "db":
		of = "DB"
	case "tx":
		of = "Tx"
	}
	rest := parts[1:]
	if declared := s.packages[of]; declared != nil && of == parts[0] {
		name := rest[0]
		if testName.MatchString(name) {
			return s.problem(name)
		}
		if !declared[name] {
			return "package " + of + " declares no " + name
		}
		of, rest = name, rest[1:]
	}
	if s.members[of] != nil && len(rest) > 0 && !s.has(of, rest[0]) {
		return "the type " + of + " has no " + rest[0]
	}
	return ""
}

// TestDocuments_nameWhatExists looks up the paths, tests, errors and dotted names in the inline
// code of documents.
func TestDocuments_nameWhatExists(t *testing.T) {
	s := knownSymbols(t)
	for _, d := range documents(t) {
		if d.changelog() {
			continue
		}
		for _, span := range d.spans {
			for _, name := range between.Split(span, -1) {
				if repoPath.MatchString(name) && exists(path.Join(path.Dir(d.path), name)) {
					continue // a module's document names the module's paths
				}
				if problem := s.problem(name); problem != "" {
					t.Errorf("%s: `%s`: %s", d.path, name, problem)
				}
			}
		}
	}
}

func TestPromises_nameTests(t *testing.T) {
	named := 0
	for _, span := range documentNamed(t, "docs/durability.md").spans {
		if testName.MatchString(span) {
			named++
		}
	}
	if named < 20 {
		t.Errorf("docs/durability.md names %d tests: each promise has some", named)
	}
}

var (
	// flowStep is a step of a flow in ARCHITECTURE.md: its files, and the first name in them.
	flowStep = regexp.MustCompile("((?:`[\\w/]+\\.go`, )*`[\\w/]+\\.go`): `([\\w.]+)")
	goFile   = regexp.MustCompile(`[\w/]+\.go`)
)

// TestArchitecture_flowsFindTheirFunctions checks that the files on a flow declare what the flow
// says they do.
func TestArchitecture_flowsFindTheirFunctions(t *testing.T) {
	declared := map[string]map[string]bool{}
	for _, f := range load(t, library) {
		declared[f.path] = map[string]bool{}
		for _, d := range f.tree.Decls {
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					declared[f.path][n.Name.Name] = true
				case *ast.TypeSpec:
					declared[f.path][n.Name.Name] = true
				}
				return true
			})
		}
	}
	text := strings.Join(strings.Fields(documentNamed(t, "ARCHITECTURE.md").text), " ")
	steps := flowStep.FindAllStringSubmatch(text, -1)
	if len(steps) < 20 {
		t.Errorf("ARCHITECTURE.md has %d steps of the form `file.go`: `name`", len(steps))
	}
	for _, step := range steps {
		name := step[2][strings.LastIndex(step[2], ".")+1:]
		if !slices.ContainsFunc(goFile.FindAllString(step[1], -1), func(file string) bool {
			return declared[file][name]
		}) {
			t.Errorf("ARCHITECTURE.md sends readers to %s for %s, which is not there", step[1], step[2])
		}
	}
}
