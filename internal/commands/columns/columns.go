// Package columns prints tables for people that fit into a terminal of 80 columns. A character
// counts as one column. Nothing here knows what a cell says.
package columns

import (
	"fmt"
	"io"
	"strings"
)

// Max is the width of all output that is for people.
const Max = 80

// Shorten returns text in at most n characters, with an ellipsis at the end.
func Shorten(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:max(0, n-1)]) + "…"
}

// Table prints rows in columns of fixed widths. The last column has no width: it takes the rest of
// the line.
type Table struct {
	Out    io.Writer
	Widths []int // negative: aligned to the right
}

// Row prints a row.
func (t *Table) Row(cells ...string) error {
	var line strings.Builder
	used := 0
	for i, cell := range cells {
		if i == len(t.Widths) {
			line.WriteString(Shorten(cell, Max-used))
			break
		}
		w := t.Widths[i]
		fmt.Fprintf(&line, "%*s  ", -w, Shorten(cell, max(w, -w)))
		used += max(w, -w) + 2
	}
	_, err := fmt.Fprintln(t.Out, strings.TrimRight(line.String(), " "))
	return err
}
