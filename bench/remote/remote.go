// Package remote is the suite of databases in object storage: what a commit costs that is in the
// store, what it costs to have the store follow, and what it takes to read, to restore and to take
// over a database that only the store has.
//
// Every system is a program of its own that does what it is told in lines of JSON; command.go lists
// the commands. Our own is the benchmark itself, started once more, and so is the one with SQLite,
// which has Litestream beside it; SlateDB's is in the folder peers. A job starts a server of
// objects in memory, once more a process of its own, and a proxy in front of it, which delays each
// request as a network would and remembers it. So all systems have the same delays, and their
// requests, bytes and round trips are counted alike.
//
// A task is a job: "commit" measures commits that are in the store, "follow" commits that the store
// follows, "read" opening and reading, and "restore" copies and taking over. A system that cannot
// do something has no samples of it.
package remote

import (
	"cmp"
	"fmt"

	"github.com/stoatdb/stoat/bench/suite"
)

// Names of the tasks.
const (
	taskCommit  = "commit"
	taskFollow  = "follow"
	taskRead    = "read"
	taskRestore = "restore"
)

// Names of the rows.
const (
	rowCommit     = "commit"
	rowCommit99   = "commit_p99"
	rowCommits    = "commits"
	rowGroup      = "group"
	rowRequests   = "group_requests"
	rowMillion    = "million"
	rowAsync      = "async"
	rowAsyncCPU   = "async_cpu"
	rowLag        = "lag"
	rowLag99      = "lag_p99"
	rowIdle       = "idle"
	rowOpen       = "open"
	rowOpenTurns  = "open_turns"
	rowOpenAsks   = "open_requests"
	rowOpenBytes  = "open_bytes"
	rowFirst      = "first_get"
	rowFirstAsks  = "first_get_turns"
	rowGet        = "get"
	rowGet99      = "get_p99"
	rowGetAsks    = "get_requests"
	rowScan       = "scan"
	rowScanAsks   = "scan_requests"
	rowRestore    = "restore"
	rowMemory     = "restore_memory"
	rowTakeover   = "takeover"
	rowTakeTurns  = "takeover_turns"
	rowStandby    = "standby"
	rowStandTurns = "standby_turns"
)

// Suite returns the suite.
func Suite() suite.Suite {
	s := suite.Suite{
		Name:    "remote",
		About:   "databases in object storage, behind delays like those of a network",
		Engines: abouts,
		Tasks:   tasks,
		Run:     runJob,
	}
	for _, t := range parts() {
		s.Rows = append(s.Rows, t.rows()...)
	}
	return s
}

// part is a task with its rows.
type part struct {
	task string
	rows func() []suite.Row
	do   func(r *run) error
}

func parts() []part {
	return []part{
		{taskCommit, commitRows, (*run).commits},
		{taskFollow, followRows, (*run).follow},
		{taskRead, readRows, (*run).reads},
		{taskRestore, restoreRows, (*run).restores},
	}
}

// delayed returns a row that is measured with each delay.
func delayed(name string, unit suite.Unit, about string) suite.Row {
	return suite.Row{Name: name, Unit: unit, States: delayNames(), About: about}
}

// written returns a row of delayed commits by so many writers.
func written(name string, unit suite.Unit, about string) suite.Row {
	row := delayed(name, unit, about)
	row.Axis = "writers"
	return row
}

func commitRows() []suite.Row {
	const ns, times = suite.Nanoseconds, suite.Times
	group := written(rowGroup, times, "commits for each object of the log")
	group.Unranked = group.States
	return []suite.Row{
		written(rowCommit, ns, "a record of 400 bytes in a transaction of its own, up to when it is in"+
			" the store"),
		written(rowCommit99, ns, "the same, of one in a hundred"),
		written(rowCommits, suite.PerSecond, "commits of all writers together"),
		group,
		written(rowRequests, times, "requests for each object of the log, all kinds together"),
		written(rowMillion, suite.Dollars, "what the requests for a million such commits cost in S3"),
	}
}

func followRows() []suite.Row {
	return []suite.Row{
		{Name: rowAsync, Unit: suite.Times, About: "time of a commit of eight writers, durable here and" +
			" shipped in the background, as a multiple of one that is not shipped"},
		{Name: rowAsyncCPU, Unit: suite.Times, About: "the same of processor time, of all processes"},
		delayed(rowLag, suite.Nanoseconds, "from when a commit returned to when the store has it; a"+
			" hundred commits a second"),
		delayed(rowLag99, suite.Nanoseconds, "the same, of one in a hundred"),
		{Name: rowIdle, Unit: suite.Times, About: "requests of a minute in which nothing happens"},
	}
}

func readRows() []suite.Row {
	const ns, times = suite.Nanoseconds, suite.Times
	return []suite.Row{
		delayed(rowOpen, ns, "opening a database that only the store has, for reading; cache of 256 MiB"),
		delayed(rowOpenTurns, times, "round trips of that"),
		delayed(rowOpenAsks, times, "requests of that"),
		delayed(rowOpenBytes, suite.Bytes, "bytes received for that"),
		delayed(rowFirst, ns, "the first get, of a random key"),
		delayed(rowFirstAsks, times, "round trips of that"),
		delayed(rowGet, ns, "a get of a random key, once a hundred others were read"),
		delayed(rowGet99, ns, "the same, of one in a hundred"),
		delayed(rowGetAsks, times, "requests of such a get"),
		delayed(rowScan, ns, "a MiB of a scan of everything, before anything else is read"),
		delayed(rowScanAsks, times, "requests for that MiB"),
	}
}

func restoreRows() []suite.Row {
	const ns, times = suite.Nanoseconds, suite.Times
	return []suite.Row{
		delayed(rowRestore, times, "time to restore the database into an empty folder, as a multiple of"+
			" what a link of 100 MB/s takes for the records"),
		{Name: rowMemory, Unit: suite.Bytes, About: "peak resident memory of the process that does it"},
		delayed(rowTakeover, ns, "another process becomes the writer, up to its first commit in the"+
			" store; a tenth of the records"),
		delayed(rowTakeTurns, times, "round trips of that"),
		delayed(rowStandby, ns, "the same, by a process that has followed the database"),
		delayed(rowStandTurns, times, "round trips of that"),
	}
}

// tasks returns the tasks that have any wanted rows.
func tasks(s suite.Settings) []suite.Task {
	var tasks []suite.Task
	for _, t := range parts() {
		var names []string
		for _, row := range t.rows() {
			names = append(names, row.Name)
		}
		if s.Wants(names...) {
			tasks = append(tasks, suite.Task{Name: t.task, Rounds: s.Rounds})
		}
	}
	return tasks
}

// plan says how much of everything a job does.
type plan struct {
	delays       []delay
	writers      []int
	milliseconds int // of committing, for each sample of commits
	pairs        int // samples of async
	lags         int // milliseconds of committing for lag
	idle         int // milliseconds
	quiet        int // milliseconds without work after which a database counts as settled
	records      uint64
	gets         int     // samples of get
	link         float64 // bytes a second
}

// newPlan returns the plan for the user's settings.
func newPlan(s suite.Settings) plan {
	p := plan{
		delays: delays(), writers: []int{1, 8, 256}, milliseconds: 5_000, pairs: 6, lags: 10_000,
		idle: 15_000, quiet: 2_000, records: 1_000_000, gets: 500, link: 100e6,
	}
	if s.Profile == suite.Quick {
		p.milliseconds, p.pairs, p.lags, p.idle = 1_000, 2, 2_000, 3_000
		p.records, p.gets, p.quiet = 100_000, 30, 500
	}
	if s.N > 0 {
		p.records = uint64(s.N)
	}
	if s.N > 0 && s.N < 10_000 { // to try it
		p.delays, p.writers, p.milliseconds, p.pairs = p.delays[:1], []int{1, 8}, 200, 1
		p.lags, p.idle, p.gets, p.quiet = 200, 200, 5, 50
	}
	return p
}

func runJob(job suite.Job, record suite.Record) error {
	s, err := find(job.Engine)
	if err != nil {
		return err
	}
	return do(s, newPlan(job.Settings), job, record)
}

// do does a task.
func do(s system, p plan, job suite.Job, record suite.Record) error {
	for _, t := range parts() {
		if t.task != cmp.Or(job.Task, taskCommit) {
			continue
		}
		r := &run{job: job, plan: p, system: s, out: record}
		defer r.end()
		return t.do(r)
	}
	return fmt.Errorf("no task %q", job.Task)
}
