// Package strategies is the suite that compares ways to lay out a record in a key-value database.
//
// The strategies are written once, against [Bucket], and run on every engine with nested buckets.
// The first task, "conformance", checks that an engine returns what was written with each strategy;
// an engine that fails it is not measured. In each other task a child process measures one strategy
// with one number of records. Its steps are the lines of [run.all], repeated as often as [plan]
// says, each time with an empty database.
//
// Records are made a block at a time while the clock is stopped, for a millisecond or so, and
// compared with what was read in the same pauses. Only write_bulk has no pauses, because an engine
// that writes in the background would gain from them: its records are made beforehand, as many as
// there is room for, and the clock runs while more are made. [Measure] takes any [Data]: the
// study's, which is [Users], or the user's own.
//
// The strategy "record" is Stoat's package record. It runs only on Stoat and only with the study's
// records, because it needs their Go type.
package strategies

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stoatdb/stoat/bench/suite"
)

// Names of the rows.
const (
	rowSingle    = "write_single"
	rowBulk      = "write_bulk"
	rowClose     = "close"
	rowRead      = "read"
	rowReadMany  = "readmany"
	rowSum       = "fieldsum"
	rowUpdate    = "update"
	rowStorage   = "storage"
	rowAllocated = "storage_blocks"
)

// firstOf returns the name of the row for a reading row's first pass after reopening.
func firstOf(row string) string { return row + "_first" }

// Suite returns the suite.
func Suite() suite.Suite {
	return suite.Suite{
		Name:    "strategies",
		About:   "laying out a record of 15 fields in a key-value database",
		Rows:    rows(),
		Engines: engines,
		Tasks:   tasks,
		Run:     runJob,
	}
}

func rows() []suite.Row {
	var states []string
	for _, s := range forUsers() {
		states = append(states, s.Name)
	}
	row := func(name string, unit suite.Unit, about string) suite.Row {
		return suite.Row{Name: name, Unit: unit, States: states, Axis: "records", About: about}
	}
	const ns, bytes = suite.Nanoseconds, suite.Bytes
	return []suite.Row{
		row(rowSingle, ns, "one record in its own transaction, into an empty database; beyond "+
			"25,000 synced records (quick: 250), a sample of 10,000 (quick: 200) after the others"),
		row(rowBulk, ns, "one record, all in one transaction; making them counts beyond the "+
			"first 250,000 (or 256 MB); Close is a separate row"),
		row(rowClose, ns, "Close after write_bulk, per record: an engine may defer work until "+
			"then, or until the next opening"),
		row(rowRead, ns, "a random record, decoded, in its own transaction; after the first pass "+
			"after reopening"),
		row(firstOf(rowRead), ns, "the same, the first time after reopening"),
		row(rowReadMany, ns, "one record, decoding the middle third in one transaction; likewise"),
		row(firstOf(rowReadMany), ns, "the same, the first time after reopening"),
		row(rowSum, ns, "one record, adding up all balances in one transaction; likewise"),
		row(firstOf(rowSum), ns, "the same, the first time after reopening"),
		row(rowUpdate, ns, "login_count of a random record in its own transaction; half as "+
			"many as there are records, or as the sample"),
		row(rowStorage, bytes, "length of the files per record, after write_bulk, Close and "+
			"the background work of another opening"),
		row(rowAllocated, bytes, "their blocks on disk, likewise"),
	}
}

// tasks returns the conformance task, and a task for each strategy and number of records.
func tasks(s suite.Settings) []suite.Task {
	all := []suite.Task{{Name: taskConform, Rounds: 1, Gate: true}}
	for _, n := range counts(s) {
		for _, strategy := range forUsers() {
			all = append(all, suite.Task{Name: taskName(strategy.Name, n), Rounds: s.Rounds})
		}
	}
	return all
}

func taskName(strategy string, n int) string { return fmt.Sprintf("%s/%d", strategy, n) }

func runJob(job suite.Job, record suite.Record) error {
	data, err := Users(job.Seed)
	if err != nil {
		return err
	}
	if job.Task == taskConform {
		return conform(job, data, opener(job))
	}
	strategy, count, _ := strings.Cut(job.Task, "/")
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 {
		return fmt.Errorf("no task %q", job.Task)
	}
	if s, err := findStrategy(strategy); err == nil && !s.on(job.Engine) {
		return nil // its cells stay empty
	}
	return Measure(job, data, strategy, n, record)
}
