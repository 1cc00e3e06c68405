package main

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// filesBytes is how much of Go's sources is read.
const filesBytes = 6 << 20

// goFiles calls fn for source files of the Go distribution, except tests.
func goFiles(fn func(path string, text []byte) error) error {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	left := filesBytes
	src := filepath.Join(strings.TrimSpace(string(root)), "src")
	return filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "cmd" || d.Name() == "vendor"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		case left < 0:
			return fs.SkipAll
		}
		text, err := os.ReadFile(path)
		if err != nil || len(text) > 64<<10 {
			return err
		}
		left -= len(text)
		return fn(path, text)
	})
}

func sourceFiles() (values [][]byte, err error) {
	err = goFiles(func(_ string, text []byte) error {
		values = append(values, text)
		return nil
	})
	return values, err
}

// declarations returns Go declarations with their comments, one per record.
func declarations() (values [][]byte, err error) {
	err = goFiles(func(path string, text []byte) error {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			from := d.Pos()
			if f, ok := d.(*ast.FuncDecl); ok && f.Doc != nil {
				from = f.Doc.Pos()
			}
			start, end := set.Position(from).Offset, set.Position(d.End()).Offset
			if end-start >= 100 && end-start <= 2000 {
				values = append(values, text[start:end])
			}
		}
		return nil
	})
	return values, err
}

// comments returns the longer comments of Go's sources, without comment marks.
func comments() (values [][]byte, err error) {
	err = goFiles(func(path string, text []byte) error {
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, c := range file.Comments {
			text := c.Text()
			if len(text) >= 100 && len(text) <= 2000 && !strings.HasPrefix(text, "Copyright") {
				values = append(values, []byte(text))
			}
		}
		return nil
	})
	return values, err
}

// stanzas returns what Debian's package manager knows about each package.
func stanzas() (values [][]byte, err error) {
	text, err := os.ReadFile("/var/lib/dpkg/status")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for stanza := range bytes.SplitSeq(text, []byte("\n\n")) {
		if stanza = bytes.TrimSpace(stanza); len(stanza) > 0 {
			values = append(values, stanza)
		}
	}
	return values, err
}
