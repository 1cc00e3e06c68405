package page

import (
	"slices"

	"github.com/stoatdb/stoat/bench/report"
)

// medians is the table of all engines' medians.
type medians struct {
	Heads  []head
	Groups []medianGroup
}

// head is the head of an engine's column.
type head struct {
	Name string
	Ours bool
}

// medianGroup is the lines of a row.
type medianGroup struct {
	Title string // empty if the only line names the row
	About string
	Lines []medianLine
}

// medianLine is one line; the cells are in the order of the heads.
type medianLine struct {
	Label string
	Ratio string
	Cells []cell
}

// cell is one engine's median.
type cell struct {
	Text string
	Ours bool
	Best bool // of the peers
}

func (v *view) medians(lines []report.Line) medians {
	var m medians
	for _, name := range v.Engines() {
		m.Heads = append(m.Heads, head{name, report.Ours(name)})
	}
	for _, g := range groups(lines) {
		all := medianGroup{Title: g.title(), About: g.row.About}
		for _, l := range g.lines {
			all.Lines = append(all.Lines, v.medianLine(l))
		}
		if g.alone() {
			all.Lines[0].Label, all.Title = all.Title, ""
		}
		m.Groups = append(m.Groups, all)
	}
	return m
}

func (v *view) medianLine(l report.Line) medianLine {
	line := medianLine{Label: l.State(), Ratio: "–"}
	if main, ok := v.Main(); ok {
		if ratio, ok := v.Ratio(main, l); ok {
			line.Ratio = report.Digits(ratio)
		}
	}
	winner := v.Best(l)
	for _, name := range v.Engines() {
		c := cell{Text: "–", Ours: report.Ours(name), Best: name == winner}
		if samples := v.Samples(name, l); len(samples) > 0 {
			c.Text = show(report.Median(samples), l.Row.Unit)
		}
		line.Cells = append(line.Cells, c)
	}
	return line
}

// spread is how the samples of a row are distributed.
type spread struct {
	Title string
	Parts []spreadPart
}

// spreadPart is one line of the tables, engine by engine.
type spreadPart struct {
	State   string
	Engines []distribution
}

// distribution is of one engine's samples.
type distribution struct {
	Name    string
	Ours    bool
	Samples int
	Figures []string // average, minimum, median, p75, p99, p99.5
}

func (v *view) spreads(lines []report.Line) []spread {
	var all []spread
	for _, g := range groups(lines) {
		s := spread{Title: g.title()}
		for _, l := range g.lines {
			s.Parts = append(s.Parts, v.spreadPart(l))
		}
		all = append(all, s)
	}
	return all
}

func (v *view) spreadPart(l report.Line) spreadPart {
	part := spreadPart{State: l.State()}
	for _, name := range v.Engines() {
		samples := v.Samples(name, l)
		if len(samples) == 0 {
			continue
		}
		d := distribution{Name: name, Ours: report.Ours(name), Samples: len(samples)}
		for _, figure := range []float64{
			report.Mean(samples), slices.Min(samples), report.Median(samples),
			report.Quantile(samples, 0.75), report.Quantile(samples, 0.99),
			report.Quantile(samples, 0.995),
		} {
			d.Figures = append(d.Figures, show(figure, l.Row.Unit))
		}
		part.Engines = append(part.Engines, d)
	}
	return part
}
