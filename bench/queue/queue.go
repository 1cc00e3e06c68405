// Package queue is the suite that uses a database as a queue: entries are put at the end, and the
// first one is read and deleted.
//
// The first task, "conformance", checks that the engine returns what was written; an engine that
// fails it is not measured. In the other task, a child process drains queues of several lengths,
// each in its own database. Most entries are deleted in batches, which leaves the same state as
// deleting them one by one. The last ones are deleted in a transaction each, and measured.
package queue

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stoatdb/stoat/bench/conformance"
	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/suite"
)

// Names of the tasks.
const (
	taskConform = "conformance"
	taskDrain   = "drain"
)

// Names of the rows.
const (
	rowPop      = "pop"
	rowReopened = "pop_reopened"
)

const (
	valueBytes = 100
	fillBatch  = 1_000 // entries put in one transaction
	drainBatch = 100   // entries deleted in one transaction while nothing is measured
)

// length is the length of a queue, as a multiple of the shortest.
type length struct {
	name  string // the state of its rows
	times int
}

func lengths() []length { return []length{{"1x", 1}, {"2x", 2}, {"4x", 4}, {"8x", 8}} }

// Suite returns the suite.
func Suite() suite.Suite {
	var states []string
	for _, l := range lengths() {
		states = append(states, l.name)
	}
	row := func(name, about string) suite.Row {
		return suite.Row{Name: name, Unit: suite.Nanoseconds, States: states, About: about}
	}
	return suite.Suite{
		Name:  "queue",
		About: "entries put at the end and taken from the beginning",
		Rows: []suite.Row{
			row(rowPop, "the first entry, read in one transaction and deleted in another, near the end"+
				" of a queue of 5,000 entries (in quick; otherwise 125,000), and of 2, 4 and 8 times as many"),
			row(rowReopened, "the same, just after closing and opening the database"),
		},
		Engines: engine.Abouts,
		Tasks: func(s suite.Settings) []suite.Task {
			return []suite.Task{
				{Name: taskConform, Rounds: 1, Gate: true}, {Name: taskDrain, Rounds: s.Rounds},
			}
		},
		Run: runJob,
	}
}

// plan says how much of everything a job does.
type plan struct {
	entries int // of the shortest queue
	pops    int // maximum number of samples of each row; in a shorter queue, a quarter of its entries
}

// newPlan returns the plan for the user's settings.
func newPlan(s suite.Settings) plan {
	p := plan{entries: 5_000, pops: 200}
	if s.Profile != suite.Quick {
		p = plan{entries: 125_000, pops: 1_000}
	}
	p.entries = cmp.Or(s.N, p.entries)
	p.pops = max(1, min(p.pops, p.entries/4))
	return p
}

func runJob(job suite.Job, record suite.Record) error {
	e, err := engine.Find(job.Engine)
	if err != nil {
		return err
	}
	switch job.Task {
	case taskConform:
		return conformance.Check(e, job.Dir)
	case taskDrain:
		r := &run{job: job, plan: newPlan(job.Settings), engine: e, out: record}
		return r.all()
	}
	return fmt.Errorf("no task %q", job.Task)
}

// run is a job in progress.
type run struct {
	job    suite.Job
	plan   plan
	engine engine.Engine
	out    suite.Record

	store engine.Store
	first int // the number of the first entry left
}

// all drains a queue of each length.
func (r *run) all() error {
	for _, l := range lengths() {
		if err := r.drain(l); err != nil {
			return fmt.Errorf("queue %s: %w", l.name, err)
		}
	}
	return nil
}

// drain fills a queue and empties it, except for at most one entry. The last deletions are
// measured.
func (r *run) drain(l length) error {
	dir := filepath.Join(r.job.Dir, l.name)
	if err := r.open(dir); err != nil {
		return err
	}
	n := l.times * r.plan.entries
	if err := r.write(0, n, fillBatch, entry); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	r.first = max(0, n-2*r.plan.pops-1)
	if err := r.write(0, r.first, drainBatch, deletion); err != nil {
		return fmt.Errorf("drain: %w", err)
	}
	if err := r.pops(rowPop, l); err != nil {
		return err
	}
	if err := r.store.Close(); err != nil {
		return err
	}
	if err := r.open(dir); err != nil {
		return err
	}
	if err := r.pops(rowReopened, l); err != nil {
		return err
	}
	return r.store.Close()
}

func (r *run) open(dir string) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	r.store, err = r.engine.Open(dir, engine.Options{Sync: r.job.Sync, Order: engine.BigEndian})
	return err
}

// write writes the pairs of the numbers in [i, j), a batch in each transaction.
func (r *run) write(i, j, batch int, pair func(number int) engine.Pair) error {
	pairs := make([]engine.Pair, 0, batch)
	for i < j {
		pairs = pairs[:0]
		for ; i < j && len(pairs) < batch; i++ {
			pairs = append(pairs, pair(i))
		}
		if err := r.store.Write(pairs); err != nil {
			return err
		}
	}
	return nil
}

// pops measures taking entries from the queue one by one.
func (r *run) pops(row string, l length) error {
	var samples []float64
	for range r.plan.pops {
		want := engine.Walk{Entries: 1, Bytes: valueBytes, Sum: engine.Touch(value(r.first))}
		taken := []engine.Pair{deletion(r.first)}
		start := time.Now()
		got, err := r.store.Iterate(key(0), 1, engine.TouchValues)
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("%s: entry %d: %+v instead of %+v", row, r.first, got, want)
		}
		if err := r.store.Write(taken); err != nil {
			return err
		}
		samples = append(samples, float64(time.Since(start)))
		r.first++
	}
	if r.job.Wants(row) {
		r.out(suite.At{Row: row, State: l.name}, samples...)
	}
	return nil
}

// entry returns the pair of a number.
func entry(number int) engine.Pair { return engine.Pair{Key: key(number), Value: value(number)} }

// deletion returns the pair that deletes an entry.
func deletion(number int) engine.Pair { return engine.Pair{Key: key(number)} }

// key returns the key of an entry.
func key(number int) []byte {
	key := make([]byte, engine.KeyBytes)
	engine.BigEndian.Put(key, uint64(number))
	return key
}

// value returns the value of an entry. The byte that [engine.Touch] looks at differs from those of
// its neighbours.
func value(number int) []byte {
	return bytes.Repeat([]byte{byte(number), byte(number >> 8)}, valueBytes/2)
}
