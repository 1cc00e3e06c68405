// Package settle waits for the end of an engine's background work. It watches the process from
// outside and therefore works for every engine.
package settle

import (
	"time"

	"github.com/stoatdb/stoat/bench/machine"
)

// Settler waits for the end of an engine's background work: until the process has hardly used the
// processor and hardly written anything for a while. It does not notice work that only waits for
// the disk.
type Settler struct {
	Quiet time.Duration // how long the process must have been idle
	Step  time.Duration // how often to look; looking takes some 100 µs
	Limit time.Duration // when to give up
	Meter func() (machine.Usage, error)
	Sleep func(time.Duration)
	Now   func() time.Time
}

// New returns a settler for this process, which waits until it has been idle for the time quiet and
// gives up at the limit.
func New(quiet, limit time.Duration) Settler {
	return Settler{
		Quiet: quiet, Step: 25 * time.Millisecond, Limit: limit,
		Meter: machine.Now, Sleep: time.Sleep, Now: time.Now,
	}
}

// What an idle process may do during Quiet: engines, the runtime and the settler itself do a little
// work now and then.
const (
	idleShare = 10       // as a divisor of one processor's time
	idleBytes = 64 << 10 // bytes written
)

// reading is the process's usage at a time since the start of the wait.
type reading struct {
	at    time.Duration
	usage machine.Usage
}

// Wait returns how long the work continued after the call, which is less than the wait itself, and
// whether it ended before the limit.
func (s Settler) Wait() (worked time.Duration, ended bool, err error) {
	start := s.Now()
	first, err := s.Meter()
	if err != nil {
		return 0, false, err
	}
	readings := []reading{{0, first}} // since the end of the work, as far as is known
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

// busy reports whether more happened between two readings than in an idle process.
func (s Settler) busy(before, after machine.Usage) bool {
	return after.CPU-before.CPU > s.Quiet/idleShare || after.Written-before.Written > idleBytes
}
