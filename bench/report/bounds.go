package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/stoatdb/stoat/bench/suite"
)

// Verdict compares one line with the bound of its row.
type Verdict struct {
	Line  Line
	Ratio float64 // the engine's cost, divided by that of the best of the bound's other engines
	Best  string  // the best of the others
}

// Times returns the maximum ratio.
func (v Verdict) Times() float64 { return v.Line.Row.Bound.Times }

// Figure returns the ratio as text.
func (v Verdict) Figure() string { return Digits(v.Ratio) }

// Met reports whether the bound holds.
func (v Verdict) Met() bool { return v.Ratio <= v.Times() }

// Verdict returns the verdict on a line. There is none if the row has no bound, or if the engine or
// all the others have no samples.
func (f *Figures) Verdict(l Line) (v Verdict, ok bool) {
	b := l.Row.Bound
	if b == nil {
		return v, false
	}
	mine := f.Samples(b.Engine, l)
	v = Verdict{Line: l, Ratio: math.Inf(-1)}
	for _, name := range b.Of {
		theirs := f.Samples(name, l)
		if len(mine) == 0 || len(theirs) == 0 {
			continue
		}
		x, y := Median(mine), Median(theirs)
		if l.Row.Unit == suite.PerSecond {
			x, y = y, x
		}
		if ratio := x / y; ratio > v.Ratio {
			v.Ratio, v.Best = ratio, name
		}
	}
	return v, v.Best != "" && !math.IsInf(v.Ratio, 0) && !math.IsNaN(v.Ratio)
}

// Bounded is a row that has a bound, and how often it holds.
type Bounded struct {
	Row    suite.Row
	Lines  int       // lines of the tables that have a verdict
	Missed []Verdict // verdicts of the lines in which the bound does not hold
}

// Promise returns the bound in words.
func (b Bounded) Promise() string {
	bound := b.Row.Bound
	return fmt.Sprintf("%s at most %s × %s", bound.Engine, Digits(bound.Times),
		strings.Join(bound.Of, " or "))
}

// Met returns the number of lines in which the bound holds.
func (b Bounded) Met() int { return b.Lines - len(b.Missed) }

// Bounds returns the rows of the tables that have verdicts, in the order of the suite.
func (f *Figures) Bounds(s suite.Suite) (all []Bounded) {
	for _, l := range f.Lines(s) {
		v, ok := f.Verdict(l)
		if !ok {
			continue
		}
		if n := len(all); n == 0 || all[n-1].Row.Name != l.Row.Name {
			all = append(all, Bounded{Row: l.Row})
		}
		last := &all[len(all)-1]
		last.Lines++
		if !v.Met() {
			last.Missed = append(last.Missed, v)
		}
	}
	return all
}

// bounds writes, for each row with a bound, the number of lines in which it holds, and those in
// which it does not.
func bounds(w io.Writer, f *Figures, s suite.Suite) {
	for i, b := range f.Bounds(s) {
		if i == 0 {
			fmt.Fprintln(w, "\nBounds:")
		}
		fmt.Fprintf(w, "%s: %s: met in %d of %d\n", b.Row.Name, b.Promise(), b.Met(), b.Lines)
		for _, v := range b.Missed {
			fmt.Fprintf(w, "  %-*s%6s × %s\n", labelWidth, v.Line.State(), v.Figure(), v.Best)
		}
	}
}
