package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stoatdb/stoat/bench/suite"
)

// The table is 80 columns wide: a label, one column for us and six for others, and the ratio.
const (
	labelWidth  = 17
	columnWidth = 8 // a space, six characters, and the mark
	ratioWidth  = 7
	tableOthers = 6
)

// best marks the best of our peers.
const best = "*"

// Table writes the medians of all engines in as many tables as necessary.
func (r *Result) Table(w io.Writer, s suite.Suite) {
	f := NewFigures(r)
	fmt.Fprintf(w, "Suite %s: %s profile, %d round(s), %s, on %s, seed %d\n",
		r.Suite, r.Settings.Profile, r.Settings.Rounds, r.Durability(), r.Place(), r.Settings.Seed)
	if limit := r.Settings.Memory; limit > 0 {
		fmt.Fprintf(w, "Each process has %s of memory, with its page cache.\n",
			Format(float64(limit), suite.Bytes))
	}
	others := f.Engines()
	main, ok := f.Main()
	if ok {
		others = others[1:]
	}
	for group := range chunks(others, tableOthers) {
		if ok {
			group = append([]string{main}, group...)
		}
		fmt.Fprintln(w)
		columnHeads(w, f, group)
		table(w, f, s, group)
	}
	fmt.Fprintf(w, `
Medians of all samples. %[1]s marks the best peer; ratio is the cost per unit of
%[2]s divided by that of the peer: below 1, %[2]s is better.
`, best, us)
	if f.AnyFailed() {
		fmt.Fprintf(w, "%s failed in some turns (see below) and does not count as a peer.\n", Failed)
	}
	bounds(w, f, s)
	if left := overTime(f, s); len(left) > 0 {
		fmt.Fprintf(w, "Measured over time, shown only in the HTML report: %s.\n",
			strings.Join(left, ", "))
	}
	for _, e := range r.Failures {
		fmt.Fprintf(w, "\nfailed: %s, %s, round %d: %s\n", e.Engine, e.Task, e.Round, e.Error)
	}
}

// Place returns the user's name for the storage, and its file system.
func (r *Result) Place() string {
	if r.Settings.Storage == "" {
		return r.FileSystem
	}
	return r.Settings.Storage + " (" + r.FileSystem + ")"
}

// Durability says whether every commit was durable when it returned.
func (r *Result) Durability() string {
	if r.Settings.Sync {
		return "synced"
	}
	return "not synced"
}

// chunks is slices.Chunk, but yields one empty chunk for an empty slice.
func chunks(names []string, size int) func(yield func([]string) bool) {
	if len(names) == 0 {
		return func(yield func([]string) bool) { yield(nil) }
	}
	return slices.Chunk(names, size)
}

// columnHeads writes the engines' names, each over as many lines as necessary.
func columnHeads(w io.Writer, f *Figures, names []string) {
	var heads [][]string
	depth := 1
	for _, name := range names {
		head := wrap(f.Label(name), columnWidth-1)
		heads = append(heads, head)
		depth = max(depth, len(head))
	}
	for i := range depth {
		text := strings.Repeat(" ", labelWidth)
		for _, head := range heads {
			part := ""
			if from := depth - len(head); i >= from {
				part = head[i-from]
			}
			text += fmt.Sprintf("%*s ", columnWidth-1, part)
		}
		if i == depth-1 {
			text += fmt.Sprintf("%*s", ratioWidth, "ratio")
		}
		fmt.Fprintln(w, strings.TrimRight(text, " "))
	}
}

// wrap returns the parts of a name between dashes, cut into pieces if they are longer than width.
func wrap(name string, width int) []string {
	var pieces []string
	for _, part := range strings.Split(name, "-") {
		for piece := range slices.Chunk([]rune(part), width) {
			pieces = append(pieces, string(piece))
		}
	}
	return pieces
}

// table writes the lines of a table with the named engines.
func table(w io.Writer, f *Figures, s suite.Suite, names []string) {
	var row string
	for _, l := range f.Lines(s) {
		label := l.Row.Name
		if len(l.Row.States) > 0 || l.Row.Axis != "" {
			if row != label {
				fmt.Fprintln(w, title(l))
			}
			row, label = label, "  "+l.State()
		}
		if utf8.RuneCountInString(label) >= labelWidth {
			fmt.Fprintln(w, label)
			label = ""
		}
		tableLine(w, f, l, label, names)
	}
}

// title returns the heading of a row's lines: its name and the position on its axis.
func title(l Line) string {
	if l.Row.Axis == "" {
		return l.Row.Name
	}
	return fmt.Sprintf("%s, at %s %s", l.Row.Name, Count(l.At.X), l.Row.Axis)
}

// tableLine writes the medians of the named engines, and the ratio to the best of all peers.
func tableLine(w io.Writer, f *Figures, l Line, label string, names []string) {
	winner := f.Best(l)
	text := label + strings.Repeat(" ", labelWidth-utf8.RuneCountInString(label))
	for _, name := range names {
		cell, mark := "-", " "
		if samples := f.Samples(name, l); len(samples) > 0 {
			cell = Format(Median(samples), l.Row.Unit)
		}
		if name == winner {
			mark = best
		}
		padding := max(0, columnWidth-1-utf8.RuneCountInString(cell))
		text += strings.Repeat(" ", padding) + cell + mark
	}
	ratio := "-"
	if main, ok := f.Main(); ok {
		if v, ok := f.Ratio(main, l); ok {
			ratio = Digits(v)
		}
	}
	fmt.Fprintf(w, "%s%*s\n", text, ratioWidth, ratio)
}

// overTime returns the names of the rows that tables leave out.
func overTime(f *Figures, s suite.Suite) []string {
	var names []string
	for _, row := range s.Rows {
		measured := func(state string) bool { return len(f.Places(row.Name, state)) > 0 }
		if row.Axis == TimeAxis && slices.ContainsFunc(states(row), measured) {
			names = append(names, row.Name)
		}
	}
	return names
}

// Details writes the distribution of the samples behind each line of the table. The first sample is
// each round's first, or their median if there are several rounds. Quantiles go from the best to
// the worst: 99 % of the samples are not worse than p99.
func (r *Result) Details(w io.Writer, s suite.Suite) {
	f := NewFigures(r)
	for _, l := range f.Lines(s) {
		if l.Cold {
			continue
		}
		heading := title(l)
		if l.At.State != "" {
			heading += ", " + l.At.State
		}
		if utf8.RuneCountInString(heading) > 29 {
			fmt.Fprintf(w, "\n%s", heading)
			heading = ""
		}
		fmt.Fprintf(w, "\n%-30s%8s%8s%8s%8s%8s%8s\n", heading,
			"samples", "first", "best", "median", "p75", "p99")
		for _, name := range f.Engines() {
			detail(w, f, l, name)
		}
	}
}

// detail writes the distribution of one engine's samples, if there are any.
func detail(w io.Writer, f *Figures, l Line, name string) {
	samples := f.Samples(name, l)
	if len(samples) == 0 {
		return
	}
	first := l
	first.Cold = true
	unit := l.Row.Unit
	fmt.Fprintf(w, "  %-28s%8d", f.Label(name), len(samples))
	for _, v := range []float64{
		Median(f.Samples(name, first)), Within(samples, 0, unit), Median(samples),
		Within(samples, 0.75, unit), Within(samples, 0.99, unit),
	} {
		fmt.Fprintf(w, "%8s", Format(v, unit))
	}
	fmt.Fprintln(w)
}
