package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stoatdb/stoat/bench/suite"
)

// Choice says what a Markdown table shows. Empty lists stand for everything.
type Choice struct {
	Suite   string
	Rows    []string // names of rows, each alone or with one of its states as in "memory/peak"
	Engines []string
}

// has reports whether the choice includes a line.
func (c Choice) has(l Line) bool {
	return len(c.Rows) == 0 || slices.Contains(c.Rows, l.Row.Name) ||
		slices.Contains(c.Rows, l.Row.Name+"/"+l.State())
}

// engines returns the chosen engines that have samples of any of the lines.
func (c Choice) engines(f *Figures, lines []Line) []string {
	return slices.DeleteFunc(slices.Clone(f.Engines()), func(name string) bool {
		if len(c.Engines) > 0 && !slices.Contains(c.Engines, name) {
			return true
		}
		return !slices.ContainsFunc(lines, func(l Line) bool { return f.Rounds(name, l) > 0 })
	})
}

// Markdown writes the medians as a Markdown table, with a line for each position on the rows' axes,
// and a sentence that says how they were measured. It reports whether any line was chosen.
func (r *Result) Markdown(w io.Writer, s suite.Suite, c Choice) bool {
	if c.Suite != "" && c.Suite != r.Suite {
		return false
	}
	f := NewFigures(r)
	lines := slices.DeleteFunc(f.AllLines(s), func(l Line) bool {
		return l.Row.Axis == TimeAxis || !c.has(l)
	})
	if len(lines) == 0 {
		return false
	}
	engines := c.engines(f, lines)
	main, compared := f.Main()
	compared = compared && slices.Contains(engines, main) && len(engines) > 1
	heads := []string{"row", ""}
	for _, name := range engines {
		heads = append(heads, f.Label(name))
	}
	if compared {
		heads = append(heads, "ratio")
	}
	fmt.Fprintf(w, "| %s |\n| --- | ---%s |\n", strings.Join(heads, " | "),
		strings.Repeat(" | ---:", len(heads)-2))
	row := ""
	for _, l := range lines {
		cells := []string{"", place(l)}
		if l.Row.Name != row {
			row = l.Row.Name
			cells[0] = "`" + row + "`"
		}
		for _, name := range engines {
			cells = append(cells, median(f, l, name))
		}
		if compared {
			cells = append(cells, ratioCell(f, l, main))
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
	fmt.Fprintln(w)
	Paragraph(w, r.conditions())
	return true
}

// place returns the state of a line and its position on its axis.
func place(l Line) string {
	if l.Row.Axis == "" {
		return l.State()
	}
	return strings.TrimSpace(l.State() + " " + Count(l.At.X))
}

// median returns the median of an engine's samples as text.
func median(f *Figures, l Line, engine string) string {
	samples := f.Samples(engine, l)
	if len(samples) == 0 {
		return "–"
	}
	number, unit := Scale(Median(samples), l.Row.Unit)
	return number + " " + unit
}

// ratioCell returns the ratio to the best peer as text, bold if that peer is better.
func ratioCell(f *Figures, l Line, engine string) string {
	ratio, ok := f.Ratio(engine, l)
	switch {
	case !ok:
		return "–"
	case ratio >= 1.005: // below, it is shown as 1.00
		return "**" + Digits(ratio) + "**"
	}
	return Digits(ratio)
}

// shortSystem returns a system without the end of its version that names a build.
func shortSystem(system string) string {
	name, version, found := strings.Cut(system, " ")
	if !found {
		return name
	}
	numbers := strings.SplitN(version, ".", 3)
	return name + " " + strings.Join(numbers[:min(2, len(numbers))], ".")
}

// conditions says how the result was measured.
func (r *Result) conditions() string {
	s := r.Settings
	durability := "no commit durable"
	if s.Sync {
		durability = "every commit durable"
	}
	parts := []string{"Suite `" + r.Suite + "`", s.Profile + " profile", "1 round", durability,
		r.Place()}
	if s.Rounds != 1 {
		parts[2] = fmt.Sprintf("%d rounds", s.Rounds)
	}
	if s.N > 0 {
		parts = append(parts, Count(float64(s.N))+" entries")
	}
	if s.Memory > 0 {
		number, unit := Scale(float64(s.Memory), suite.Bytes)
		parts = append(parts, number+" "+unit+" of memory for each process")
	}
	return strings.Join(parts, ", ") + "."
}

// MarkdownFacts writes the machine and the engines, with their versions and settings.
func (r *Report) MarkdownFacts(w io.Writer) {
	m := r.Machine
	number, unit := Scale(float64(m.Memory), suite.Bytes)
	Paragraph(w, fmt.Sprintf("%s, %d CPUs, %s %s of memory, %s, %s, %s.", m.CPU, m.CPUs, number, unit,
		shortSystem(m.System), m.Go, r.Started.Format("2 January 2006")))
	fmt.Fprint(w, "\n| engine | version | settings that are not its defaults |\n| --- | --- | --- |\n")
	var known []string
	for _, result := range r.Results {
		for _, e := range result.Engines {
			if !slices.Contains(known, e.Name) {
				known = append(known, e.Name)
				fmt.Fprintf(w, "| %s | %s | %s |\n", e.Name, e.Version, e.Settings)
			}
		}
	}
}
