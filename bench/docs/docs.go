// Package docs is the suite that stores documents, of four kinds of data and of six sizes each:
// JSON, source text, lines of logs, and random bytes.
//
// The first task, "conformance", makes sure that the engine returns what it was given; one that
// does not is not measured. In the tasks that have the name of a kind a child process measures all
// sizes of that kind, each in a database of its own. Its steps are the lines of [run.all].
//
// Stoat takes part in three settings, because the suite is about what compression costs: its
// default has promised not to be much slower than the better of the other two ([suite.Bound]).
//
// Documents, keys and random choices are made before the clock starts, outside the Go heap. A row
// that copies documents compares them with what was written, after the clock has stopped; the
// others compare lengths, and scans one byte of each document.
package docs

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/stoatdb/stoat/bench/conformance"
	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/settle"
	"github.com/stoatdb/stoat/bench/suite"
)

// taskConform is the name of the task before all others. Those of the kinds are named for them.
const taskConform = "conformance"

// allKinds is the name of the data set that has all kinds in it.
const allKinds = "all"

// size is one of the sizes of documents.
type size struct {
	name  string
	bytes int // of a document, on average
}

// sizes returns the sizes in the order of the report.
func sizes() []size {
	return []size{
		{"1K", 1_100}, {"4K", 4_200}, {"14K", 13_800}, {"41K", 41_000}, {"68K", 68_000},
		{"273K", 273_000},
	}
}

// Suite returns the suite.
func Suite() suite.Suite {
	data := []string{allKinds}
	for _, k := range kinds() {
		data = append(data, k.name)
	}
	return suite.Suite{
		Name:    "docs",
		About:   "documents of four kinds and six sizes, and what compression costs",
		Rows:    rows(),
		Data:    data,
		Engines: engines,
		Tasks:   tasks,
		Run:     runJob,
	}
}

// engines returns all engines. Only those that compress, and the most used ones that do not, are
// measured unless named.
func engines() []engine.About {
	all := engine.Abouts()
	for i := range all {
		all[i].Extra = !slices.Contains([]string{"stoat", "stoat-none", "stoat-zstd", "bbolt",
			"badger-zstd", "pebble-zstd", "sqlite-wal"}, all[i].Name)
	}
	return all
}

// tasks returns the check, and a task for each kind of data that has a row wanted.
func tasks(s suite.Settings) []suite.Task {
	all := []suite.Task{{Name: taskConform, Rounds: 1, Gate: true}}
	data := cmp.Or(s.Data, allKinds)
	for _, k := range kinds() {
		if data == allKinds || data == k.name {
			all = append(all, suite.Task{Name: k.name, Rounds: s.Rounds})
		}
	}
	return all
}

// plan is how much of everything a job does.
type plan struct {
	bytes    int           // of all documents of one size together, about
	calls    int           // gets that make one sample, unless there are few documents
	reads    int           // samples of a row at most
	readTime time.Duration // after which there are no more samples, but for leastReads
	copies   int           // samples of the rows for which the processor's caches are emptied
	scans    int           // samples of the rows that scan, at most
	sweep    int           // bytes, more than the processor's caches hold
	idle     time.Duration // how long an engine is left alone before its background work may be over
	settler  settle.Settler
}

const (
	leastReads  = 3       // samples of a row, whatever they take
	batchCount  = 1_000   // documents of one transaction of the load at most
	batchBytes  = 8 << 20 // likewise, of all documents but the last
	fewest      = 3       // documents of a size
	smallestRun = 1_000   // documents of the least size; with fewer nobody awaits background work
)

// newPlan returns the plan of the user's settings.
func newPlan(s suite.Settings) plan {
	p := plan{
		bytes:    4 << 20,
		calls:    100,
		reads:    20,
		readTime: 100 * time.Millisecond,
		copies:   8,
		scans:    5,
		sweep:    64 << 20,
		idle:     2500 * time.Millisecond,
		settler: settle.Settler{
			Quiet: 500 * time.Millisecond,
			Step:  25 * time.Millisecond,
			Limit: 5 * time.Second,
			Meter: machine.Now,
			Sleep: time.Sleep,
			Now:   time.Now,
		},
	}
	if s.Profile != suite.Quick {
		p.bytes, p.reads, p.readTime, p.copies, p.scans = 64<<20, 100, 5*time.Second, 40, 10
		p.settler.Quiet, p.settler.Limit = 2*time.Second, 10*time.Minute
	}
	if s.N > 0 {
		p.bytes = s.N * sizes()[0].bytes
	}
	if s.Profile == suite.Quick && s.N > 0 && s.N < smallestRun {
		p.idle, p.settler.Quiet, p.copies = 0, 100*time.Millisecond, 3
	}
	return p
}

func runJob(job suite.Job, record suite.Record) error {
	e, err := engine.Find(job.Engine)
	if err != nil {
		return err
	}
	if job.Task == taskConform {
		return conformance.Check(e, job.Dir)
	}
	for _, k := range kinds() {
		if k.name == job.Task {
			r := &run{job: job, plan: newPlan(job.Settings), engine: e, kind: k, out: record}
			return r.all()
		}
	}
	return fmt.Errorf("no task %q", job.Task)
}
