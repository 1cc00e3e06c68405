package arch

import (
	"go/ast"
	"go/doc"
	"slices"
	"strings"
	"testing"
)

// TestExamples_showTheAPI wants an example with output to use each exported function, type, method,
// constant and variable.
func TestExamples_showTheAPI(t *testing.T) {
	for _, pkg := range []string{".", "record", "feed", "tuple"} {
		for _, name := range withoutExample(load(t, library), pkg) {
			t.Errorf("no example with output uses %s: write one", name)
		}
	}
}

// withoutExample returns the exported names of a package that none of its examples uses. It does
// not tell methods of one name from each other, and so finds too few, never too many.
func withoutExample(files []*file, pkg string) []string {
	var names []string
	used := map[string]bool{}
	for _, f := range files {
		switch {
		case f.pkg != pkg:
		case f.test:
			for _, example := range doc.Examples(f.tree) {
				if example.Output != "" || example.EmptyOutput {
					noteNames(used, example.Code)
				}
			}
		default:
			for _, d := range f.tree.Decls {
				names = append(names, exportedBy(d)...)
			}
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return used[name[strings.LastIndex(name, ".")+1:]]
	})
	for i, name := range names {
		names[i] = strings.TrimPrefix(pkg+".", "..") + name
	}
	return names
}

// noteNames notes the identifiers in code.
func noteNames(used map[string]bool, code ast.Node) {
	ast.Inspect(code, func(n ast.Node) bool {
		if id, isName := n.(*ast.Ident); isName {
			used[id.Name] = true
		}
		return true
	})
}

// exportedBy returns the names that a declaration exports, and methods with their types.
func exportedBy(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if !d.Name.IsExported() {
			return nil
		}
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		if of := lastName(d.Recv.List[0].Type); ast.IsExported(of) {
			return []string{of + "." + d.Name.Name}
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, spec.Name.Name)
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					names = append(names, name.Name)
				}
			}
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return !ast.IsExported(name) })
}
