package report

import (
	"math"
	"slices"
	"strings"

	"github.com/stoatdb/stoat/bench/suite"
)

// us is the engine that is compared with the best of the others.
const us = "stoat"

// TimeAxis is the axis of rows that show progress over time. Engines reach different positions on
// it, so tables, which compare engines at the same position, leave such rows out.
const TimeAxis = "seconds"

// Ours reports whether the engine is Stoat in any setting. All others are peers.
func Ours(engine string) bool { return engine == us || strings.HasPrefix(engine, us+"-") }

// Line is one line of a table: a row in one state.
type Line struct {
	Row  suite.Row
	At   suite.At
	Cold bool // only the first sample of each round
}

// State returns the name of the state; empty if the row has only one.
func (l Line) State() string {
	if l.Cold {
		return "cold"
	}
	return l.At.State
}

// Figures are the samples of a result, by what they belong to. They are immutable.
type Figures struct {
	engines []string
	failed  map[string]bool // engines that failed in at least one turn
	rounds  map[source][][]float64
	places  map[suite.At][]float64 // the positions on the axis, by an At without X
}

// source is what samples belong to.
type source struct {
	engine string
	at     suite.At
}

// NewFigures returns the figures of a result, which must not change while they are used.
func NewFigures(r *Result) *Figures {
	f := &Figures{
		engines: oursFirst(r.Engines),
		failed:  make(map[string]bool),
		rounds:  make(map[source][][]float64),
		places:  make(map[suite.At][]float64),
	}
	for _, failure := range r.Failures {
		f.failed[failure.Engine] = true
	}
	for _, m := range r.Measurements {
		if len(m.Values) == 0 {
			continue
		}
		from := source{m.Engine, m.At}
		f.rounds[from] = append(f.rounds[from], m.Values)
		where := suite.At{Row: m.Row, State: m.State}
		f.places[where] = append(f.places[where], m.X)
	}
	for where, xs := range f.places {
		slices.Sort(xs)
		f.places[where] = slices.Compact(xs)
	}
	return f
}

// oursFirst returns the names of the engines, ours first, and the plain one before its other
// settings.
func oursFirst(engines []Engine) []string {
	var names []string
	for _, e := range engines {
		if Ours(e.Name) {
			names = append(names, e.Name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return strings.Compare(strings.TrimPrefix(a, us), strings.TrimPrefix(b, us))
	})
	for _, e := range engines {
		if !Ours(e.Name) {
			names = append(names, e.Name)
		}
	}
	return names
}

// Engines returns the names of all engines, ours first.
func (f *Figures) Engines() []string { return f.engines }

// Failed marks engines that failed in some turns and therefore lack some measurements.
const Failed = "†"

// Label returns an engine's name, with the mark [Failed] if it failed in some turns.
func (f *Figures) Label(engine string) string {
	if f.failed[engine] {
		return engine + Failed
	}
	return engine
}

// AnyFailed reports whether any engine failed in some turns.
func (f *Figures) AnyFailed() bool { return len(f.failed) > 0 }

// Main returns the engine whose ratio to the best peer is shown: the first of ours.
func (f *Figures) Main() (name string, ok bool) {
	if len(f.engines) == 0 || !Ours(f.engines[0]) {
		return "", false
	}
	return f.engines[0], true
}

// Places returns the positions on a row's axis that were measured, in ascending order.
func (f *Figures) Places(row, state string) []float64 {
	return f.places[suite.At{Row: row, State: state}]
}

// Samples returns an engine's samples of all rounds, in the order taken.
func (f *Figures) Samples(engine string, l Line) []float64 {
	var all []float64
	for _, values := range f.rounds[source{engine, l.At}] {
		if l.Cold {
			values = values[:1]
		}
		all = append(all, values...)
	}
	return all
}

// Rounds returns the number of rounds with samples of an engine.
func (f *Figures) Rounds(engine string, l Line) int { return len(f.rounds[source{engine, l.At}]) }

// Best returns the peer with the best median, or an empty name if no peer has samples or the line
// ranks nobody. Peers that failed in some turns do not count.
func (f *Figures) Best(l Line) string {
	if slices.Contains(l.Row.Unranked, l.At.State) {
		return ""
	}
	var winner string
	var least float64
	for _, name := range f.engines {
		samples := f.Samples(name, l)
		if Ours(name) || f.failed[name] || len(samples) == 0 {
			continue
		}
		cost := Median(samples)
		if l.Row.Unit == suite.PerSecond {
			cost = -cost
		}
		if winner == "" || cost < least {
			winner, least = name, cost
		}
	}
	return winner
}

// Ratio returns the engine's cost per unit divided by the best peer's: below 1, the engine is
// better. There is none if the engine has no samples, if there is no best peer, or if that peer's
// median is zero.
func (f *Figures) Ratio(engine string, l Line) (ratio float64, ok bool) {
	cost, other := f.Samples(engine, l), f.Samples(f.Best(l), l)
	if len(cost) == 0 || len(other) == 0 {
		return 0, false
	}
	a, b := Median(cost), Median(other)
	if l.Row.Unit == suite.PerSecond {
		a, b = b, a
	}
	ratio = a / b
	return ratio, !math.IsInf(ratio, 0) && !math.IsNaN(ratio)
}

// Lines returns the lines of the tables that have samples, in the order of the suite. For a row
// with an axis, it is the furthest position measured.
func (f *Figures) Lines(s suite.Suite) []Line {
	var lines []Line
	for _, row := range s.Rows {
		if row.Axis == TimeAxis {
			continue
		}
		var x float64
		for _, state := range states(row) {
			if xs := f.Places(row.Name, state); len(xs) > 0 {
				x = max(x, xs[len(xs)-1])
			}
		}
		lines = append(lines, f.linesAt(row, x)...)
	}
	return lines
}

// AllLines returns the lines of every position on every axis.
func (f *Figures) AllLines(s suite.Suite) []Line {
	var lines []Line
	for _, row := range s.Rows {
		var xs []float64
		for _, state := range states(row) {
			xs = append(xs, f.Places(row.Name, state)...)
		}
		slices.Sort(xs)
		for _, x := range slices.Compact(xs) {
			lines = append(lines, f.linesAt(row, x)...)
		}
	}
	return lines
}

// linesAt returns the lines of a row at one position of its axis that have samples.
func (f *Figures) linesAt(row suite.Row, x float64) []Line {
	var lines []Line
	for _, state := range states(row) {
		at := suite.At{Row: row.Name, State: state, X: x}
		lines = append(lines, Line{Row: row, At: at})
	}
	if row.Cold != "" {
		at := suite.At{Row: row.Name, State: row.Cold, X: x}
		lines = append(lines, Line{Row: row, At: at, Cold: true})
	}
	return slices.DeleteFunc(lines, func(l Line) bool {
		return !slices.ContainsFunc(f.engines, func(e string) bool { return f.Rounds(e, l) > 0 })
	})
}

// states returns the states of a row; a row without states has one empty state.
func states(row suite.Row) []string {
	if len(row.States) == 0 {
		return []string{""}
	}
	return row.States
}
