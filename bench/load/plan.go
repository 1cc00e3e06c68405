package load

import (
	"cmp"
	"time"

	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/settle"
	"github.com/stoatdb/stoat/bench/suite"
)

// plan says how much of everything a job does.
type plan struct {
	size        int // of a value
	entries     int // written by the load
	batch       int // entries of one transaction
	script      int // writes prepared at once
	random      int // bytes of the buffer that values are pieces of
	calls       int // gets that make up one sample of get_1
	walk        int // maximum number of entries of a walk
	reads       effort
	churn       int // overwrites and deletes for each entry of the load
	churnRounds int // the churn runs only in the first rounds
	settler     settle.Settler
	closing     closing // after the churn and the loads in an order
	capped      effort
	cap         int64 // memory of the capped reads; 0 if there are none
	capMemory   func(bytes int64) (lift func() error, err error)
	pace        time.Duration // time between two gets beside a load
}

// effort is how many samples of reads to take.
type effort struct {
	gets            int // samples of get_1
	parallelSamples int // samples of get_128
	parallelGets    int // gets of each goroutine in a sample of get_128
	walks           int // samples of each row that iterates
	// limit is the time after which a row ends, if it has a sample; 0 is none.
	limit time.Duration
}

// enough reports whether a row begun at that time has enough samples.
func (e effort) enough(samples, most int, begun time.Time) bool {
	return samples >= most || samples > 0 && e.limit > 0 && time.Since(begun) > e.limit
}

// room returns the maximum number of writes or gets prepared at once.
func (p plan) room() int {
	return max(p.script, p.calls, goroutines*max(p.reads.parallelGets, p.capped.parallelGets))
}

// presentBytes returns the approximate length of the keys and values that the load leaves present.
func (p plan) presentBytes() int64 {
	return int64((1 - goneShare) * float64(p.entries) * float64(keyBytes+p.size))
}

const (
	studyBatch  = 1_000
	batchBytes  = 8 << 20  // maximum for a batch's values; Badger's default limit is 9.6 MB
	randomBytes = 64 << 20 // of the buffer that values are pieces of
	scriptMax   = 10_000_000
	walkMax     = 2_000_000
	goroutines  = 128 // goroutines of get_128
)

// The memory cap is one memoryShare-th of what is present. If it were below leastMemory, the needs
// of the process itself would decide the result.
const (
	memoryShare = 4
	leastMemory = 32 << 20
)

// newPlan returns the plan for the user's settings and one value size.
func newPlan(s suite.Settings, v valueSize, memory int64) plan {
	n := entries(s, v, memory)
	p := plan{
		size:        v.bytes,
		entries:     n,
		batch:       min(studyBatch, batchBytes/v.bytes/100*100, n),
		script:      min(scriptMax, n),
		random:      randomBytes,
		calls:       1_000,
		walk:        walkMax,
		reads:       effort{gets: 5, parallelSamples: 3, parallelGets: 20, walks: 3},
		churn:       3,
		churnRounds: s.Rounds,
		settler:     settle.New(500*time.Millisecond, 5*time.Second), // some engines wait 200 ms first
		capped: effort{
			gets: 10, parallelSamples: 10, parallelGets: 20, walks: 2, limit: 20 * time.Second,
		},
		capMemory: machine.CapMemory,
		pace:      time.Millisecond, // timers are not more precise
	}
	if p.cap = p.presentBytes() / memoryShare; p.cap < leastMemory {
		p.cap = 0
	}
	if s.Profile != suite.Quick {
		p.reads = effort{gets: 100, parallelSamples: 5, parallelGets: 1_000, walks: 3}
		p.churn, p.churnRounds, p.closing = 10, 1, settled
		p.settler.Quiet, p.settler.Step = 2*time.Second, 50*time.Millisecond
		p.settler.Limit = 10 * time.Minute
	}
	return p
}

// aside returns the plan of a load beside the main one: of as many entries, or a fifth of them in
// the quick profile, with a smaller buffer. All are prepared at once.
func (p plan) aside(s suite.Settings) plan {
	if s.Profile == suite.Quick && s.N == 0 {
		p.entries /= 5
		p.batch = min(p.batch, p.entries)
		p.random /= 8 // still ten times the values
	}
	p.script = p.entries
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
