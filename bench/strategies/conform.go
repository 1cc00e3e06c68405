package strategies

import (
	"fmt"

	"github.com/stoatdb/stoat/bench/suite"
)

// taskConform is the name of the first task.
const taskConform = "conformance"

// conform returns an error if an engine gives a wrong answer. With each strategy it writes a few
// records, reopens the database, and makes all measurements, but discards the samples.
func conform(job suite.Job, data *Data, open func(dir string) (DB, error)) error {
	job.Rows = nil
	p := plan{n: 12, cycles: 1, reads: 3, singles: 3, onTop: true, updates: 4}
	for _, s := range forUsers() {
		if !s.on(job.Engine) {
			continue
		}
		r := newRun(job, p, data, s)
		r.open, r.out = open, func(string, ...float64) {}
		if err := r.all(); err != nil {
			return fmt.Errorf("strategy %s: %w", s.Name, err)
		}
	}
	return nil
}
