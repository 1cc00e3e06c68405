package page

import (
	"math"

	"github.com/stoatdb/stoat/bench/report"
)

// barGroup is the bar charts of a row.
type barGroup struct {
	Name, About string
	Charts      []barChart
}

// barChart has one bar for each engine that has samples.
type barChart struct {
	State  string
	Note   string // which end is better, and the scale
	Grid   []string
	Engine []bar
}

// bar is one engine's median.
type bar struct {
	Name  string
	Value string
	Width string
	Ours  bool
	Best  bool
}

// logSpread is the ratio of the highest to the lowest value from which a chart has a logarithmic
// scale.
const logSpread = 50

// bars returns the charts of the rows that are not drawn along an axis.
func (v *view) bars(lines []report.Line) []barGroup {
	var all []barGroup
	for _, g := range groups(lines) {
		if v.along(g.row) {
			continue
		}
		charts := barGroup{Name: g.title(), About: g.row.About}
		for _, l := range g.lines {
			charts.Charts = append(charts.Charts, v.barChart(l))
		}
		all = append(all, charts)
	}
	return all
}

func (v *view) barChart(l report.Line) barChart {
	c := barChart{State: l.State(), Note: better(l.Row.Unit)}
	var values []float64
	winner := v.Best(l)
	for _, name := range v.Engines() {
		samples := v.Samples(name, l)
		if len(samples) == 0 {
			continue
		}
		value := report.Median(samples)
		values = append(values, value)
		c.Engine = append(c.Engine, bar{
			Name: v.Label(name), Value: show(value, l.Row.Unit),
			Ours: report.Ours(name), Best: name == winner,
		})
	}
	low, high := positive(values)
	share := func(value float64) float64 { return 100 * max(0, value) / high }
	if high/low > logSpread {
		floor := math.Ceil(math.Log10(low)) - 1 // the lowest value gets a visible bar too
		decades := math.Log10(high) - floor
		share = func(value float64) float64 {
			return 100 * max(0, math.Log10(max(value, 0))-floor) / decades
		}
		c.Note += "; log scale"
		for i := 1.0; i < decades; i++ {
			c.Grid = append(c.Grid, percent(100*i/decades))
		}
	}
	for i, value := range values {
		c.Engine[i].Width = percent(min(share(value), 100))
	}
	return c
}

// positive returns the lowest and highest of the values above zero, or 1 if there are none.
func positive(values []float64) (low, high float64) {
	for _, v := range values {
		if v > 0 && (low == 0 || v < low) {
			low = v
		}
		high = max(high, v)
	}
	if low == 0 {
		return 1, 1
	}
	return low, high
}
