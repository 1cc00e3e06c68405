package advise

import (
	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/strategies"
	"github.com/stoatdb/stoat/bench/suite"
)

// findings are the figures that the advice is based on.
type findings struct {
	layouts []table // one for each engine on which layouts were measured
	engines table   // with the pairs as they are
	pairs   int
	space   bool   // there is enough data to judge space
	home    string // the engine that has the data now; empty for a file of lines
}

// Measurements of less data than this say little.
const (
	fewPairs = 1_000
	fewBytes = 1 << 20 // files have a minimum size
)

// layoutTables returns the tables of a result, one for each engine.
func layoutTables(r *report.Result, records int, space bool) (tables []table) {
	f := report.NewFigures(r)
	var names []string
	for _, s := range strategies.Strategies() {
		names = append(names, s.Name)
	}
	for _, e := range f.Engines() {
		samples := func(layout, row string) []float64 {
			at := suite.At{Row: row, State: layout, X: float64(records)}
			return f.Samples(e, report.Line{At: at})
		}
		t := newTable(names, layoutColumns(space), func(layout, row string) []float64 {
			found := samples(layout, row)
			if row == rowStorage {
				return lesser(found, samples(layout, rowBlocks))
			}
			return found
		})
		t.Engine = e
		tables = append(tables, t)
	}
	return tables
}

// lesser returns the smaller of the lengths of the files and their blocks on disk. Zero blocks mean
// that the system does not report them.
func lesser(lengths, blocks []float64) []float64 {
	if len(lengths) == 0 || len(blocks) == 0 {
		return lengths
	}
	if b := report.Median(blocks); b > 0 && b < report.Median(lengths) {
		return blocks
	}
	return lengths
}

// engineTable returns the table of a result.
func engineTable(r *report.Result, space bool) table {
	f := report.NewFigures(r)
	return newTable(f.Engines(), valueColumns(space), func(engine, row string) []float64 {
		return f.Samples(engine, report.Line{At: suite.At{Row: row}})
	})
}

// advice returns the advice, one paragraph each.
func (f findings) advice() (said []string) {
	for i, t := range f.layouts {
		a, ok := newLayoutAdvice(t)
		if !ok {
			continue
		}
		said = append(said, a.all()...)
		for _, other := range f.layouts[i+1:] {
			if b, ok := newLayoutAdvice(other); ok {
				said = append(said, a.elsewhere(b))
			}
		}
		break
	}
	if len(f.engines.Candidates) > 0 {
		said = append(said, engineAdvice(f.engines, f.home)...)
	}
	if f.pairs < fewPairs {
		count := counted(f.pairs, "pair")
		said = append(said, "These are "+count+" only: measure with more before you rely on it.")
	}
	if !f.space {
		said = append(said, "Space is not judged, because there is too little data.")
	}
	return said
}

// counted returns a number with its noun.
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return report.Count(float64(n)) + " " + thing
}
