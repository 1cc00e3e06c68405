// Package ssb is the suite that appends to and reads from a log of messages.
//
// A child process does one of three tasks. "conformance" checks that the engine returns what was
// written; an engine that fails it is not measured. "messages" loads the messages and measures
// every row along the way; its steps are the lines of [run.messages]. "size" loads ten times as
// many messages in smaller batches and measures only the size on disk. Only the full profile runs
// it; the other profiles measure the size in the task "messages".
//
// With the flag -turns, "turns" measures the read rows with all engines in one process; see
// [runTurns].
//
// Keys, values and random choices are made before the clock starts. The length of everything read
// is compared with what was written.
package ssb

import (
	"cmp"
	"fmt"
	"time"

	"github.com/stoatdb/stoat/bench/conformance"
	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/settle"
	"github.com/stoatdb/stoat/bench/suite"
)

const (
	studyMessages = 100_000   // the number in the study
	largeMessages = 4_000_000 // of the large profile; 1.6 GB
)

// The memory cap is one memoryShare-th of the data, but at least leastMemory, which a process needs
// to run.
const (
	memoryShare = 4
	leastMemory = 64 << 20
)

// Names of the tasks.
const (
	taskConform  = "conformance"
	taskMessages = "messages"
	taskSize     = "size"
	taskTurns    = "turns"
)

// The states in which the read rows are measured.
const (
	loaded   = "loaded"   // right after the load
	settled  = "settled"  // after idling for a while
	reopened = "reopened" // after Close and Open, repeated for each row
	capped   = "capped"   // likewise, with less memory than data; only in the large profile
	// With all engines in one process, which take turns with each sample.
	settledTurns  = "settled_turns"
	reopenedTurns = "reopened_turns"
)

// Suite returns the suite.
func Suite() suite.Suite {
	return suite.Suite{
		Name:    "ssb",
		About:   "appending and reading a log of messages",
		Rows:    rows(),
		Data:    []string{dataMessages, dataRandom},
		Engines: engine.Abouts,
		Tasks:   tasks,
		Limits:  limits,
		Run:     runJob,

		RunTogether: runTurns,
		Capped:      true,
	}
}

func rows() []suite.Row {
	const ns, bytes, perSecond = suite.Nanoseconds, suite.Bytes, suite.PerSecond
	read := func(name, about string) suite.Row {
		states := []string{loaded, settled, reopened, settledTurns, reopenedTurns, capped}
		return suite.Row{Name: name, Unit: ns, States: states, Cold: reopened, About: about}
	}
	return []suite.Row{
		{Name: "append", Unit: ns, About: "5,000 messages in one transaction"},
		{Name: "append_generate", Unit: ns, About: "the same, including making the messages"},
		{Name: "append_floor", Unit: ns, Unranked: []string{""},
			About: "one write and one durable sync of the same bytes, into a file beside the database" +
				" whose blocks are on disk, before each append to another database"},
		{Name: "append_multiple", Unit: suite.Times,
			About: "the time of that append, as a multiple of the floor just before it"},
		read("read_random", "5,000 gets of random keys in one transaction"),
		read("read_sequential", "5,000 gets of consecutive keys from the first message"),
		read("read_iterate", "seek to a random key and 5,000 steps"),
		read("read_iterate_touch", "the same, looking at one byte of each value"),
		{Name: "begin_rollback", Unit: ns, About: "a read transaction that does nothing"},
		{Name: "get_one", Unit: ns, About: "one get in a transaction of its own"},
		{Name: "put_one", Unit: ns, About: "one message in a transaction of its own"},
		{Name: "put_parallel", Unit: perSecond, States: []string{"1", "8", "64", "512"},
			About: "commits of one message each, by so many goroutines"},
		{Name: "open", Unit: ns, About: "opening the closed database"},
		{Name: "close", Unit: ns, About: "the first Close, after settling"},
		{Name: "close_at_once", Unit: ns,
			About: "Close of another database right after its load, without settling"},
		{Name: "open_at_once", Unit: ns, About: "opening that database, right after that Close"},
		{Name: "size_at_once", Unit: bytes,
			About: "length of its files per message between the two"},
		{Name: "size", Unit: bytes, States: []string{"apparent", "allocated"},
			About: "bytes on disk per message after settling and Close"},
		{Name: "memory", Unit: bytes, States: []string{"base", "peak", "own", "anon", "file"},
			Unranked: []string{"base", "anon", "file"},
			About:    "resident: before the engine opens; the peak; the difference; and at the end"},
		{Name: "memory_load", Unit: bytes, States: []string{"own", "memtables", "cache", "slack"},
			Unranked: []string{"memtables", "cache", "slack"},
			About: "own memory after the batch of the load where it is largest; of that memtables" +
				" and cache, if the engine tells, and what Go's collector holds beyond live objects"},
		{Name: "cpu", Unit: ns, States: []string{"load", "total"},
			About: "processor time from Open to the last append and, except in the quick profile, " +
				"to the end of reading"},
		{Name: "written", Unit: bytes, States: []string{"load", "total"},
			About: "bytes written to the device, likewise"},
	}
}

func tasks(s suite.Settings) []suite.Task {
	all := []suite.Task{{Name: taskConform, Rounds: 1, Gate: true}}
	apart := sizeApart(s) && s.Wants("size")
	if !apart || len(s.Rows) != 1 {
		all = append(all, suite.Task{Name: taskMessages, Rounds: s.Rounds})
	}
	if apart {
		all = append(all, suite.Task{Name: taskSize, Rounds: 1})
	}
	if s.Turns && s.Wants(readNames()...) {
		all = append(all, suite.Task{Name: taskTurns, Rounds: s.Rounds, Together: true})
	}
	return all
}

// sizeApart reports whether the row size has a task of its own.
func sizeApart(s suite.Settings) bool { return s.Profile == suite.Full && s.Memory == 0 }

// limits returns a note if the system cannot cap the memory of the reads.
func limits(s suite.Settings) (notes []string) {
	if s.Profile != suite.Large {
		return nil
	}
	if err := machine.CheckCap(); err != nil {
		notes = append(notes, fmt.Sprintf("No reads with capped memory: %v", err))
	}
	return notes
}

// cappedReadTime is the time after which a read row ends that has little memory.
const cappedReadTime = 5 * time.Second

// leastReads is the minimum number of samples of a read row, however long they take.
const leastReads = 5

// plan says how much of everything a job does.
type plan struct {
	messages        int
	sizeMessages    int           // of the task "size"
	batch           int           // messages of one append; gets or steps of one read
	sizeBatch       int           // messages of one append of the task "size"
	generated       int           // samples of append_generate
	reads           int           // maximum number of samples of a read row in one state
	readTime        time.Duration // a row ends after this time, if it has leastReads samples
	evenReads       bool          // readTime is long enough for all engines to read equally often
	calls           int           // calls that make up one sample of the shortest operations
	puts            int           // samples of put_one
	parallelSamples int           // samples of put_parallel
	parallelPuts    int           // maximum puts of each goroutine in a sample of put_parallel
	parallelTime    time.Duration // a goroutine stops after this time
	opens           int           // samples of open
	loads           int           // samples of close_at_once
	loadTime        time.Duration // no further sample begins after this time
	settler         settle.Settler
}

// newPlan returns the plan for the user's settings.
func newPlan(s suite.Settings) plan {
	n := cmp.Or(s.N, studyMessages)
	if s.N == 0 && s.Profile == suite.Large {
		n = largeMessages
	}
	p := plan{
		messages:        n,
		sizeMessages:    10 * n,
		batch:           min(5_000, n),
		sizeBatch:       min(1_000, n),
		generated:       5,
		reads:           40,
		readTime:        300 * time.Millisecond,
		calls:           1_000,
		puts:            50,
		parallelSamples: 3,
		parallelPuts:    16,
		parallelTime:    300 * time.Millisecond,
		opens:           20,
		loads:           1,
		loadTime:        10 * time.Second,
		settler:         settle.New(500*time.Millisecond, 5*time.Second),
	}
	if s.Profile != suite.Quick {
		p.generated, p.reads, p.puts, p.parallelSamples = 20, 100, 200, 5
		p.loads = 3
		p.parallelTime, p.readTime = time.Second, time.Minute
		p.settler.Quiet, p.settler.Limit = 2*time.Second, 10*time.Minute
		p.evenReads = true
	}
	if s.Memory > 0 { // reads that wait for the disk
		p.readTime, p.evenReads = cappedReadTime, false
	}
	return p
}

func runJob(job suite.Job, record suite.Record) error {
	e, err := engine.Find(job.Engine)
	if err != nil {
		return err
	}
	g, err := newGenerator(cmp.Or(job.Data, dataMessages), job.Seed)
	if err != nil {
		return err
	}
	r := &run{job: job, plan: newPlan(job.Settings), engine: e, out: record, generator: g}
	switch job.Task {
	case taskConform:
		return conformance.Check(e, job.Dir)
	case taskMessages:
		return r.messages()
	case taskSize:
		return r.size()
	}
	return fmt.Errorf("no task %q", job.Task)
}
