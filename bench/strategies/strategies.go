// Package strategies is the suite that compares ways to lay a record out in a key-value database.
//
// The strategies are written once, against [Bucket], and run on every engine that has nested
// buckets. The first task, "conformance", makes sure that an engine returns what was written with
// each of them; one that does not is not measured. In each other task a child process measures one
// strategy with one number of records; the lines of [run.all] are what it does, as often as [plan]
// says, each time with an empty database.
//
// Records are made a block at a time while the clock stands, which takes a millisecond or so, and
// what was read is compared with them in the same pauses. Only write_bulk has no pauses, because an
// engine that writes in the background would gain from them: the records are made before, as far as
// there is room for them, and the clock runs while more are made. [Measure] takes any [Data]: that
// of the study, which is [Users], or somebody's own.
//
// The strategy "record" is Stoat's package of that name. It runs on Stoat only, and takes no
// records but those of the study, because it needs their Go type.
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

// firstOf returns the name of the row of a reading row's first time after reopening.
func firstOf(row string) string { return row + "_first" }

// Suite returns the suite.
func Suite() suite.Suite {
	return suite.Suite{
		Name:    "strategies",
		About:   "laying a record of 15 fields out in a key-value database",
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
		row(rowSingle, ns, "a record in a transaction of its own, into an empty database; beyond "+
			"25,000 synced (quick: 250) a sample of 10,000 (quick: 200) on top of the others"),
		row(rowBulk, ns, "a record, of all in one transaction; making them counts beyond the "+
			"first 250,000 (or 256 MB); Close is a row of its own"),
		row(rowClose, ns, "Close after write_bulk, for a record: an engine may put work off until "+
			"then"),
		row(rowRead, ns, "a random record, decoded, in a transaction of its own; after reopening, "+
			"and again and again"),
		row(firstOf(rowRead), ns, "the same, the first time after reopening"),
		row(rowReadMany, ns, "a record, of the middle third in one transaction, decoded; likewise"),
		row(firstOf(rowReadMany), ns, "the same, the first time after reopening"),
		row(rowSum, ns, "a record, of all whose balances are added up in one transaction; likewise"),
		row(firstOf(rowSum), ns, "the same, the first time after reopening"),
		row(rowUpdate, ns, "login_count of a random record in a transaction of its own; half as "+
			"many as there are records, or the sample"),
		row(rowStorage, bytes, "length of the files, for a record, after write_bulk and Close"),
		row(rowAllocated, bytes, "their blocks on disk, likewise"),
	}
}

// tasks returns the check, and a task for each strategy and number of records.
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
