// Package settle waits for the end of what an engine does in the background. It watches the process
// from outside, so that it works for every engine.
package settle

import (
	"time"

	"github.com/stoatdb/stoat/bench/machine"
)

// Settler waits for the end of an engine's background work: until the process has hardly computed
// and hardly written for a while. Work that only waits for the disk goes unnoticed meanwhile.
type Settler struct {
	Quiet time.Duration // how long next to nothing must have happened
	Step  time.Duration // how often to look, which itself takes some 100 µs
	Limit time.Duration // after which it gives up
	Meter func() (machine.Usage, error)
	Sleep func(time.Duration)
	Now   func() time.Time
}

// What a process at rest may do in the time that must be quiet: engines, the runtime and the
// settler itself look after something now and then.
const (
	idleShare = 10       // of the time of one processor, as a divisor
	idleBytes = 64 << 10 // written
)

// reading is what the process had used at a time since the start of the wait.
type reading struct {
	at    time.Duration
	usage machine.Usage
}

// Wait returns how long the work went on since the call, which is less than it has waited, and
// whether it has ended before the limit.
func (s Settler) Wait() (worked time.Duration, ended bool, err error) {
	start := s.Now()
	first, err := s.Meter()
	if err != nil {
		return 0, false, err
	}
	readings := []reading{{0, first}} // since the end of the work, as far as one can tell
	for {
		last := readings[len(readings)-1]
		for s.busy(readings[0].usage, last.usage) {
			readings = readings[1:]
		}
		worked = readings[0].at
		if ended = last.at-worked >= s.Quiet; ended || last.at >= s.Limit {
			return worked, ended, nil
		}
		s.Sleep(s.Step)
		usage, err := s.Meter()
		if err != nil {
			return 0, false, err
		}
		readings = append(readings, reading{s.Now().Sub(start), usage})
	}
}

// busy reports whether more happened between two readings than at rest.
func (s Settler) busy(before, after machine.Usage) bool {
	return after.CPU-before.CPU > s.Quiet/idleShare || after.Written-before.Written > idleBytes
}
