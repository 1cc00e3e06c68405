// Package load is the suite that loads, reads and churns large sets of random values.
//
// The first task, "conformance", makes sure that the engine returns what it was given; one that
// does not is not measured. In the tasks that have the name of a size of values a child process
// measures that size, which is the state of all its rows. Its steps are the lines of [run.all].
// Other tasks load a database of their own: to read it with little memory, in several orders, or
// to read it meanwhile.
//
// Keys are numbers drawn at random from a range with as many numbers as there are draws, so that
// 63 % of the range is present afterwards, and 37 % of the gets miss; only a load in an order
// writes each number of the range once. The large profile draws so many that what is present is
// twice the machine's memory, and refuses to start unless twice of that is free on disk.
//
// Writes and gets are drawn up before the clock starts, outside the Go heap. If they need more room
// than a script has, the clock runs while the next part of the writes is drawn up, because merges
// go on meanwhile; the processor time that takes is subtracted. Values are pieces of one buffer of
// random bytes, at places that follow from the key and from how often it was written. Two values
// may therefore overlap: in the same block by chance and seldom, but a compression with a window of
// many MiB would gain from it. The buffer is [randomBytes] long in all profiles, but for the
// smallest loads of the quick one.
//
// What an engine puts off, it does in the background or in Close at the latest. Both count in the
// rows of processor time, memory, bytes written, and settled work.
//
// Every get is compared with what was written: whether there is a value, its length, and its last
// bytes. Walks over all entries are compared by their number and their length.
package load

import (
	"fmt"
	"strings"

	"github.com/stoatdb/stoat/bench/conformance"
	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/suite"
)

// taskConform is the name of the task before all others. Those of the sizes are named for them.
const taskConform = "conformance"

// What the names of the tasks besides begin with.
const (
	cappedPrefix = "capped-"
	orderPrefix  = "order-"
	besidePrefix = "beside-"
)

// cappedSuffix ends the names of the second parts of tasks.
const cappedSuffix = "-read"

// valueSize is one of the study's sizes of values.
type valueSize struct {
	name  string // of the task, and of the state of its rows
	bytes int
	quick int // entries written in the quick profile
	full  int // likewise in the full profile, and for the ratio to the first size in others
}

// valueSizes returns the sizes in the order of the report. The full profile writes 1/25 of the
// study's entries, of 16 KiB 1/20, and the quick one what every engine writes in a second or so.
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
				break // the others would say nothing in the blink of an eye
			}
			all = append(all, suite.Task{Name: besidePrefix + v.name, Rounds: rounds})
		}
	}
	return all
}

// cappedTasks returns those of the sizes that can be read with capped memory. One child loads and
// another one reads, so that nothing the load has left in memory is there for free.
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
// profile it tells only what was asked for by name.
func limits(s suite.Settings) (notes []string) {
	if s.Profile == suite.Large && wants(s, orderRows(), besideRows()) {
		notes = append(notes, "Suite load has no orders of insertion, and no gets beside a load,"+
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
		notes = append(notes, fmt.Sprintf("Nothing is read with capped memory: %v", err))
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
