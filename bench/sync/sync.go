// Package sync is the suite of replication: what a change costs that others can have, and what it
// costs that they have it.
//
// Every system is a program of its own: our own is the benchmark itself, started once more; the
// others are scripts in the folder peers, which need Node and packages. A program has one replica
// and does what it is told in lines of JSON; command.go lists the commands. A job starts a server
// and clients, connects them through a proxy that counts bytes, and compares what the clients have
// with what was written.
//
// Three tasks run in child processes of their own: "local" measures commits, opening and size;
// "first" the first sync of sets of records, and connecting again; "live" changes that reach a
// connected client, and what idle connections cost. A system that cannot do something has no
// samples of it.
package sync

import (
	"cmp"
	"fmt"

	"github.com/stoatdb/stoat/bench/suite"
)

// Names of the tasks.
const (
	taskLocal = "local"
	taskFirst = "first"
	taskLive  = "live"
)

// Names of the rows.
const (
	rowCommit  = "commit"
	rowBulk    = "bulk"
	rowOpen    = "open"
	rowSize    = "size"
	rowPruned  = "pruned_size"
	rowFirst   = "first_sync"
	rowBytes   = "first_bytes"
	rowMemory  = "memory"
	rowStart   = "pruned_sync"
	rowStartB  = "pruned_bytes"
	rowMerge   = "merge"
	rowAgain   = "reconnect"
	rowAgainB  = "reconnect_bytes"
	rowAgainT  = "reconnect_turns"
	rowChanged = "changed_bytes"
	rowLive    = "live"
	rowLive99  = "live_p99"
	rowIdle    = "idle"
)

// Suite returns the suite.
func Suite() suite.Suite {
	return suite.Suite{
		Name:    "sync",
		About:   "replicating records over a connection",
		Rows:    append(append(localRows(), firstRows()...), liveRows()...),
		Engines: abouts,
		Tasks:   tasks,
		Run:     runJob,
	}
}

// axis is what the rows along an axis count.
const axis = "records"

// localRows returns the rows of the task "local".
func localRows() []suite.Row {
	return []suite.Row{
		{Name: rowCommit, Unit: suite.Nanoseconds,
			About: "a new record in a transaction of its own, in an empty database"},
		{Name: rowBulk, Unit: suite.Nanoseconds,
			About: "a new record of a transaction of 1,000; afterwards"},
		{Name: rowOpen, Unit: suite.Nanoseconds, Axis: axis,
			About: "opening a closed database of so many records, up to reading one"},
		{Name: rowSize, Unit: suite.Bytes, Axis: axis,
			About: "length of the files per record, after compacting and Close; each record was a" +
				" transaction"},
		{Name: rowPruned, Unit: suite.Bytes, Axis: axis,
			About: "the same, after a checkpoint has freed all history"},
	}
}

// firstRows returns the rows of the task "first".
func firstRows() []suite.Row {
	return []suite.Row{
		{Name: rowFirst, Unit: suite.Nanoseconds, Axis: axis,
			About: "an empty client connects over loopback and has all records, each of which was a" +
				" transaction"},
		{Name: rowBytes, Unit: suite.Bytes, Axis: axis,
			About: "bytes on that connection, in both directions"},
		{Name: rowMemory, Unit: suite.Bytes, Axis: axis, States: []string{"server", "client"},
			About: "peak resident memory of the process during that"},
		{Name: rowStart, Unit: suite.Nanoseconds, Axis: axis,
			About: "the same with a server that has pruned the history: the client starts from its" +
				" checkpoint"},
		{Name: rowStartB, Unit: suite.Bytes, Axis: axis,
			About: "bytes of that, in both directions"},
		{Name: rowMerge, Unit: suite.PerSecond, Axis: axis,
			About: "records that another client verifies, merges and indexes, from a file of all history"},
		{Name: rowAgain, Unit: suite.Nanoseconds, Axis: axis,
			About: "the client connects again when there is nothing new"},
		{Name: rowAgainB, Unit: suite.Bytes, Axis: axis, About: "bytes of that, in both directions"},
		{Name: rowAgainT, Unit: suite.Times, Axis: axis,
			About: "how often bytes of the server followed bytes of the client"},
	}
}

// liveRows returns the rows of the task "live".
func liveRows() []suite.Row {
	return []suite.Row{
		{Name: rowChanged, Unit: suite.Bytes, Axis: "devices",
			About: "bytes of connecting again when so many devices have changed a record each"},
		{Name: rowLive, Unit: suite.Nanoseconds,
			About: "from before a change at the server until both it and the connected client have it" +
				" as durably as commits are"},
		{Name: rowLive99, Unit: suite.Nanoseconds, About: "the same, of one in a hundred"},
		{Name: rowIdle, Unit: suite.Bytes,
			About: "resident memory of the server for a connected client that does nothing"},
	}
}

// tasks returns the tasks that have any wanted rows.
func tasks(s suite.Settings) []suite.Task {
	var tasks []suite.Task
	for _, t := range []struct {
		name string
		rows []suite.Row
	}{{taskLocal, localRows()}, {taskFirst, firstRows()}, {taskLive, liveRows()}} {
		var names []string
		for _, row := range t.rows {
			names = append(names, row.Name)
		}
		if s.Wants(names...) {
			tasks = append(tasks, suite.Task{Name: t.name, Rounds: s.Rounds})
		}
	}
	return tasks
}

// plan says how much of everything a job does.
type plan struct {
	sizes   []int // records of the first syncs
	commits int   // samples of commit
	bulk    int   // samples of bulk
	batch   int   // records of a sample of bulk
	opens   int   // samples of open
	again   int   // samples of reconnect
	records int   // of the task "live"
	devices []int // positions of changed_bytes
	live    int   // samples of live
	idle    int   // idle connections
}

// newPlan returns the plan for the user's settings.
func newPlan(s suite.Settings) plan {
	p := plan{
		sizes: []int{1_000, 10_000, 100_000, 1_000_000}, commits: 1_000, bulk: 20, batch: 1_000,
		opens: 20, again: 50, records: 1_000, devices: []int{1, 10, 100}, live: 1_000, idle: 1_000,
	}
	if s.Profile == suite.Quick { // with as many idle clients, or the rest of the process shows
		p.sizes, p.commits, p.bulk, p.opens, p.again = []int{1_000}, 200, 5, 5, 10
		p.devices, p.live = []int{1, 10}, 100
	}
	if s.N > 0 {
		p.sizes = []int{s.N}
		p.records = min(p.records, s.N)
	}
	return p
}

// limit leaves out what the system would need hours for.
func (p plan) limit(most int) plan {
	if most == 0 {
		return p
	}
	var sizes []int
	for _, n := range p.sizes {
		if n <= most {
			sizes = append(sizes, n)
		}
	}
	if sizes == nil {
		sizes = []int{most}
	}
	p.sizes = sizes
	p.records = min(p.records, most)
	p.commits = min(p.commits, most/10)
	p.bulk = min(p.bulk, max(1, most/1_000))
	p.again, p.live = min(p.again, max(1, most/100)), min(p.live, max(1, most/10))
	return p
}

func runJob(job suite.Job, record suite.Record) error {
	s, err := find(job.Engine)
	if err != nil {
		return err
	}
	r := &run{job: job, plan: newPlan(job.Settings).limit(s.most), start: s.start, out: record,
		local: s.local}
	return r.do(cmp.Or(job.Task, taskLocal))
}

// do does a task.
func (r *run) do(task string) error {
	defer r.end()
	switch task {
	case taskLocal:
		return r.locally()
	case taskFirst:
		return r.first()
	case taskLive:
		return r.lively()
	}
	return fmt.Errorf("no task %q", task)
}
