package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// The lines around the table in a document.
const (
	begins = "<!-- trust -->"
	ends   = "<!-- /trust -->"
)

// table returns the Markdown table of what was tried. The column "lost" is 0: after a loss, there
// is no table.
func (t *tally) table() string {
	var b strings.Builder
	b.WriteString("| what | count | seconds | lost |\n| --- | --: | --: | --: |\n")
	for _, r := range t.rows {
		fmt.Fprintf(&b, "| %s | %s | %s | 0 |\n", r.noun, grouped(r.count),
			grouped(uint64(r.took.Seconds()+0.5)))
	}
	return b.String()
}

// grouped writes a number with commas between thousands.
func grouped(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

var errNoPlace = errors.New("there must be a line " + begins + " and after it a line " + ends)

// place returns the document with the table between its lines, instead of what was there.
func place(document []byte, table string) ([]byte, error) {
	before, rest, found := bytes.Cut(document, []byte(begins+"\n"))
	_, after, closed := bytes.Cut(rest, []byte(ends))
	if !found || !closed {
		return nil, errNoPlace
	}
	text := begins + "\n" + table + ends
	return bytes.Join([][]byte{before, []byte(text), after}, nil), nil
}

// write puts the table into a file.
func write(name, table string) error {
	document, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if document, err = place(document, table); err != nil {
		return fmt.Errorf("write the table to %s: %w", name, err)
	}
	return os.WriteFile(name, document, info.Mode().Perm())
}
