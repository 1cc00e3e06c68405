package strategies

import (
	"time"

	"github.com/stoatdb/stoat/bench/settle"
	"github.com/stoatdb/stoat/bench/suite"
)

// counts returns the numbers of records to measure with.
func counts(s suite.Settings) []int {
	switch {
	case s.N > 0:
		return []int{s.N}
	case s.Profile == suite.Quick:
		return []int{100, 1_000, 10_000}
	}
	return []int{
		10, 100, 1_000, 10_000, 25_000, 50_000,
		75_000, 100_000, 250_000, 500_000, 750_000, 1_000_000,
	}
}

// plan says how much of everything a job does.
type plan struct {
	n       int
	cycles  int  // each makes one sample of the rows that write
	reads   int  // samples of a reading row in a cycle, after the first one
	singles int  // transactions of write_single
	onTop   bool // they add to the n existing records
	updates int  // transactions of update
}

// settledFrom is the number of records from which the background work of a quick run is awaited.
const settledFrom = 1_000

// settlerFor returns what waits for the background work of a database of n records.
func settlerFor(s suite.Settings, n int) settle.Settler {
	switch {
	case s.Profile != suite.Quick:
		return settle.New(2*time.Second, 10*time.Minute)
	case n >= settledFrom:
		return settle.New(500*time.Millisecond, 5*time.Second)
	default:
		return settle.New(0, 0)
	}
}

// newPlan returns the plan for n records. Many slow transactions are represented by a sample.
func newPlan(s suite.Settings, n int) plan {
	p := plan{n: n, cycles: 1, reads: 3, singles: n, updates: max(1, n/2)}
	most, sample, slow := 25_000, 10_000, s.Sync
	if s.Profile == suite.Quick {
		most, sample, slow = 250, 200, true
	}
	if slow && n > most {
		p.singles, p.onTop, p.updates = sample, true, min(sample, p.updates)
	}
	switch {
	case s.Profile == suite.Quick && n <= 100:
		p.cycles = 2
	case s.Profile != suite.Quick && n <= 1_000:
		p.cycles = 10
	case s.Profile != suite.Quick && n <= 10_000:
		p.cycles = 3
	}
	return p
}
