package arch

import (
	"bytes"
	"go/ast"
	"strings"
	"unicode/utf8"
)

const (
	fileLinesMax     = 400 // of a file that is not a test
	functionLinesMax = 70
	columnsMax       = 100
)

// unfinished are the marks of unfinished work, spelled so that this file does not contain them.
var unfinished = []string{"TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"}

// textRules are the rules about sizes and text.
var textRules = []rule{
	{
		name:  "file length",
		check: fileLength,
		bad:   strings.Repeat("\n", fileLinesMax),
		good:  strings.Repeat("\n", fileLinesMax-4),
	},
	{
		name:  "function length",
		check: functionLength,
		bad:   "func f() {" + strings.Repeat("\n", functionLinesMax) + "}",
		good:  "func f() {" + strings.Repeat("\n", functionLinesMax-1) + "}",
	},
	{
		name:  "line length",
		check: lineLength,
		bad:   "//" + strings.Repeat(" x", columnsMax/2),
		good:  "//" + strings.Repeat(" ö", columnsMax/2-1),
	},
	{
		name:  "unfinished work",
		check: noMarks,
		bad:   "// " + unfinished[0] + ": later",
		good:  "// nothing is left to do",
	},
	{
		name:  "file header",
		check: header,
		bad:   "// Copyright of nobody.\n\npackage sample",
		good:  "//go:build linux\n\n// Package sample is one.\npackage sample\n\n// Free.",
	},
}

func fileLength(f *file, report reporter) {
	lines := bytes.Count(f.text, []byte("\n"))
	if !f.test && lines > fileLinesMax {
		report(f.tree.Package, "%d lines, at most %d: split it where it has two nouns", lines,
			fileLinesMax)
	}
}

func functionLength(f *file, report reporter) {
	for _, d := range f.tree.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if lines := f.line(fn.End()) - f.line(fn.Pos()) + 1; lines > functionLinesMax {
			report(fn.Pos(), "%s has %d lines, at most %d: name its steps", fn.Name.Name, lines,
				functionLinesMax)
		}
	}
}

// lineLength forbids long lines, except comments of one unbroken word, such as an address. A tab
// counts as one column.
func lineLength(f *file, report reporter) {
	start := f.set.File(f.tree.Package)
	for i, line := range strings.Split(string(f.text), "\n") {
		columns := utf8.RuneCountInString(line)
		if columns > columnsMax && len(strings.Fields(line)) > 2 {
			report(start.LineStart(i+1), "%d columns, at most %d: break the line", columns,
				columnsMax)
		}
	}
}

func noMarks(f *file, report reporter) {
	for _, group := range f.tree.Comments {
		for _, c := range group.List {
			for _, mark := range unfinished {
				if strings.Contains(c.Text, mark) {
					report(c.Pos(), "%s: do it now, or open an issue and say nothing here", mark)
				}
			}
		}
	}
}

// header requires a file to start with its build constraint, package comment or package clause: no
// licence, author or date.
func header(f *file, report reporter) {
	for _, group := range f.tree.Comments {
		if group.Pos() > f.tree.Package {
			return
		}
		directive := strings.HasPrefix(group.List[0].Text, "//go:build ") || generated(group)
		if group != f.tree.Doc && !directive {
			report(group.Pos(), "a file starts with its build constraint and its package comment or "+
				"clause: remove this comment or join it to the package comment")
		}
	}
}

// generated reports whether the comment marks a file written by a program.
func generated(group *ast.CommentGroup) bool {
	return strings.HasPrefix(group.List[0].Text, "// Code generated ")
}
