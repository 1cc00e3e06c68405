// Package load is the suite that loads, reads and churns large sets of random values.
//
// The first task, "conformance", checks that the engine returns what was written; an engine that
// fails it is not measured. Each task named for a value size measures that size in a child process;
// the size is the state of all its rows, and its steps are the lines of [run.all]. The other tasks
// load their own databases: to read with little memory, to load in several orders, and to read
// during a load.
//
// Keys are numbers drawn at random, with replacement, from as many numbers as there are draws: 63 %
// of the range is present afterwards, and 37 % of the gets miss. Only the loads in an order write
// each number of the range once. The large profile draws enough for the present entries to take
// twice the machine's memory, and refuses to start unless twice that size is free on disk.
//
// Writes and gets are prepared before the clock starts, outside the Go heap. If they need more room
// than a script has, the clock runs while the next part of the writes is prepared, because
// compactions continue meanwhile; the processor time of preparing is subtracted. Values are pieces
// of one buffer of random bytes, at offsets that depend on the key and on how often it was written.
// Two values may therefore overlap: rarely within one block, but a compressor with a window of many
// MiB would gain from it. The buffer has [randomBytes] bytes, except in the smallest loads of the
// quick profile.
//
// An engine does deferred work in the background or in Close. Both count in the rows of processor
// time, memory, bytes written, and settled work.
//
// Every get is compared with what was written: whether there is a value, its length, and its last
// bytes. Full scans are compared by the number and length of the entries.
package load

import (
	"fmt"
	"strings"

	"github.com/stoatdb/stoat/bench/conformance"
	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/suite"
)

// taskConform is the name of the first task. The tasks of the sizes are named for them.
const taskConform = "conformance"

// Prefixes of the names of the other tasks.
const (
	cappedPrefix = "capped-"
	orderPrefix  = "order-"
	besidePrefix = "beside-"
)

// cappedSuffix is the suffix of the names of tasks that follow another.
const cappedSuffix = "-read"

// valueSize is one of the study's value sizes.
type valueSize struct {
	name  string // of the task, and of the state of its rows
	bytes int
	quick int // entries written in the quick profile
	full  int // likewise in the full profile; in others, the ratio to the first size
}

// valueSizes returns the sizes in the order of the report. The full profile writes 1/25 of the
// study's entries (1/20 of those of 16 KiB), and the quick profile as many as every engine writes
// in about a second.
func valueSizes() []valueSize {
	return []valueSize{
		{name: "128", bytes: 128, quick: 20_000, full: 10_000_000},
		{name: "1Ki", bytes: 1 << 10, quick: 6_000, full: 3_000_000},
		{name: "16Ki", bytes: 16 << 10, quick: 1_000, full: 250_000},
	}
}

// Suite returns the suite.
func Suite() suite.Suite {
	return suite.Suite{
		Name:    "load",
		About:   "loading, reading and churning large sets of random values",
		Rows:    rows(),
		Engines: engine.Abouts,
		Tasks:   tasks,
		Limits:  limits,
		Run:     runJob,
	}
}

func tasks(s suite.Settings) []suite.Task {
	all := []suite.Task{{Name: taskConform, Rounds: 1, Gate: true}}
	if wants(s, sizeRows(), churnRows()) {
		for _, v := range valueSizes() {
			all = append(all, suite.Task{Name: v.name, Rounds: s.Rounds})
		}
	}
	rounds := s.Rounds
	if s.Profile != suite.Quick && s.N == 0 {
		rounds = 1
	}
	all = append(all, cappedTasks(s, rounds)...)
	if s.Profile == suite.Large {
		return all
	}
	if wants(s, orderRows()) {
		for _, o := range orders() {
			all = append(all, suite.Task{Name: orderPrefix + o.name, Rounds: rounds})
		}
	}
	if wants(s, besideRows()) {
		for i, v := range valueSizes() {
			if i > 0 && s.Profile == suite.Quick && s.N == 0 {
				break // the larger sizes take too little time to say anything
			}
			all = append(all, suite.Task{Name: besidePrefix + v.name, Rounds: rounds})
		}
	}
	return all
}

// cappedTasks returns the tasks of the sizes that can be read with capped memory. One child loads
// and another one reads, so nothing that the load left in memory is there for free.
func cappedTasks(s suite.Settings, rounds int) (all []suite.Task) {
	if !wants(s, cappedRows()) {
		return nil
	}
	memory := machine.Describe().Memory
	for _, v := range valueSizes() {
		if newPlan(s, v, memory).cap == 0 {
			continue
		}
		if machine.CheckCap() != nil {
			return nil
		}
		name := cappedPrefix + v.name
		all = append(all, suite.Task{Name: name, Rounds: rounds, Then: name + cappedSuffix})
	}
	return all
}

// wants reports whether any of the rows is to be measured.
func wants(s suite.Settings, groups ...[]suite.Row) bool {
	for _, group := range groups {
		for _, row := range group {
			if s.Wants(row.Name) {
				return true
			}
		}
	}
	return false
}

// limits returns notes on the rows that these settings and this system leave out. In the quick
// profile it mentions only rows that were asked for by name.
func limits(s suite.Settings) (notes []string) {
	if s.Profile == suite.Large && wants(s, orderRows(), besideRows()) {
		notes = append(notes, "Suite load measures no orders of insertion and no gets during a load"+
			" in the large profile.")
	}
	if !wants(s, cappedRows()) || s.Profile == suite.Quick && len(s.Rows) == 0 {
		return notes
	}
	memory := machine.Describe().Memory
	var small []string
	for _, v := range valueSizes() {
		if newPlan(s, v, memory).cap == 0 {
			small = append(small, v.name)
		}
	}
	if len(small) > 0 {
		notes = append(notes, fmt.Sprintf("Suite load reads no values of %s with capped memory:"+
			" a quarter of them is less than %d MiB; give a larger -n.",
			strings.Join(small, ", "), leastMemory>>20))
	}
	if err := machine.CheckCap(); err != nil {
		notes = append(notes, fmt.Sprintf("No reads with capped memory: %v", err))
	}
	return notes
}

func runJob(job suite.Job, record suite.Record) error {
	e, err := engine.Find(job.Engine)
	if err != nil {
		return err
	}
	if job.Task == taskConform {
		return conformance.Check(e, job.Dir)
	}
	r := &run{job: job, engine: e, out: record}
	memory := machine.Describe().Memory
	for _, v := range valueSizes() {
		switch r.state, r.plan = v.name, newPlan(job.Settings, v, memory); job.Task {
		case v.name:
			return r.all()
		case cappedPrefix + v.name:
			return r.loadForReads()
		case cappedPrefix + v.name + cappedSuffix:
			return r.readsCapped()
		case besidePrefix + v.name:
			r.plan = r.plan.aside(job.Settings)
			return r.besides()
		}
	}
	for _, o := range orders() {
		if job.Task == orderPrefix+o.name {
			r.state = o.name
			r.plan = newPlan(job.Settings, valueSizes()[0], memory).aside(job.Settings)
			return r.ordered(o)
		}
	}
	return fmt.Errorf("no task %q", job.Task)
}
