package crash

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
)

// Schedule makes the crashes of a sample at the operations of a workload until one fails. Safe for
// concurrent use.
type Schedule struct {
	workload string
	sample   Sample
	crash    func(kept Kept, rng *rand.Rand) error
	points   atomic.Int64

	mu         sync.Mutex // operations come from background goroutines too
	operations int        // so far
	failed     string     // the first crash that failed
	err        error      // how
}

// NewSchedule returns the schedule of a workload. It calls crash for each crash in the sample, one
// at a time. The operations of the workload wait meanwhile.
func NewSchedule(
	workload string, sample Sample, crash func(kept Kept, rng *rand.Rand) error,
) *Schedule {
	return &Schedule{workload: workload, sample: sample, crash: crash}
}

// Before makes the crashes that are due before an operation on the disk, if it is a change. It is a
// faultfs.Hook that never fails.
func (s *Schedule) Before(op faultfs.Op) error {
	if op.Kind.Mutates() {
		s.Now()
	}
	return nil
}

// Now makes the crashes that are due now.
func (s *Schedule) Now() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for kept := range Kept(s.sample.Kinds) {
		name := fmt.Sprintf("%s/%d/%s", s.workload, s.operations, kept)
		rng, due := s.sample.draw(name)
		if !due || s.err != nil {
			continue
		}
		s.Count()
		if err := s.crash(kept, rng); err != nil {
			s.failed, s.err = name, err
		}
	}
	s.operations++
}

// Count counts an additional crash.
func (s *Schedule) Count() { s.points.Add(1) }

// Points returns how many crashes were made.
func (s *Schedule) Points() int { return int(s.points.Load()) }

// Operations returns how many operations have changed the disk.
func (s *Schedule) Operations() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.operations
}

// Failed returns the name of the crash that failed, if any.
func (s *Schedule) Failed() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// Err returns the error of the crash that failed, if any.
func (s *Schedule) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		return nil
	}
	return fmt.Errorf("crash %s: %w", s.failed, s.err)
}
