// Package suite is the vocabulary that the suites, the runner and the report share: what can be
// measured, what one child process is told to do, and what it answers.
//
// It measures nothing itself. All its types are plain values.
package suite

import (
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/bench/engine"
)

// Suite is a published study's workload.
type Suite struct {
	Name  string
	About string
	Rows  []Row
	Data  []string // names of the data sets
	// Tasks returns what to do with each engine; each task is a child process of its own.
	Tasks func(s Settings) []Task
	// Run does one job, in a fresh process.
	Run func(job Job, e engine.Engine, record Record) error
}

// Row is one quantity that a suite measures, under one or several conditions.
type Row struct {
	Name   string
	Unit   Unit
	States []string // the conditions, in the order of the report; empty if there is one only
	Cold   string   // the state whose first sample of each round is reported on its own
	About  string   // what one sample is
}

// Unit is the unit of the samples of a row.
type Unit string

// Of all but rates, less is better.
const (
	Nanoseconds Unit = "ns"
	Bytes       Unit = "B"
	PerSecond   Unit = "/s"
)

// Settings are what the user has chosen. They are the same for all engines and rounds.
type Settings struct {
	Profile  string // "quick" or "full"
	Rounds   int
	Messages int
	Seed     uint64
	Order    engine.Order
	Data     string   // name of the data set
	Sync     bool     // every commit is durable before it returns
	Rows     []string // names of the rows to measure; empty for all
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
	Rounds int // it takes part in the first rounds only
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

// Measurement is what a child process answers: the samples of a row under one condition.
type Measurement struct {
	Engine string
	Round  int
	Row    string
	State  string
	Values []float64 // in the order taken
}

// Record takes the samples of a row.
type Record func(row, state string, values ...float64)

// Check returns an error if the suite has not got what the settings name.
func (s Suite) Check(o Settings) error {
	if !slices.Contains(s.Data, o.Data) {
		return fmt.Errorf("suite %s has no data set %q", s.Name, o.Data)
	}
	for _, name := range o.Rows {
		if !slices.ContainsFunc(s.Rows, func(r Row) bool { return r.Name == name }) {
			return fmt.Errorf("suite %s has no row %q", s.Name, name)
		}
	}
	return nil
}
