package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/report"
)

// list prints what can be measured here, and why the rest cannot.
func list(w io.Writer) {
	fmt.Fprint(w, `With -sync always each commit is durable when it returns, in every engine. With
-sync never none waits for the disk, by the engine's own option for that.
Below each engine stands every setting that is not the engine's default.
`)
	for _, s := range suites() {
		fmt.Fprintf(w, "\nSuite %s, %s\n", s.Name, s.About)
		for _, row := range s.Rows {
			entry(w, row.Name, row.About)
		}
		fmt.Fprintf(w, "\nEngines of %s\n", s.Name)
		for _, e := range s.Engines() {
			listEngine(w, e)
		}
	}
}

func listEngine(w io.Writer, e engine.About) {
	d := report.Describe([]engine.About{e})[0]
	version := d.Version
	if e.Extra {
		version += ", only if named"
	}
	if e.Missing != "" {
		version = "not available: " + e.Missing
	}
	entry(w, e.Name, version)
	if e.Settings != "" && e.Missing == "" {
		entry(w, "", e.Settings)
	}
}

// entry prints a name and, in a column beside it, a text.
func entry(w io.Writer, name, text string) {
	const column, width = 21, 80
	line := fmt.Sprintf("  %-*s", column-3, name)
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > width {
			fmt.Fprintln(w, line)
			line = strings.Repeat(" ", column-1)
		}
		line += " " + word
	}
	fmt.Fprintln(w, line)
}
