// Package docs is the suite that stores documents of four kinds and six sizes: JSON, source text,
// log lines, and random bytes.
//
// The first task, "conformance", checks that the engine returns what was written; an engine that
// fails it is not measured. In each task named for a kind, a child process measures all sizes of
// that kind, each in its own database. Its steps are the lines of [run.all].
//
// Stoat takes part in three settings, because the suite is about the cost of compression: its
// default promises not to be much slower than the better of the other two ([suite.Bound]).
//
// Documents, keys and random choices are made before the clock starts, outside the Go heap. A row
// that copies documents compares them with what was written after the clock has stopped; the other
// rows compare lengths, and scans also one byte of each document.
package docs

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/stoatdb/stoat/bench/conformance"
	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/settle"
	"github.com/stoatdb/stoat/bench/suite"
)

// taskConform is the name of the first task. The tasks of the kinds are named for them.
const taskConform = "conformance"

// allKinds is the name of the data set with all kinds.
const allKinds = "all"

// size is a document size.
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
		About:   "documents of four kinds and six sizes, and the cost of compression",
		Rows:    rows(),
		Data:    data,
		Engines: engines,
		Tasks:   tasks,
		Run:     runJob,
	}
}

// engines returns all engines. Those that do not compress, except for the most widely used ones,
// are measured only if named.
func engines() []engine.About {
	all := engine.Abouts()
	for i := range all {
		all[i].Extra = !slices.Contains([]string{"stoat", "stoat-none", "stoat-zstd", "bbolt",
			"badger-zstd", "pebble-zstd", "sqlite-wal"}, all[i].Name)
	}
	return all
}

// tasks returns the conformance task, and a task for each wanted kind.
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

// plan says how much of everything a job does.
type plan struct {
	bytes    int           // approximate total of the documents of one size
	calls    int           // gets that make up one sample, unless there are few documents
	reads    int           // maximum number of samples of a row
	readTime time.Duration // a row ends after this time, if it has leastReads samples
	copies   int           // samples of the rows that flush the processor's caches
	scans    int           // maximum number of samples of the rows that scan
	sweep    int           // bytes; more than the processor's caches hold
	idle     time.Duration // idle time before the background work may count as finished
	settler  settle.Settler
}

const (
	leastReads  = 3       // minimum number of samples of a row, however long they take
	batchCount  = 1_000   // maximum number of documents in one transaction of the load
	batchBytes  = 8 << 20 // likewise, in bytes, without the last document
	fewest      = 3       // minimum number of documents of a size
	smallestRun = 1_000   // a quick run with fewer of the smallest does not await background work
)

// newPlan returns the plan for the user's settings.
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
		settler:  settle.New(500*time.Millisecond, 5*time.Second),
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
