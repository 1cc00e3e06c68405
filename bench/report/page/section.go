package page

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/suite"
)

// section is everything about one result.
type section struct {
	ID       string
	Title    string
	Facts    []fact
	Engines  []report.Engine
	Absent   []string // engines that have no samples
	Failures []report.Failure
	Versus   versus
	Bounds   []report.Bounded
	Medians  medians
	Spreads  []spread
	Bars     []barGroup
	Curves   []curveGroup
}

func newSection(id string, r *report.Result, s suite.Suite) section {
	v := &view{report.NewFigures(r), s}
	lines := v.Lines(s)
	return section{
		ID:       id,
		Title:    r.Place() + ", " + r.Durability(),
		Facts:    settings(r.Settings),
		Engines:  r.Engines,
		Absent:   absent(r),
		Failures: r.Failures,
		Versus:   v.versus(lines),
		Bounds:   v.Figures.Bounds(s),
		Medians:  v.medians(lines),
		Spreads:  v.spreads(lines),
		Bars:     v.bars(lines),
		Curves:   v.curves(),
	}
}

// view is a result being shown.
type view struct {
	*report.Figures
	suite suite.Suite
}

// settings returns the user's choices.
func settings(s suite.Settings) []fact {
	commits := "not synced"
	if s.Sync {
		commits = "each durable before it returns"
	}
	facts := []fact{
		{"Profile", s.Profile},
		{"Rounds", strconv.Itoa(s.Rounds)},
		{"Seed", strconv.FormatUint(s.Seed, 10)},
		{"Commits", commits},
	}
	if s.N > 0 {
		facts = append(facts, fact{"Entries", report.Count(float64(s.N))})
	}
	switch s.Order {
	case engine.BigEndian:
		facts = append(facts, fact{"Keys", "in order"})
	case engine.LittleEndian:
		facts = append(facts, fact{"Keys", "scattered"})
	}
	if s.Data != "" {
		facts = append(facts, fact{"Data", s.Data})
	}
	if s.Memory > 0 {
		facts = append(facts, fact{"Memory of each process", show(float64(s.Memory), suite.Bytes)})
	}
	if len(s.Rows) > 0 {
		facts = append(facts, fact{"Rows chosen", strings.Join(s.Rows, ", ")})
	}
	return facts
}

// absent returns the engines without any samples.
func absent(r *report.Result) []string {
	measured := make(map[string]bool)
	for _, m := range r.Measurements {
		measured[m.Engine] = measured[m.Engine] || len(m.Values) > 0
	}
	var names []string
	for _, e := range r.Engines {
		if !measured[e.Name] {
			names = append(names, e.Name)
		}
	}
	return names
}

// group is the lines of one row.
type group struct {
	row   suite.Row
	lines []report.Line
}

// groups returns the lines by row.
func groups(lines []report.Line) []group {
	var all []group
	for _, l := range lines {
		if n := len(all); n == 0 || all[n-1].row.Name != l.Row.Name {
			all = append(all, group{row: l.Row})
		}
		last := &all[len(all)-1]
		last.lines = append(last.lines, l)
	}
	return all
}

// title returns the row's name and, if it is measured along an axis, the position of the lines on
// it.
func (g group) title() string {
	if g.row.Axis == "" {
		return g.row.Name
	}
	return fmt.Sprintf("%s, at %s %s", g.row.Name, report.Count(g.lines[0].At.X), g.row.Axis)
}

// alone reports whether the row has only one line, without a name.
func (g group) alone() bool { return len(g.lines) == 1 && g.lines[0].State() == "" }
