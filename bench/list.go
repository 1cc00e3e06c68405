package main

import (
	"fmt"
	"io"

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
			fmt.Fprintf(w, "  %-19s%s\n", row.Name, row.About)
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
		version = "not here: " + e.Missing
	}
	fmt.Fprintf(w, "  %-17s%s\n", e.Name, version)
	if e.Settings != "" && e.Missing == "" {
		fmt.Fprintf(w, "  %-17s%s\n", "", e.Settings)
	}
}
