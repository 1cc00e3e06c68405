package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stoatdb/stoat/bench/suite"
)

// The table is 80 columns wide: a label, one column for us and six for peers, and the ratio.
const (
	labelWidth  = 17
	columnWidth = 8 // a space, six characters, and the mark
	ratioWidth  = 7
	tablePeers  = 6
)

// us is the engine that is compared with the best of the others.
const us = "stoat"

// best marks the best of our peers.
const best = "*"

// line is one line of the table: a row in one state or, if it has no unit, the title above several.
type line struct {
	label string
	unit  suite.Unit
	at    suite.At
	cold  bool // only the first sample of each round
}

// Table writes the medians of all engines.
func (r *Result) Table(w io.Writer, s suite.Suite) {
	r.header(w)
	var peers []string
	for _, e := range r.Engines {
		if e.Name != us {
			peers = append(peers, e.Name)
		}
	}
	lines := r.lines(s)
	ours := slices.ContainsFunc(r.Engines, func(e Engine) bool { return e.Name == us })
	for group := range chunks(peers, tablePeers) {
		if ours {
			group = append([]string{us}, group...)
		}
		fmt.Fprintln(w)
		columnHeads(w, group)
		for _, l := range lines {
			r.line(w, l, group, peers)
		}
	}
	fmt.Fprintf(w, `
Medians of all samples. %[1]s marks the best peer; ratio is what %[2]s needs for a
unit, of what that peer needs: below 1, %[2]s is better.
`, best, us)
	for _, f := range r.Failures {
		fmt.Fprintf(w, "\nfailed: %s, %s, round %d: %s\n", f.Engine, f.Task, f.Round, f.Error)
	}
}

// chunks is slices.Chunk that yields one empty chunk of nothing.
func chunks(names []string, size int) func(yield func([]string) bool) {
	if len(names) == 0 {
		return func(yield func([]string) bool) { yield(nil) }
	}
	return slices.Chunk(names, size)
}

// header writes what was measured, and where.
func (r *Result) header(w io.Writer) {
	s := r.Settings
	durability := "synced"
	if !s.Sync {
		durability = "not synced"
	}
	place := r.FileSystem
	if s.Storage != "" {
		place = s.Storage + " (" + r.FileSystem + ")"
	}
	fmt.Fprintf(w, "Suite %s: %s profile, %d round(s), %s, on %s, seed %d\n",
		r.Suite, s.Profile, s.Rounds, durability, place, s.Seed)
}

// lines returns the lines of the table that have samples.
func (r *Result) lines(s suite.Suite) []line {
	var lines []line
	for _, row := range s.Rows {
		var found []line
		states := row.States
		if len(states) == 0 {
			states = []string{""}
		}
		at := suite.At{Row: row.Name}
		if row.Axis != "" {
			at.X = r.furthest(row.Name)
		}
		for _, at.State = range states {
			found = append(found, line{"  " + at.State, row.Unit, at, false})
		}
		if row.Cold != "" {
			at.State = row.Cold
			found = append(found, line{"  cold", row.Unit, at, true})
		}
		found = slices.DeleteFunc(found, func(l line) bool { return !r.measured(l) })
		switch {
		case len(found) == 0:
		case len(row.States) == 0:
			found[0].label = row.Name
			lines = append(lines, found[0])
		default:
			lines = append(append(lines, line{label: row.Name}), found...)
		}
	}
	return lines
}

// values returns an engine's samples for a line.
func (r *Result) values(l line, engine string) []float64 {
	if l.cold {
		return r.firsts(engine, l.at)
	}
	return r.samples(engine, l.at)
}

// measured reports whether any engine has samples.
func (r *Result) measured(l line) bool {
	return slices.ContainsFunc(r.Engines, func(e Engine) bool { return len(r.values(l, e.Name)) > 0 })
}

// columnHeads writes the engines' names, on two lines if one has a setting.
func columnHeads(w io.Writer, names []string) {
	upper := fmt.Sprintf("%-*s", labelWidth, "")
	lower := upper
	for _, name := range names {
		first, second, ok := strings.Cut(name, "-")
		if !ok {
			first, second = "", name
		}
		upper += fmt.Sprintf("%*s ", columnWidth-1, first)
		lower += fmt.Sprintf("%*s ", columnWidth-1, second)
	}
	if upper = strings.TrimRight(upper, " "); upper != "" {
		fmt.Fprintln(w, upper)
	}
	fmt.Fprintf(w, "%s%*s\n", lower, ratioWidth, "ratio")
}

// line writes one line: the medians of the named engines, and the ratio to the best of the peers.
func (r *Result) line(w io.Writer, l line, names, peers []string) {
	if l.unit == "" {
		fmt.Fprintln(w, l.label)
		return
	}
	winner := r.bestOf(l, peers)
	text := fmt.Sprintf("%-*s", labelWidth, l.label)
	for _, name := range names {
		cell, mark := "-", " "
		if samples := r.values(l, name); len(samples) > 0 {
			cell = format(Median(samples), l.unit)
		}
		if name == winner {
			mark = best
		}
		text += strings.Repeat(" ", columnWidth-1-utf8.RuneCountInString(cell)) + cell + mark
	}
	ratio := "-"
	if ours := r.values(l, us); winner != "" && len(ours) > 0 {
		ratio = ratioOf(Median(ours), Median(r.values(l, winner)), l.unit)
	}
	fmt.Fprintf(w, "%s%*s\n", text, ratioWidth, ratio)
}

// bestOf returns the best of the engines, or nothing if none has samples.
func (r *Result) bestOf(l line, names []string) string {
	var winner string
	var least float64
	for _, name := range names {
		samples := r.values(l, name)
		if len(samples) == 0 {
			continue
		}
		cost := Median(samples)
		if l.unit == suite.PerSecond {
			cost = -cost
		}
		if winner == "" || cost < least {
			winner, least = name, cost
		}
	}
	return winner
}

// ratioOf returns our cost for each unit of the other's.
func ratioOf(ours, other float64, unit suite.Unit) string {
	if unit == suite.PerSecond {
		ours, other = other, ours
	}
	if other == 0 {
		return "-"
	}
	return digits(ours / other)
}

// Details writes the distribution of the samples behind each line of the table. The first sample is
// that of each round, and of several rounds their median.
func (r *Result) Details(w io.Writer, s suite.Suite) {
	for _, l := range r.lines(s) {
		if l.unit == "" || l.cold {
			continue
		}
		fmt.Fprintf(w, "\n%-30s%8s%8s%8s%8s%8s%8s\n", strings.TrimSuffix(l.at.Row+", "+l.at.State, ", "),
			"samples", "first", "min", "median", "p75", "p99")
		for _, e := range r.Engines {
			samples := r.values(l, e.Name)
			if len(samples) == 0 {
				continue
			}
			fmt.Fprintf(w, "  %-28s%8d", e.Name, len(samples))
			for _, v := range []float64{
				Median(r.firsts(e.Name, l.at)), slices.Min(samples), Median(samples),
				Quantile(samples, 0.75), Quantile(samples, 0.99),
			} {
				fmt.Fprintf(w, "%8s", format(v, l.unit))
			}
			fmt.Fprintln(w)
		}
	}
}
