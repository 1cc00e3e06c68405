// Package load is the suite that loads, reads and churns large sets of random values.
//
// The first task, "conformance", makes sure that the engine returns what it was given; one that
// does not is not measured. In each other task a child process measures one size of values, which
// is the state of all its rows. Its steps are the lines of [run.all]. Keys are numbers drawn at
// random from a range with as many numbers as there are draws, so that 63 % of the range is present
// afterwards, and 37 % of the gets miss. The large profile draws so many that what is present is
// twice the machine's memory, and refuses to start unless twice of that is free on disk.
//
// Writes and gets are drawn up before the clock starts, outside the Go heap. If they need more room
// than a script has, the clock runs while the next part of the writes is drawn up, because merges
// go on meanwhile; the processor time that takes is subtracted. Values are pieces of one buffer of
// random bytes, at places that follow from the key and from how often it was written. Two values
// may therefore overlap: in the same block by chance and seldom, but a compression with a window of
// many MiB would gain from it. The buffer is [randomBytes] long in all profiles.
//
// What an engine puts off, it does in the background or in Close at the latest. Both count in the
// rows of processor time, memory, bytes written, and settled work.
//
// Every get is compared with what was written: whether there is a value, its length, and its last
// bytes. Walks over all entries are compared by their number and their length.
package load

import (
	"cmp"
	"fmt"
	"time"

	"github.com/stoatdb/stoat/bench/conformance"
	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/suite"
)

// taskConform is the name of the task before those of the sizes.
const taskConform = "conformance"

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
		Run:     runJob,
	}
}

func rows() []suite.Row {
	const ns, bytes, perSecond = suite.Nanoseconds, suite.Bytes, suite.PerSecond
	var states []string
	for _, v := range valueSizes() {
		states = append(states, v.name)
	}
	row := func(name string, unit suite.Unit, about string) suite.Row {
		return suite.Row{Name: name, Unit: unit, States: states, About: about}
	}
	curve := row("curve", perSecond, "entries acknowledged in a slice of the load's time; a batch"+
		" counts evenly over the time it took")
	curve.Axis = "seconds"
	// Where the system does not tell what a process uses, the rows of that have no samples.
	return []suite.Row{
		row("load", ns, "an entry of the load, to the last acknowledged batch"),
		row("load_settled", ns, "the same, to the end of background work and Close; it ends when"+
			" for 2 s, in the quick profile 0.5 s, the process takes less than 10 % of a processor"+
			" and writes less than 64 KiB; that wait is subtracted; nothing if the work has no"+
			" end in 10 min, in the quick profile in 5 s, or if the system does not tell"),
		row("close", ns, "the Close after the load and its background work"),
		row("load_batch", ns, "one batch of the load: 1,000 entries, but 500 of 16 KiB"),
		curve,
		row("size", bytes, "length of the files per entry present, after settling and Close"),
		row("size_allocated", bytes, "blocks of the files per entry present, likewise"),
		row("size_values", bytes, "the part of size in files that hold values and no keys"),
		row("get_1", ns, "a get that copies the value, mean of 1,000; about 37 % miss, and are"+
			" not reported apart"),
		row("get_128", perSecond, "such gets by 128 goroutines at once"),
		row("iterate", ns, "an entry, copying all from the first key on, or 2,000,000"),
		row("iterate_keys", ns, "the same without the values"),
		row("memory_peak", bytes, "resident at most, up to the Close after the walks over all"+
			" entries"),
		row("memory_own", bytes, "that less what was resident before the engine was opened"),
		row("cpu", ns, "processor time of the load, its background work and Close"),
		row("written", bytes, "bytes written to the device by all that"),
		row("churn", ns, "an overwrite, or a delete of 37 %, of a random key; ten for each entry"+
			" of the load, in the quick profile three; only in the first round of others"),
		row("churn_settled", ns, "the same, to the end of background work and Close, as in"+
			" load_settled; the quick profile does not wait for that, and has no such row"),
		row("churn_size", bytes, "length of the files per byte of present keys and values, after"+
			" the churn, settling (not in the quick profile) and Close"),
		row("churn_get", ns, "get_1 after the churn"),
		row("churn_iterate", ns, "iterate after the churn"),
		row("churn_cpu", ns, "processor time of the churn, its background work and Close"),
		row("churn_written", bytes, "bytes written to the device by all that"),
	}
}

func tasks(s suite.Settings) []suite.Task {
	all := []suite.Task{{Name: taskConform, Rounds: 1, Gate: true}}
	for _, v := range valueSizes() {
		all = append(all, suite.Task{Name: v.name, Rounds: s.Rounds})
	}
	return all
}

// plan is how much of everything a job does.
type plan struct {
	size        int // of a value
	entries     int // written by the load
	batch       int // entries of one transaction
	script      int // writes that are drawn up at once
	random      int // bytes that values are cut from
	gets        int // samples of get_1
	calls       int // gets that make one sample of get_1
	crowds      int // samples of get_128
	crowdGets   int // gets of each goroutine in a sample of get_128
	walks       int // samples of each row that iterates
	walk        int // entries of a walk at most
	churn       int // overwrites and deletes for each entry of the load
	churnRounds int // the churn takes part in the first rounds only
	settler     settler
	churnWaits  bool // for the end of its background work, too
}

// room returns how many writes or gets are drawn up at once at most.
func (p plan) room() int { return max(p.script, p.calls, crowd*p.crowdGets) }

// presentBytes returns about how long the keys and values are that the load leaves present.
func (p plan) presentBytes() int64 {
	return int64((1 - goneShare) * float64(p.entries) * float64(keyBytes+p.size))
}

const (
	studyBatch  = 1_000
	batchBytes  = 8 << 20  // of a batch's values at most: Badger's default limit is 9.6 MB
	randomBytes = 64 << 20 // of the buffer that values are cut from
	scriptMax   = 10_000_000
	walkMax     = 2_000_000
	crowd       = 128 // goroutines of get_128
)

// newPlan returns the plan of the user's settings for one size of values.
func newPlan(s suite.Settings, v valueSize, memory int64) plan {
	n := entries(s, v, memory)
	p := plan{
		size:        v.bytes,
		entries:     n,
		batch:       min(studyBatch, batchBytes/v.bytes/100*100, n),
		script:      min(scriptMax, n),
		random:      randomBytes,
		gets:        5,
		calls:       1_000,
		crowds:      3,
		crowdGets:   20,
		walks:       3,
		walk:        walkMax,
		churn:       3,
		churnRounds: s.Rounds,
		settler: settler{
			quiet: 500 * time.Millisecond, // some engines wait for 200 ms before they begin
			step:  25 * time.Millisecond,
			limit: 5 * time.Second,
			meter: machine.Now,
			sleep: time.Sleep,
			now:   time.Now,
		},
	}
	if s.Profile != suite.Quick {
		p.gets, p.crowds, p.crowdGets = 100, 5, 1_000
		p.churn, p.churnRounds, p.churnWaits = 10, 1, true
		p.settler.quiet, p.settler.step = 2*time.Second, 50*time.Millisecond
		p.settler.limit = 10 * time.Minute
	}
	return p
}

// entries returns how many entries of a size are written.
func entries(s suite.Settings, v valueSize, memory int64) int {
	switch {
	case s.N > 0:
		return max(1, int(int64(s.N)*int64(v.full)/int64(valueSizes()[0].full)))
	case s.Profile == suite.Quick:
		return v.quick
	case s.Profile == suite.Large:
		present := 2 * float64(cmp.Or(memory, 16<<30)) / float64(keyBytes+v.bytes)
		return max(v.full, int(present/(1-goneShare)))
	}
	return v.full
}

func runJob(job suite.Job, record suite.Record) error {
	e, err := engine.Find(job.Engine)
	if err != nil {
		return err
	}
	if job.Task == taskConform {
		return conformance.Check(e, job.Dir)
	}
	for _, v := range valueSizes() {
		if v.name == job.Task {
			p := newPlan(job.Settings, v, machine.Describe().Memory)
			r := &run{job: job, plan: p, engine: e, out: record}
			return r.all()
		}
	}
	return fmt.Errorf("no task %q", job.Task)
}
