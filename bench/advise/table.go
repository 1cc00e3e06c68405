package advise

import (
	"cmp"
	"math"
	"slices"

	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/suite"
)

// figure is the median of some samples, and their quartiles.
type figure struct{ Median, Low, High float64 }

// noise is the share by which two medians must differ to count as different.
const noise = 0.15

// fewSamples are too few to show how much they vary.
const fewSamples = 3

// newFigure returns the figure of samples. A small number of times counts as noisy.
func newFigure(samples []float64, unit suite.Unit) figure {
	f := figure{
		Median: report.Median(samples),
		Low:    report.Quantile(samples, 0.25),
		High:   report.Quantile(samples, 0.75),
	}
	if len(samples) < fewSamples && unit == suite.Nanoseconds {
		f.Low, f.High = f.Low/(1+noise), f.High*(1+noise)
	}
	return f
}

// below reports whether a figure is less than another one, by more than noise and by more than the
// samples vary.
func (f figure) below(other figure) bool {
	return f.Median*(1+noise) < other.Median && f.High < other.Low
}

// column is a quantity to compare. Less is better.
type column struct {
	row  string // of the suite
	head string
	unit suite.Unit
	verb string // what a candidate does; empty for space
	// weighs says whether it counts in the overall cost. What depends only on the disk's sync, or is a
	// special need, does not.
	weighs bool
}

// layoutColumns returns the columns for layouts. Space weighs if there is enough data.
func layoutColumns(space bool) []column {
	const ns = suite.Nanoseconds
	return []column{
		{row: rowSingle, head: "single", unit: ns, verb: "writes one by one"},
		{row: rowBulk, head: "bulk", unit: ns, verb: "writes", weighs: true},
		{row: rowRead, head: "read", unit: ns, verb: "reads", weighs: true},
		{row: rowReadMany, head: "many", unit: ns, verb: "reads many", weighs: true},
		{row: rowSum, head: "sum", unit: ns, verb: "adds up a field"},
		{row: rowUpdate, head: "update", unit: ns, verb: "updates", weighs: true},
		{row: rowStorage, head: "bytes", unit: suite.Bytes, weighs: space},
	}
}

// valueColumns returns the columns for engines. Space weighs if there is enough data.
func valueColumns(space bool) []column {
	const ns = suite.Nanoseconds
	return []column{
		{row: rowLoad, head: "write", unit: ns, verb: "writes", weighs: true},
		{row: rowGet, head: "get", unit: ns, verb: "reads", weighs: true},
		{row: rowIterate, head: "iterate", unit: ns, verb: "iterates", weighs: true},
		{row: rowSize, head: "bytes", unit: suite.Bytes, weighs: space},
	}
}

// table is what was measured of some candidates: layouts on one engine, or engines.
type table struct {
	Engine     string `json:",omitempty"` // of layouts
	Candidates []candidate
	columns    []column
}

// candidate is a layout or an engine.
type candidate struct {
	Name    string
	Figures map[string]figure // by row measured
}

// newTable returns a table of the candidates. samples returns those of a candidate and a row.
func newTable(names []string, columns []column, samples func(name, row string) []float64) table {
	t := table{columns: columns}
	for _, name := range names {
		c := candidate{Name: name, Figures: make(map[string]figure)}
		for _, column := range columns {
			if found := samples(name, column.row); len(found) > 0 {
				c.Figures[column.row] = newFigure(found, column.unit)
			}
		}
		t.Candidates = append(t.Candidates, c)
	}
	return t
}

// figure returns a candidate's figure in a row.
func (t table) figure(name, row string) (f figure, ok bool) {
	for _, c := range t.Candidates {
		if c.Name == name {
			f, ok = c.Figures[row]
			return f, ok
		}
	}
	return figure{}, false
}

// best returns the candidate with the lowest median in a row, or an empty name if none has one.
func (t table) best(row string) (name string, f figure) {
	for _, c := range t.Candidates {
		if g, ok := c.Figures[row]; ok && (name == "" || g.Median < f.Median) {
			name, f = c.Name, g
		}
	}
	return name, f
}

// cost is a candidate's overall cost: the geometric mean, over the columns that weigh, of its
// median divided by the lowest one.
type cost struct {
	name   string
	factor float64
}

// costs returns the costs of all candidates with every figure, in ascending order, divided by the
// lowest.
func (t table) costs() []cost {
	var all []cost
	for _, c := range t.Candidates {
		var logs float64
		var n int
		complete := true
		for _, column := range t.columns {
			f, ok := c.Figures[column.row]
			complete = complete && ok && f.Median > 0
			if complete && column.weighs {
				logs += math.Log(f.Median)
				n++
			}
		}
		if complete && n > 0 {
			all = append(all, cost{c.Name, math.Exp(logs / float64(n))})
		}
	}
	slices.SortStableFunc(all, func(a, b cost) int { return cmp.Compare(a.factor, b.factor) })
	for i := len(all) - 1; i >= 0; i-- {
		all[i].factor /= all[0].factor
	}
	return all
}

// incomplete returns the names of the candidates that costs leaves out.
func (t table) incomplete() (names []string) {
	costs := t.costs()
	for _, c := range t.Candidates {
		if !slices.ContainsFunc(costs, func(o cost) bool { return o.name == c.Name }) {
			names = append(names, c.Name)
		}
	}
	return names
}
