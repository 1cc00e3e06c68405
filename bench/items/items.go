// Package items is the suite of a document store's everyday operations: creating, opening, writing,
// reading and querying collections of small items.
//
// A child process does one of two tasks, each in its own databases: "small" measures everything
// done with few items, "large" everything done with a repository of many. Their steps are the lines
// of [run.small] and [run.large].
//
// Items and random choices are made before the clock starts, no row includes the work of another,
// and a write ends when it is durable, if commits are synced. Every answer is compared with what
// was written after the clock has stopped; what was written is read again after reopening.
//
// The suite measures neither concurrency nor memory.
package items

import (
	"cmp"
	"fmt"
	"time"

	"github.com/stoatdb/stoat/bench/settle"
	"github.com/stoatdb/stoat/bench/suite"
)

// Names of the tasks.
const (
	taskSmall = "small"
	taskLarge = "large"
)

// Repository sizes of the study.
const (
	few       = 10
	some      = 100
	many      = 100_000
	manyQuick = 5_000
)

// Suite returns the suite.
func Suite() suite.Suite {
	return suite.Suite{
		Name:    "items",
		About:   "a document store's everyday operations",
		Rows:    append(smallRows(), largeRows()...),
		Engines: abouts,
		Tasks:   tasks,
		Run:     runJob,
	}
}

// smallRows returns the rows of the task "small".
func smallRows() []suite.Row {
	row := func(name, about string) suite.Row {
		return suite.Row{Name: name, Unit: suite.Nanoseconds, About: about}
	}
	return []suite.Row{
		row("create_instance", "a new database in an empty directory; not closing it"),
		row("open_empty", "a new repository in that database"),
		row("create", "one new item, in a repository that grows by it"),
		row("read", "one of 100 items by its path; mean of 10 calls"),
		row("update", "the three fields of one of 100 items"),
		row("bulk_create", "100 new items at once, in a repository that grows by them"),
		row("bulk_read", "100 of 100 items at once, by their ids in random order"),
		row("query_simple", "the 49 of 100 items with count > 50"),
		row("query_complex", "those of 100 items with 30 < count < 70 and a tag, by count"),
		row("count", "counting 10 items; mean of 10 calls"),
		row("keys", "the ids of 10 items; mean of 10 calls"),
	}
}

// largeRows returns the rows of the task "large".
func largeRows() []suite.Row {
	row := func(name string, unit suite.Unit, about string) suite.Row {
		return suite.Row{Name: name, Unit: unit, Axis: "items", About: about}
	}
	size := row("size", suite.Bytes, "bytes on disk per item of the large repository, after Close")
	size.States = []string{"apparent", "allocated"}
	return []suite.Row{
		row("open_loaded", suite.Nanoseconds,
			"opening a closed database and its large repository, up to reading an item by its path"),
		row("read_all", suite.Nanoseconds, "all items of the large repository at once"),
		size,
	}
}

// tasks returns the tasks that have any wanted rows.
func tasks(s suite.Settings) []suite.Task {
	var tasks []suite.Task
	if s.Wants(names(smallRows())...) {
		tasks = append(tasks, suite.Task{Name: taskSmall, Rounds: s.Rounds})
	}
	if s.Wants(names(largeRows())...) {
		tasks = append(tasks, suite.Task{Name: taskLarge, Rounds: s.Rounds})
	}
	return tasks
}

func names(rows []suite.Row) []string {
	var names []string
	for _, row := range rows {
		names = append(names, row.Name)
	}
	return names
}

// plan says how much of everything a job does. Numbers of samples do not include the first
// operation of each row, which is not recorded.
type plan struct {
	large     int // items of the large repository
	batch     int // items in one transaction of its load
	instances int // samples of create_instance and open_empty
	samples   int // samples of the other rows of the small task
	calls     int // calls that make up one sample of the shortest operations
	opens     int // samples of open_loaded
	readAlls  int // samples of read_all
	settler   settle.Settler
}

// newPlan returns the plan for the user's settings.
func newPlan(s suite.Settings) plan {
	p := plan{
		large:     many,
		batch:     1_000,
		instances: 200,
		samples:   1_000,
		calls:     10,
		opens:     200,
		readAlls:  10,
		settler:   settle.New(2*time.Second, 10*time.Minute),
	}
	if s.Profile == suite.Quick {
		p.large, p.instances, p.samples, p.opens, p.readAlls = manyQuick, 40, 200, 40, 20
		p.settler = settle.New(500*time.Millisecond, 5*time.Second)
	}
	p.large = cmp.Or(s.N, p.large)
	return p
}

func runJob(job suite.Job, record suite.Record) error {
	implementation, err := find(job.Engine)
	if err != nil {
		return err
	}
	r := &run{job: job, plan: newPlan(job.Settings), open: implementation.open, out: record}
	switch job.Task {
	case taskSmall:
		return r.small()
	case taskLarge:
		return r.large()
	}
	return fmt.Errorf("no task %q", job.Task)
}
