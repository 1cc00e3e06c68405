package arch

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// declRules are the rules about declarations and their documentation.
var declRules = []rule{
	{
		name:  "documented types",
		check: typesDocumented,
		bad:   "type node struct{}",
		good:  "// node is a node.\ntype node struct{}",
	},
	{
		name:  "documented functions",
		check: functionsDocumented,
		bad:   "func Open() {}",
		good:  "// Open opens.\nfunc Open() {}\n\nfunc closed() {}\n\nfunc (hidden) Len() {}",
	},
	{
		name:  "documented values",
		check: valuesDocumented,
		bad:   "const Limit = 1",
		good:  "// Limits.\nconst (\n\tLow = 1\n\tHigh = 2\n)\n\nconst inner = 1",
	},
	{
		name:  "documented fields",
		check: fieldsDocumented,
		at:    "options.go",
		bad:   "// Options are options.\ntype Options struct {\n\tReadOnly bool\n}",
		good:  "// Options are options.\ntype Options struct {\n\tReadOnly bool // never writes\n}",
	},
	{
		name:  "mutable globals",
		check: noMutableGlobals,
		bad:   "var count int",
		good: "var ErrLost = errors.New(\"lost\")\n\nvar _ reader = file{}\n\n" +
			"// sizes is immutable.\nvar sizes = [2]int{1, 2}",
	},
	{
		name:  "assigned globals",
		check: globalsNotAssigned,
		bad:   "// sizes is immutable.\nvar sizes = [2]int{}\n\nfunc f() { sizes[0] = 1 }",
		good: "// sizes is immutable.\nvar sizes = [2]int{}\n\n" +
			"func f() { sizes := [2]int{}; sizes[0] = 1 }",
	},
	{
		name:  "init functions",
		check: noInit,
		bad:   "func init() {}",
		good:  "func (t table) init() {}",
	},
	{
		name:  "naked returns",
		check: noNakedReturns,
		bad:   "func f() (n int) { return }",
		good:  "func f() (n int) { g(func() { return }); return n }",
	},
	{
		name:  "any in the API",
		check: noAny,
		bad:   "// Put puts.\nfunc Put(v any) {}",
		good:  "// Putf puts.\nfunc Putf(f string, v ...any) {}\n\n// Of is of.\nfunc Of[T any](v T) {}",
	},
}

func TestPackages_haveOneComment(t *testing.T) {
	comments := map[string][]string{}
	for _, f := range load(t, library) {
		if f.test {
			continue
		}
		if _, ok := comments[f.pkg]; !ok {
			comments[f.pkg] = nil
		}
		if f.tree.Doc == nil {
			continue
		}
		comments[f.pkg] = append(comments[f.pkg], f.path)
		want := "Package " + f.tree.Name.Name + " "
		if f.tree.Name.Name == "main" {
			want = "Command "
		}
		if !strings.HasPrefix(f.tree.Doc.Text(), want) {
			t.Errorf("%s: the package comment must start with %q", f.path, want)
		}
	}
	for pkg, where := range comments {
		if len(where) != 1 {
			t.Errorf("package %s has %d package comments %v, want 1 that says what it is, how it is "+
				"safe to use, and what it does not do", pkg, len(where), where)
		}
	}
}

// each calls fn for every declaration in a file's groups, with its own comment or the group's.
func each(f *file, fn func(d *ast.GenDecl, spec ast.Spec, doc string)) {
	for _, d := range f.tree.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range group.Specs {
			doc := group.Doc.Text()
			switch s := spec.(type) {
			case *ast.TypeSpec:
				doc += s.Doc.Text()
			case *ast.ValueSpec:
				doc += s.Doc.Text() + s.Comment.Text()
			}
			fn(group, spec, doc)
		}
	}
}

func typesDocumented(f *file, report reporter) {
	if f.test {
		return
	}
	each(f, func(_ *ast.GenDecl, spec ast.Spec, doc string) {
		s, ok := spec.(*ast.TypeSpec)
		if !ok {
			return
		}
		if !opens(doc, s.Name.Name) {
			report(s.Pos(), "document %s: start with a sentence that defines it, \"%s …\"",
				s.Name.Name, s.Name.Name)
		}
		methods, ok := s.Type.(*ast.InterfaceType)
		if !ok || !s.Name.IsExported() {
			return
		}
		for _, m := range methods.Methods.List {
			if len(m.Names) > 0 && m.Doc == nil && m.Comment == nil {
				report(m.Pos(), "document %s.%s: it is a contract", s.Name.Name, m.Names[0].Name)
			}
		}
	})
}

func functionsDocumented(f *file, report reporter) {
	if f.test {
		return
	}
	for _, d := range f.tree.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if ok && exported(fn) && !opens(fn.Doc.Text(), fn.Name.Name) {
			report(fn.Pos(), "document %s: start with \"%s …\"", fn.Name.Name, fn.Name.Name)
		}
	}
}

func valuesDocumented(f *file, report reporter) {
	if f.test {
		return
	}
	each(f, func(_ *ast.GenDecl, spec ast.Spec, doc string) {
		s, ok := spec.(*ast.ValueSpec)
		if ok && s.Names[0].IsExported() && doc == "" {
			report(s.Pos(), "document %s: say what it means", s.Names[0].Name)
		}
	})
}

// fieldsDocumented requires a comment on every exported field of the public API.
func fieldsDocumented(f *file, report reporter) {
	if f.test || f.pkg != "." {
		return
	}
	each(f, func(_ *ast.GenDecl, spec ast.Spec, _ string) {
		s, ok := spec.(*ast.TypeSpec)
		if !ok || !s.Name.IsExported() {
			return
		}
		body, ok := s.Type.(*ast.StructType)
		if !ok {
			return
		}
		documented := false
		for i, field := range body.Fields.List {
			adjoining := i > 0 && f.line(field.Pos()) == f.line(body.Fields.List[i-1].End())+1
			documented = field.Doc != nil || field.Comment != nil || documented && adjoining
			if len(field.Names) > 0 && field.Names[0].IsExported() && !documented {
				report(field.Pos(), "document the field %s", field.Names[0].Name)
			}
		}
	})
}

// opens reports whether a comment starts with the name, perhaps after an article.
func opens(doc, name string) bool {
	for _, article := range []string{"A ", "An ", "The "} {
		doc = strings.TrimPrefix(doc, article)
	}
	rest, ok := strings.CutPrefix(doc, name)
	return ok && (rest == "" || strings.ContainsAny(rest[:1], " ,:.\n'("))
}

// exported reports whether other packages can call a function by its name.
func exported(fn *ast.FuncDecl) bool {
	if fn.Recv == nil {
		return fn.Name.IsExported()
	}
	base := fn.Recv.List[0].Type
	if star, ok := base.(*ast.StarExpr); ok {
		base = star.X
	}
	if index, ok := base.(*ast.IndexExpr); ok {
		base = index.X
	}
	name, ok := base.(*ast.Ident)
	return ok && name.IsExported() && fn.Name.IsExported()
}

// noMutableGlobals allows only package-level variables that are errors, assertions, checksum
// tables, or immutable by their comment.
func noMutableGlobals(f *file, report reporter) {
	if f.test {
		return
	}
	each(f, func(d *ast.GenDecl, spec ast.Spec, doc string) {
		s, ok := spec.(*ast.ValueSpec)
		if !ok || d.Tok != token.VAR || strings.Contains(strings.ToLower(doc), "immutable") {
			return
		}
		for i, name := range s.Names {
			if name.Name == "_" || i < len(s.Values) && constant(name.Name, s.Values[i]) {
				continue
			}
			report(name.Pos(), "%s: no mutable package-level variables; make it a field, a "+
				"constant, or say in its comment why it is immutable", name.Name)
		}
	})
}

// constant reports whether a variable of this name and value is constant by convention.
func constant(name string, value ast.Expr) bool {
	if call, ok := value.(*ast.CallExpr); ok {
		value = call.Fun
	}
	sel, ok := value.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	return sel.Sel.Name == "MakeTable" || strings.HasPrefix(strings.ToLower(name), "err")
}

// globalsNotAssigned finds assignments to a file's package-level variables in the same file.
func globalsNotAssigned(f *file, report reporter) {
	if f.test {
		return
	}
	//lint:ignore SA1019 within one file, what the parser itself resolves is enough
	globals := map[*ast.Object]bool{}
	each(f, func(d *ast.GenDecl, spec ast.Spec, _ string) {
		if s, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.VAR {
			for _, name := range s.Names {
				globals[name.Obj] = true
			}
		}
	})
	check := func(target ast.Expr) {
		if name := rootOf(target); name != nil && name.Obj != nil && globals[name.Obj] {
			report(target.Pos(), "do not assign to the package-level variable %s", name.Name)
		}
	}
	for _, d := range f.tree.Decls {
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, target := range n.Lhs {
					check(target)
				}
			case *ast.IncDecStmt:
				check(n.X)
			}
			return true
		})
	}
}

// rootOf returns the variable that an assignment to target changes, or nil.
func rootOf(target ast.Expr) *ast.Ident {
	for {
		switch x := target.(type) {
		case *ast.Ident:
			return x
		case *ast.IndexExpr:
			target = x.X
		case *ast.SelectorExpr:
			target = x.X
		case *ast.StarExpr:
			target = x.X
		case *ast.ParenExpr:
			target = x.X
		default:
			return nil
		}
	}
}

func noInit(f *file, report reporter) {
	for _, d := range f.tree.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			report(fn.Pos(), "no init functions: build it where it is used")
		}
	}
}

func noNakedReturns(f *file, report reporter) {
	var visit func(body ast.Node, named bool)
	visit = func(body ast.Node, named bool) {
		ast.Inspect(body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				visit(n.Body, hasNamedResults(n.Type))
				return false
			case *ast.ReturnStmt:
				if named && len(n.Results) == 0 {
					report(n.Pos(), "name what is returned")
				}
			}
			return true
		})
	}
	for _, d := range f.tree.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			visit(fn.Body, hasNamedResults(fn.Type))
		}
	}
}

func hasNamedResults(t *ast.FuncType) bool {
	return t.Results != nil && len(t.Results.List) > 0 && len(t.Results.List[0].Names) > 0
}

// noAny forbids any and interface{} in the signatures of exported functions, except as the
// arguments of a format.
func noAny(f *file, report reporter) {
	if f.test {
		return
	}
	for _, d := range f.tree.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || !exported(fn) {
			continue
		}
		fields := fn.Type.Params.List
		if fn.Type.Results != nil {
			fields = append(fields[:len(fields):len(fields)], fn.Type.Results.List...)
		}
		for _, field := range fields {
			if empty(field.Type) {
				report(field.Pos(), "no any in the signature of %s: name the type", fn.Name.Name)
			}
		}
	}
}

// empty reports whether a type is any, interface{}, or a slice of them.
func empty(t ast.Expr) bool {
	switch t := t.(type) {
	case *ast.Ident:
		return t.Name == "any"
	case *ast.InterfaceType:
		return len(t.Methods.List) == 0
	case *ast.ArrayType:
		return empty(t.Elt)
	}
	return false
}
