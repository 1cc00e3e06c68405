package load

import (
	"time"

	"github.com/stoatdb/stoat/bench/machine"
)

// settler waits for the end of an engine's background work: until the process has hardly computed
// and hardly written for a while. Work that only waits for the disk goes unnoticed meanwhile.
type settler struct {
	quiet time.Duration // how long next to nothing must have happened
	step  time.Duration // how often to look, which itself takes some 100 µs
	limit time.Duration // after which it gives up
	meter func() (machine.Usage, error)
	sleep func(time.Duration)
	now   func() time.Time
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

// wait returns how long the work went on since the call, which is less than it has waited, and
// whether it has ended before the limit.
func (s settler) wait() (worked time.Duration, ended bool, err error) {
	start := s.now()
	first, err := s.meter()
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
		if ended = last.at-worked >= s.quiet; ended || last.at >= s.limit {
			return worked, ended, nil
		}
		s.sleep(s.step)
		usage, err := s.meter()
		if err != nil {
			return 0, false, err
		}
		readings = append(readings, reading{s.now().Sub(start), usage})
	}
}

// busy reports whether more happened between two readings than at rest.
func (s settler) busy(before, after machine.Usage) bool {
	return after.CPU-before.CPU > s.quiet/idleShare || after.Written-before.Written > idleBytes
}
