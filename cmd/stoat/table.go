package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// column is a column of a table. A cell that is wider pushes the rest of its row to the right.
type column struct {
	width int
	right bool // cells stand at the right edge
	look  style
}

// table prints rows as they come, in columns of fixed widths, so that a row need not wait for the
// rows after it.
type table struct {
	s       *stdio
	columns []column
}

// row prints one row and lets it be seen at once. Cells that are missing are empty.
func (t *table) row(cells ...string) error {
	var line strings.Builder
	for i, cell := range cells {
		c := t.columns[i]
		gap := strings.Repeat(" ", max(0, c.width-utf8.RuneCountInString(cell)))
		text := t.s.paint(cell, c.look)
		if cell == "" {
			text = ""
		}
		if i > 0 {
			line.WriteString("  ")
		}
		if c.right {
			line.WriteString(gap + text)
		} else {
			line.WriteString(text + gap)
		}
	}
	if _, err := fmt.Fprintln(t.s.out, strings.TrimRight(line.String(), " ")); err != nil {
		return err
	}
	return t.s.out.Flush()
}
