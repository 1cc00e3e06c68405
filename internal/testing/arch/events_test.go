package arch

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// levels are the methods of a slog.Logger that log, by the names of their levels.
var levels = []string{"Debug", "Info", "Warn", "Error"}

// event is a call of a logger: "| message | level | attributes", as a row of a table begins.
func event(call *ast.CallExpr) (row, problem string) {
	method, isMethod := call.Fun.(*ast.SelectorExpr)
	if !isMethod || !strings.EqualFold(lastName(method.X), "logger") {
		return "", ""
	}
	level := method.Sel.Name
	if !slices.Contains(levels, level) {
		return "", "only " + strings.Join(levels, ", ") + " may be called on a logger"
	}
	message, isLiteral := text(call.Args[0])
	if !isLiteral {
		return "", "the message of an event must be a literal, so that it can be looked up"
	}
	var names []string
	for i := 1; i < len(call.Args); i += 2 {
		name, isLiteral := text(call.Args[i])
		if !isLiteral {
			return "", "the names of attributes must be literals"
		}
		names = append(names, "`"+name+"`")
	}
	return "| `" + message + "` | " + level + " | " + strings.Join(names, ", ") + " |", ""
}

// text returns the value of a string literal.
func text(x ast.Expr) (value string, isLiteral bool) {
	literal, isLiteral := x.(*ast.BasicLit)
	if !isLiteral || literal.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(literal.Value)
	return value, err == nil
}

// TestEvents_areThoseOfTheDocument compares the calls of loggers in the library with the table of
// events in docs/observability.md.
func TestEvents_areThoseOfTheDocument(t *testing.T) {
	const name = "docs/observability.md"
	called := map[string]string{}
	for _, f := range load(t, library) {
		if f.test || f.in("cmd", "examples") {
			continue
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			call, isCall := n.(*ast.CallExpr)
			if !isCall {
				return true
			}
			row, problem := event(call)
			if problem != "" {
				t.Errorf("%s:%d: %s", f.path, f.line(call.Pos()), problem)
			} else if row != "" {
				called[row] = f.path
			}
			return true
		})
	}
	if len(called) < 20 {
		t.Fatalf("only %d events were found", len(called))
	}
	documented := map[string]bool{}
	_, table, _ := strings.Cut(documentNamed(t, name).section(t, "Events"), "| --- |")
	for line := range strings.SplitSeq(table, "\n| ") {
		if cells := strings.SplitN("| "+line, " | ", 4); len(cells) == 4 {
			documented[strings.Join(cells[:3], " | ")+" |"] = true
		}
	}
	delete(documented, "| --- | --- | --- |")
	for _, row := range slices.Sorted(maps.Keys(called)) {
		if !documented[row] {
			t.Errorf("%s lacks this event of %s:\n%s", name, called[row], row)
		}
	}
	for row := range documented {
		if called[row] == "" {
			t.Errorf("%s has an event that is nowhere in the code:\n%s", name, row)
		}
	}
}

// TestRegions_areThoseOfTheDocument compares the regions of traces in the library with their table.
func TestRegions_areThoseOfTheDocument(t *testing.T) {
	const name = "docs/observability.md"
	marked := map[string]bool{}
	for _, f := range load(t, library) {
		ast.Inspect(f.tree, func(n ast.Node) bool {
			call, isCall := n.(*ast.CallExpr)
			if !isCall || len(call.Args) != 2 || lastName(call.Fun) != "StartRegion" {
				return true
			}
			region, isLiteral := text(call.Args[1])
			if !isLiteral {
				t.Errorf("%s:%d: the name of a region must be a literal", f.path, f.line(call.Pos()))
			}
			marked[region] = true
			return true
		})
	}
	documented := firstColumn(documentNamed(t, name).section(t, "Traces"))
	slices.Sort(documented)
	if got := slices.Sorted(maps.Keys(marked)); !slices.Equal(got, documented) {
		t.Errorf("the code has the regions %v, and %s the regions %v", got, name, documented)
	}
}
