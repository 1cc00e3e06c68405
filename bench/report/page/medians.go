package page

import "github.com/stoatdb/stoat/bench/report"

// medians is the table of all engines' medians.
type medians struct {
	Heads  []head
	Groups []medianGroup
	Failed string // the mark of engines that failed in some turns, if there are any
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
		m.Heads = append(m.Heads, head{v.Label(name), report.Ours(name)})
	}
	if v.AnyFailed() {
		m.Failed = report.Failed
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

// spread is the distribution of a row's samples.
type spread struct {
	Title string
	Parts []spreadPart
}

// spreadPart is one line of the tables, engine by engine.
type spreadPart struct {
	State   string
	Engines []distribution
}

// distribution is that of one engine's samples.
type distribution struct {
	Name    string
	Ours    bool
	Samples int
	Figures []string // average, best, median, p75, p99, p99.5
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
		unit := l.Row.Unit
		d := distribution{Name: v.Label(name), Ours: report.Ours(name), Samples: len(samples)}
		for _, figure := range []float64{
			report.Mean(samples), report.Within(samples, 0, unit), report.Median(samples),
			report.Within(samples, 0.75, unit), report.Within(samples, 0.99, unit),
			report.Within(samples, 0.995, unit),
		} {
			d.Figures = append(d.Figures, show(figure, unit))
		}
		part.Engines = append(part.Engines, d)
	}
	return part
}
