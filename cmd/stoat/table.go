package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// column is a column of a table. A wider cell pushes the rest of its row to the right.
type column struct {
	width int
	right bool // cells are aligned to the right
	look  style
}

// table prints rows as they come, in columns of fixed widths, so no row waits for later ones.
type table struct {
	s       *stdio
	columns []column
}

// row prints one row immediately. Missing cells are empty.
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
