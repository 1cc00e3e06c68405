package remote

import (
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/bench/suite"
)

// commits is the task "commit".
func (r *run) commits() error {
	for _, d := range r.plan.delays {
		p, err := r.serve()
		if err != nil {
			return err
		}
		p.clock.set(d)
		db, _, err := r.opened(modeWait, r.folder(), p)
		if errors.Is(err, errUnsupported) {
			return nil
		}
		if err != nil {
			return err
		}
		from := uint64(0)
		for _, writers := range r.plan.writers {
			at := suite.At{State: d.name, X: float64(writers)}
			if from, err = r.committed(db, p, at, from); err != nil {
				return fmt.Errorf("%d writers, %s: %w", writers, d.name, err)
			}
		}
		if _, err := r.close(db); err != nil {
			return err
		}
	}
	return nil
}

// committed measures commits of as many writers as at.X says, of records from one on, and returns
// the first record of those that follow.
func (r *run) committed(db program, p *proxy, at suite.At, from uint64) (uint64, error) {
	q := request{Do: doCommit, Writers: int(at.X), Milliseconds: r.plan.milliseconds, From: from}
	p.take()
	a, err := db.call(q)
	if err != nil {
		return from, err
	}
	seen := p.take()
	groups, n := float64(len(seen.groups(r.system.log))), float64(len(a.Samples))
	if groups == 0 {
		return from, errors.New("no object of the log was stored")
	}
	for row, values := range map[string][]float64{
		rowCommit:   a.Samples,
		rowCommit99: {p99(a.Samples)},
		rowCommits:  {n / (a.Nanoseconds / 1e9)},
		rowGroup:    {n / groups},
		rowRequests: {float64(len(seen)) / groups},
		rowMillion:  {seen.price() / n * 1e6},
	} {
		at.Row = row
		r.record(at, values...)
	}
	return from + a.Records, nil
}
