// Package suite is the vocabulary that the suites, the runner and the report share: what can be
// measured, what a child process is told to do, and what it answers.
//
// It measures nothing itself. All its types are plain values.
package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoatdb/stoat/bench/engine"
)

// Suite is a workload: its rows, and how to measure them.
type Suite struct {
	Name  string
	About string
	Rows  []Row
	Data  []string // names of the data sets; empty if there is only one
	// Engines returns the engines that the suite can measure, in the order of the tables.
	Engines func() []engine.About
	// Tasks returns what to do with each engine. Each task runs in its own child process.
	Tasks func(s Settings) []Task
	// Limits returns notes on what these settings and this system leave out. It may be nil.
	Limits func(s Settings) (notes []string)
	// Run does one job in a fresh process.
	Run func(job Job, record Record) error
	// RunTogether does a job of a task with all engines in one fresh process. It is nil if the suite
	// has no such task.
	RunTogether func(job Job, record func(engine string) Record) error
	Capped      bool // its jobs limit their memory to Settings.Memory
}

// Row is one quantity that a suite measures, in one or several states.
type Row struct {
	Name   string
	Unit   Unit
	States []string // in the order of the report; empty if there is only one
	Cold   string   // the state whose first sample of each round is reported separately
	Axis   string   // what [At.X] counts, if the row is measured along an axis
	About  string   // what one sample is
	// Unranked are the states in which no engine is better than another: part of another state, or
	// nothing the engine does.
	Unranked []string
	// Bound is the promise of one engine about this row; nil if there is none.
	Bound *Bound
}

// Bound is a promise: Engine needs at most Times as much per unit as the best of the engines Of.
// The report says whether it holds; nothing fails if it does not.
type Bound struct {
	Engine string
	Times  float64
	Of     []string // engines without samples do not count
}

// Unit is the unit of the samples of a row.
type Unit string

// Lower is better, except for rates.
const (
	Nanoseconds Unit = "ns"
	Bytes       Unit = "B"
	PerSecond   Unit = "/s"
	Times       Unit = "×" // a multiple of another figure, or how often something happens
	Dollars     Unit = "$"
)

// The profiles. Large is for data larger than memory.
const (
	Quick = "quick"
	Full  = "full"
	Large = "large"
)

// Settings are the user's choices. They are the same for all engines and rounds.
type Settings struct {
	Profile string
	Rounds  int
	N       int `json:",omitempty"` // entries, instead of the profile's number; 0 if not given
	Seed    uint64
	Order   engine.Order
	Data    string   `json:",omitempty"` // name of the data set; empty for the suite's first
	Input   string   `json:",omitempty"` // file with the user's own data
	Sync    bool     // every commit is durable before it returns
	Storage string   `json:",omitempty"` // the user's name for the storage
	Rows    []string `json:",omitempty"` // names of the rows to measure; empty for all
	Turns   bool     `json:",omitempty"` // also measure with all engines taking turns in one process
	Memory  int64    `json:",omitempty"` // bytes of memory of each process; 0 if not limited
}

// Wants reports whether any of the rows is to be measured.
func (s Settings) Wants(rows ...string) bool {
	if len(s.Rows) == 0 {
		return true
	}
	return slices.ContainsFunc(rows, func(row string) bool { return slices.Contains(s.Rows, row) })
}

// Task is a part of a suite that runs in one child process.
type Task struct {
	Name   string
	Rounds int  // it runs only in the first rounds
	Gate   bool // an engine that fails it is not measured
	// Together says that one child does it with all engines that are not external programs.
	Together bool
	// Then names the task that another child does afterwards in the folder this one left, unless this
	// one failed. It may be empty.
	Then string
}

// Job tells a child process what to do, with one engine in one round.
type Job struct {
	Settings
	Suite  string
	Task   string
	Engine string
	// Engines are the engines of a task with all of them together; Engine is then [AllEngines].
	Engines []string `json:",omitempty"`
	Round   int      // counted from 1
	Dir     string   // exists, is empty, and is removed afterwards
}

// AllEngines stands for the engines of a job that measures them together.
const AllEngines = "all in turns"

// At says what samples belong to.
type At struct {
	Row   string
	State string  `json:",omitempty"`
	X     float64 `json:",omitempty"` // the position on the row's axis, if it has one
}

// Measurement is a child process's answer: the samples of a row in one state.
type Measurement struct {
	Engine string
	Round  int
	At
	Values []float64 // in the order taken
}

// Record takes samples.
type Record func(at At, values ...float64)

// Row returns the row with the name.
func (s Suite) Row(name string) (Row, bool) {
	for _, r := range s.Rows {
		if r.Name == name {
			return r, true
		}
	}
	return Row{}, false
}

// Check returns an error if the settings name a row or data set that the suite does not have.
func (s Suite) Check(o Settings) error {
	if o.Data != "" && !slices.Contains(s.Data, o.Data) {
		return fmt.Errorf("suite %s has no data set %q; it has %s", s.Name, o.Data, names(s.Data))
	}
	var known []string
	for _, r := range s.Rows {
		known = append(known, r.Name)
	}
	for _, name := range o.Rows {
		if _, ok := s.Row(name); !ok {
			return fmt.Errorf("suite %s has no row %q; it has %s", s.Name, name, names(known))
		}
	}
	return nil
}

// names lists the choices.
func names(known []string) string {
	if len(known) == 0 {
		return "none"
	}
	return strings.Join(known, ", ")
}
