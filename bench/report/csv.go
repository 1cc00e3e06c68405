package report

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/stoatdb/stoat/bench/suite"
)

// CSV writes one line for each engine, row, state and position on an axis that has samples. Numbers
// are in the row's unit and not rounded.
func (r *Report) CSV(w io.Writer, find func(name string) (suite.Suite, error)) error {
	lines := csv.NewWriter(w)
	if err := lines.Write(csvHeader()); err != nil {
		return err
	}
	for _, result := range r.Results {
		s, err := find(result.Suite)
		if err != nil {
			return err
		}
		f := NewFigures(result)
		for _, l := range f.AllLines(s) {
			for _, name := range f.Engines() {
				if f.Rounds(name, l) == 0 {
					continue
				}
				if err := lines.Write(csvLine(result, f, l, name)); err != nil {
					return err
				}
			}
		}
	}
	lines.Flush()
	return lines.Error()
}

// csvHeader returns the names of the columns.
func csvHeader() []string {
	return []string{"suite", "storage", "sync", "engine", "row", "state", "x", "samples", "rounds",
		"median", "mean", "best", "p75", "p99", "p995", "unit", "ratio_to_best_peer",
		"bound", "ratio_to_bound"}
}

// csvLine returns one engine's figures in a line.
func csvLine(r *Result, f *Figures, l Line, name string) []string {
	samples := f.Samples(name, l)
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	within := func(share float64) string { return number(Within(samples, share, l.Row.Unit)) }
	x, ratio, bound, bounded := "", "", "", ""
	if l.Row.Axis != "" {
		x = number(l.At.X)
	}
	if v, ok := f.Ratio(name, l); ok {
		ratio = strconv.FormatFloat(v, 'g', 4, 64)
	}
	if v, ok := f.Verdict(l); ok && name == l.Row.Bound.Engine {
		bound, bounded = number(v.Times()), strconv.FormatFloat(v.Ratio, 'g', 4, 64)
	}
	return []string{
		r.Suite, r.Settings.Storage, strconv.FormatBool(r.Settings.Sync), name, l.At.Row, l.State(),
		x, strconv.Itoa(len(samples)), strconv.Itoa(f.Rounds(name, l)),
		number(Median(samples)), number(Mean(samples)), within(0), within(0.75), within(0.99),
		within(0.995), string(l.Row.Unit), ratio, bound, bounded,
	}
}
