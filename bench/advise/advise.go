// Package advise measures what suits the user's own data: the layouts of package strategies, and
// the engines with the values as they are, using the records of one file.
//
// It is a suite that only [Command] runs. A child process reads the file again, takes as many pairs
// from its beginning as the settings say, and does one task: a layout, named as in package
// strategies, or "values", which stores the pairs as they are. The file is never written.
//
// Pure functions derive the advice from the medians; [findings.advice] is the first of them.
package advise

import (
	"fmt"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/strategies"
	"github.com/stoatdb/stoat/bench/suite"
)

// Name is the name of the suite, which is not listed among the others.
const Name = "advise"

// The kinds of files, which are the suite's data sets.
const (
	dataObjects = "objects" // one JSON object per line
	dataBolt    = "bbolt"   // a bbolt database
)

// taskValues is the task that compares engines. The other tasks are named for layouts.
const taskValues = "values"

// Names of the rows of layouts that the advice is based on, as in package strategies.
const (
	rowSingle   = "write_single"
	rowBulk     = "write_bulk"
	rowRead     = "read"
	rowReadMany = "readmany"
	rowSum      = "fieldsum"
	rowUpdate   = "update"
	rowStorage  = "storage"
	rowBlocks   = "storage_blocks" // replaces storage if it is less
)

// Names of the rows of engines.
const (
	rowLoad    = "load"
	rowGet     = "get"
	rowIterate = "iterate"
	rowSize    = "size"
)

// Suite returns the suite, whose settings name the file.
func Suite() suite.Suite {
	return suite.Suite{
		Name:    Name,
		About:   "the user's own records, in several layouts and engines",
		Rows:    rows(),
		Data:    []string{dataObjects, dataBolt},
		Engines: engine.Abouts,
		Tasks:   tasks,
		Run:     runJob,
	}
}

func rows() []suite.Row {
	const ns, bytes = suite.Nanoseconds, suite.Bytes
	return append(strategies.Suite().Rows,
		suite.Row{Name: rowLoad, Unit: ns, About: "one pair, writing all in batches of 1,000"},
		suite.Row{Name: rowGet, Unit: ns, About: "a random get, its value copied, after reopening"},
		suite.Row{Name: rowIterate, Unit: ns, About: "one pair, copying all in key order"},
		suite.Row{Name: rowSize, Unit: bytes, About: "length of the files or, if less, blocks on " +
			"disk, per pair, after Close"},
	)
}

// layoutRows and valueRows are what the two kinds of tasks measure.
func layoutRows() []string { return append(rowsOf(layoutColumns(true)), rowBlocks) }

func valueRows() []string { return rowsOf(valueColumns(true)) }

func rowsOf(columns []column) (names []string) {
	for _, c := range columns {
		names = append(names, c.row)
	}
	return names
}

// tasks returns the tasks that measure the wanted rows.
func tasks(s suite.Settings) []suite.Task {
	var all []suite.Task
	if s.Wants(layoutRows()...) {
		for _, layout := range strategies.Strategies() {
			all = append(all, suite.Task{Name: layout.Name, Rounds: s.Rounds})
		}
	}
	if s.Wants(valueRows()...) {
		all = append(all, suite.Task{Name: taskValues, Rounds: s.Rounds})
	}
	return all
}

func runJob(job suite.Job, record suite.Record) error {
	in := input{path: job.Input, bolt: job.Data == dataBolt}
	if job.Task == taskValues {
		return measureValues(job, in, record)
	}
	found, err := in.count(limits{pairs: job.N})
	if err != nil {
		return err
	}
	if found.Pairs != job.N {
		return in.changed()
	}
	data, records, err := in.records(found)
	if err != nil {
		return fmt.Errorf("%s: %w", in.path, err)
	}
	return strategies.Measure(job, data, job.Task, records, record)
}
