package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoatdb/stoat/internal/commands/bucketpath"
)

// shell runs lines. It is not safe for concurrent use.
type shell struct {
	db      string
	keyFile string   // with the key of the database; may be empty
	bucket  []string // path of the current bucket; empty for the root bucket
	catalog catalog
	out     io.Writer
	err     io.Writer
	execute func(args []string) (code int, err error) // runs the program stoat
}

// lineMax is the maximum length of a script's line in bytes.
const lineMax = 64 << 20

// script runs the lines that it reads, until one fails, and returns its exit code.
func (s *shell) script(in io.Reader) int {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, lineMax)
	n := 1
	for ; lines.Scan(); n++ {
		code, end := s.do(lines.Text())
		if code != exitOK {
			fmt.Fprintf(s.err, "stoat-shell: stopped at line %d\n", n)
		}
		if code != exitOK || end {
			return code
		}
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintf(s.err, "stoat-shell: line %d: %v\n", n, err)
		return exitError
	}
	return exitOK
}

// converse runs the lines that the user types, until the input ends.
func (s *shell) converse(p *prompt) int {
	fmt.Fprintf(s.out, "%s: \"help\" lists the commands, Tab completes, Ctrl-D ends\n", s.db)
	for {
		line, err := p.read(s.prompt(), s.complete)
		if errors.Is(err, io.EOF) {
			return exitOK
		}
		if err != nil {
			fmt.Fprintf(s.err, "stoat-shell: %v\n", err)
			return exitError
		}
		if _, end := s.do(line); end {
			return exitOK
		}
	}
}

// prompt returns the prompt: the database and the current bucket.
func (s *shell) prompt() string {
	name := filepath.Base(filepath.Clean(s.db))
	if len(s.bucket) > 0 {
		name += ":" + bucketpath.Format(s.bucket)
	}
	return name + "> "
}

// do runs one line and returns its exit code, and whether it ends the shell.
func (s *shell) do(line string) (code int, end bool) {
	words, err := split(line)
	if err != nil {
		return s.fail(exitUsage, err), false
	}
	if len(words) == 0 {
		return exitOK, false
	}
	name, args := words[0], words[1:]
	if b := builtinNamed(name); b != nil {
		code, err := b.run(s, args)
		if err != nil {
			code = s.fail(code, err)
		}
		return code, b.ends
	}
	c := s.catalog.find(name)
	if c == nil {
		return s.fail(exitUsage, fmt.Errorf("unknown command %q; \"help\" lists them all", name)), false
	}
	code, err = s.execute(s.arguments(c, args))
	if err != nil {
		code = s.fail(code, err)
	}
	return code, false
}

// arguments returns the arguments of the program for a command of the shell. It adds the database,
// its key, and the current bucket if the command takes a bucket and none is given.
func (s *shell) arguments(c *command, args []string) []string {
	all := []string{c.Name}
	if len(s.bucket) > 0 && c.has("bucket") && !slices.ContainsFunc(args, isBucketFlag) {
		all = append(all, "-bucket="+bucketpath.Format(s.bucket))
	}
	if s.keyFile != "" && c.onDatabase() && c.has("key-file") { // else it is of another database
		all = append(all, "-key-file="+s.keyFile)
	}
	if c.onDatabase() {
		// Flags may follow it, so a name that starts with a dash must not look like one.
		db := s.db
		if strings.HasPrefix(db, "-") {
			db = "." + string(filepath.Separator) + db
		}
		all = append(all, db)
	}
	return append(all, args...)
}

// isBucketFlag reports whether a word is the flag -bucket.
func isBucketFlag(word string) bool {
	name, dashed := strings.CutPrefix(word, "-")
	name = strings.TrimPrefix(name, "-")
	return dashed && (name == "bucket" || strings.HasPrefix(name, "bucket="))
}

// fail reports an error and returns code.
func (s *shell) fail(code int, err error) int {
	fmt.Fprintf(s.err, "stoat-shell: %v\n", err)
	return code
}
