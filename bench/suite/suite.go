// Package suite is the vocabulary that the suites, the runner and the report share: what can be
// measured, what one child process is told to do, and what it answers.
//
// It measures nothing itself. All its types are plain values.
package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoatdb/stoat/bench/engine"
)

// Suite is a published study's workload.
type Suite struct {
	Name  string
	About string
	Rows  []Row
	Data  []string // names of the data sets; empty if there is one only
	// Engines returns what the suite can measure, in the order of the tables.
	Engines func() []engine.About
	// Tasks returns what to do with each engine; each task is a child process of its own.
	Tasks func(s Settings) []Task
	// Limits returns notes on what these settings and this system leave out; nil if nothing ever is.
	Limits func(s Settings) (notes []string)
	// Run does one job, in a fresh process.
	Run func(job Job, record Record) error
}

// Row is one quantity that a suite measures, under one or several conditions.
type Row struct {
	Name   string
	Unit   Unit
	States []string // the conditions, in the order of the report; empty if there is one only
	Cold   string   // the state whose first sample of each round is reported on its own
	Axis   string   // what [At.X] counts, if the row is measured along it; else empty
	About  string   // what one sample is
	// Unranked are the states in which no engine is better than another: a part of something else,
	// or nothing that the engine does.
	Unranked []string
	// Bound is what one engine has promised of the row; nil if nothing is.
	Bound *Bound
}

// Bound is a promise: an engine needs at most Times what the best of others needs for a unit. It is
// told whether it holds, and nothing fails if it does not.
type Bound struct {
	Engine string
	Times  float64
	Of     []string // engines; those without samples do not count
}

// Unit is the unit of the samples of a row.
type Unit string

// Of all but rates, less is better.
const (
	Nanoseconds Unit = "ns"
	Bytes       Unit = "B"
	PerSecond   Unit = "/s"
)

// Profiles. The large one is for data beyond memory.
const (
	Quick = "quick"
	Full  = "full"
	Large = "large"
)

// Settings are what the user has chosen. They are the same for all engines and rounds.
type Settings struct {
	Profile string
	Rounds  int
	N       int `json:",omitempty"` // entries in place of the profile's, unless 0
	Seed    uint64
	Order   engine.Order
	Data    string   `json:",omitempty"` // name of the data set; empty for the suite's first
	Input   string   `json:",omitempty"` // file with the user's own data; empty if there is none
	Sync    bool     // every commit is durable before it returns
	Storage string   `json:",omitempty"` // the name that the user gave to the place measured
	Rows    []string `json:",omitempty"` // names of the rows to measure; empty for all
}

// Wants reports whether one of the rows is to be measured.
func (s Settings) Wants(rows ...string) bool {
	if len(s.Rows) == 0 {
		return true
	}
	return slices.ContainsFunc(rows, func(row string) bool { return slices.Contains(s.Rows, row) })
}

// Task is one child process's part of a suite.
type Task struct {
	Name   string
	Rounds int  // it takes part in the first rounds only
	Gate   bool // an engine that fails it is not measured
	// Then is the name of what another child does afterwards with the folder that this one has
	// left, unless this one failed; or empty.
	Then string
}

// Job is what a child process is told to do, with one engine in one round.
type Job struct {
	Settings
	Suite  string
	Task   string
	Engine string
	Round  int    // counted from 1
	Dir    string // exists, is empty, and is removed afterwards
}

// At says what samples are of.
type At struct {
	Row   string
	State string  `json:",omitempty"`
	X     float64 `json:",omitempty"` // the place on the row's axis, if it has one
}

// Measurement is what a child process answers: the samples of a row under one condition.
type Measurement struct {
	Engine string
	Round  int
	At
	Values []float64 // in the order taken
}

// Record takes samples.
type Record func(at At, values ...float64)

// Row returns the row of the name.
func (s Suite) Row(name string) (Row, bool) {
	for _, r := range s.Rows {
		if r.Name == name {
			return r, true
		}
	}
	return Row{}, false
}

// Check returns an error if the suite has not got what the settings name.
func (s Suite) Check(o Settings) error {
	if o.Data != "" && !slices.Contains(s.Data, o.Data) {
		return fmt.Errorf("suite %s has no data set %q, but %s", s.Name, o.Data, names(s.Data))
	}
	var known []string
	for _, r := range s.Rows {
		known = append(known, r.Name)
	}
	for _, name := range o.Rows {
		if _, ok := s.Row(name); !ok {
			return fmt.Errorf("suite %s has no row %q, but %s", s.Name, name, names(known))
		}
	}
	return nil
}

// names lists what there is to choose from.
func names(known []string) string {
	if len(known) == 0 {
		return "none at all"
	}
	return strings.Join(known, ", ")
}
