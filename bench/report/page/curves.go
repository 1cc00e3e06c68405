package page

import (
	"math"
	"slices"

	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/suite"
)

// curveGroup is the charts of a row along its axis. They have the same scales, except for time.
type curveGroup struct {
	Name, About string
	Note        string
	Charts      []chart
}

// facet is the contents of one chart.
type facet struct {
	title  string
	ours   bool
	traces []trace
}

// trace is a line of a chart, with one point for each position measured.
type trace struct {
	name   string
	ours   bool
	xs, ys []float64
}

// timeSteps is the maximum number of points of a line over time. If there are more, time is divided
// into parts, and the samples of a part make one point.
const timeSteps = 40

// along reports whether a row is drawn along its axis, which needs at least two positions.
func (v *view) along(row suite.Row) bool {
	if row.Axis == "" || row.Axis == report.TimeAxis {
		return row.Axis != ""
	}
	var xs []float64
	for _, l := range v.AllLines(suite.Suite{Rows: []suite.Row{row}}) {
		xs = append(xs, l.At.X)
	}
	return len(xs) > 0 && slices.Min(xs) < slices.Max(xs)
}

// curves returns the charts of the rows along their axes.
func (v *view) curves() []curveGroup {
	var all []curveGroup
	for _, g := range groups(v.AllLines(v.suite)) {
		if !v.along(g.row) {
			continue
		}
		if g.row.Axis == report.TimeAxis {
			g.lines = slices.DeleteFunc(g.lines, func(l report.Line) bool { return l.Cold })
		}
		all = append(all, v.curveGroup(g))
	}
	return all
}

func (v *view) curveGroup(g group) curveGroup {
	facets := v.facets(g)
	var xs, ys []float64
	for _, f := range facets {
		xs = append(xs, f.xs()...)
		for _, t := range f.traces {
			ys = append(ys, t.ys...)
		}
	}
	overTime := g.row.Axis == report.TimeAxis
	low, high := positive(ys)
	logs := scales{
		x: !overTime,
		y: !overTime || high/low > logSpread,
	}
	all := curveGroup{Name: g.row.Name, About: g.row.About, Note: better(g.row.Unit)}
	for _, f := range facets {
		if overTime { // engines take such different times that each chart has its own time scale
			xs = f.xs()
		}
		all.Charts = append(all.Charts, newChart(g.row, f, xs, ys, logs))
	}
	if axisY := newAxis(ys, logs.y, 0, 1); axisY.log {
		all.Note += "; log scale"
	}
	return all
}

// facets divides the lines among charts: one chart per state with a line per engine, or one per
// engine with a line per state, whichever makes fewer charts.
func (v *view) facets(g group) []facet {
	var states []string
	for _, l := range g.lines {
		if !slices.Contains(states, l.State()) {
			states = append(states, l.State())
		}
	}
	var engines []string
	for _, name := range v.Engines() {
		if slices.ContainsFunc(g.lines, func(l report.Line) bool { return v.Rounds(name, l) > 0 }) {
			engines = append(engines, name)
		}
	}
	var all []facet
	if len(engines) < len(states) {
		for _, name := range engines {
			f := facet{title: v.Label(name), ours: report.Ours(name)}
			for _, state := range states {
				f.add(trace{name: state}, v, g, name, state)
			}
			all = append(all, f)
		}
		return all
	}
	for _, state := range states {
		f := facet{title: state}
		for _, name := range engines {
			f.add(trace{name: v.Label(name), ours: report.Ours(name)}, v, g, name, state)
		}
		all = append(all, f)
	}
	return all
}

// xs returns the positions of all lines.
func (f *facet) xs() []float64 {
	var xs []float64
	for _, t := range f.traces {
		xs = append(xs, t.xs...)
	}
	return xs
}

// add adds a line with the medians of an engine's samples in one state, if there are any.
func (f *facet) add(t trace, v *view, g group, engine, state string) {
	lines := slices.DeleteFunc(slices.Clone(g.lines), func(l report.Line) bool {
		return l.State() != state || v.Rounds(engine, l) == 0
	})
	if len(lines) == 0 {
		return
	}
	width := 0.0
	if n := len(lines); g.row.Axis == report.TimeAxis && n > timeSteps {
		width = roundUp((lines[n-1].At.X - lines[0].At.X) / timeSteps)
	}
	var samples []float64
	for i, l := range lines { // in axis order
		samples = append(samples, v.Samples(engine, l)...)
		at := part(l.At.X, width)
		if i < len(lines)-1 && part(lines[i+1].At.X, width) == at {
			continue
		}
		t.xs, t.ys = append(t.xs, at), append(t.ys, report.Median(samples))
		samples = samples[:0]
	}
	f.traces = append(f.traces, t)
}

// part returns the end of the part of an axis that contains x, or x if the axis has no parts.
func part(x, width float64) float64 {
	if width == 0 {
		return x
	}
	return math.Ceil(x/width-1e-9) * width
}
